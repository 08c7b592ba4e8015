#include "kernels/plan/RunPlans.h"

#include "plan/Error.h"

#include <algorithm>

namespace layline::runtime {
namespace {

bool isSame(const Operand &a, const Operand &b) {
  return a.of == b.of && a.index == b.index;
}

/// Calls visit(operand, number among the outputs) for what a step gives.
template <typename Visit>
void forEachOutput(const Step &step, const Visit &visit) {
  std::size_t number = 0;
  for (std::size_t a = 0; a < step.args.size(); ++a)
    if (step.info().args[a].isOutput)
      for (const Operand &operand : step.args[a])
        visit(operand, number++);
}

bool reads(const Step &step, const Operand &value) {
  for (std::size_t a = 0; a < step.args.size(); ++a)
    if (!step.info().args[a].isOutput)
      for (const Operand &operand : step.args[a])
        if (isSame(operand, value))
          return true;
  return false;
}

bool givesValue(const LaunchPlan &plan, const Operand &value) {
  if (plan.step->kind != StepKind::Fused)
    return true;
  const RowWork &work = plan.work;
  for (const Operand *given : {work.values, work.payload, work.scaleColumns,
                               work.exact, work.residualOut, work.ungathered})
    if (given && isSame(*given, value))
      return true;
  return false;
}

} // namespace

RunPlans::RunPlans(const RankRun &rank, const std::vector<Step> &steps,
                   const KernelSet &kernels, bool isTapped,
                   std::map<LaunchGroup, kernels::WorkspaceNeed> &needs)
    : rank_(rank), steps_(steps), kernels_(kernels), isTapped_(isTapped),
      needs_(needs) {
  for (const Step &step : steps)
    plan(step);
}

LaunchPlan RunPlans::planned(const Step &step) const {
  return planLaunch(rank_, step, kernels_, isTapped_);
}

void RunPlans::add(const Step &first, const Step *last, LaunchPlan plan) {
  if (plan.hasKernel) {
    plan.addTo(needs_[launchGroup(*rank_.plan, rank_.rank, plan.group)]);
    for (const Step *step = &first; step <= last; ++step)
      launchedWith_[step] = &first;
  }
  plans_.emplace(&first, std::move(plan));
}

void RunPlans::plan(const Step &step) {
  if (!isLookedFor(step))
    return;
  LaunchPlan whole = planned(step);
  if (step.kind != StepKind::Fused)
    return add(step, &step, std::move(whole));
  if (whole.hasKernel && isTapped_)
    if (std::string name = missing(step, whole); !name.empty()) {
      whole.hasKernel = false;
      whole.reason =
          concat("'", name, "' is asked for, which the kernel keeps to itself");
    }
  if (whole.hasKernel)
    for (const Step &inner : step.body)
      launchedWith_[&inner] = &step;
  else
    planPieces(step);
  add(step, &step, std::move(whole));
}

void RunPlans::planPieces(const Step &step) {
  const std::vector<Step> &body = step.body;
  for (std::size_t begin = 0, end = 0; begin < body.size(); begin = end) {
    for (end = body.size(); end > begin + 1; --end) {
      if (begin == 0 && end == body.size())
        continue; // that is the step
      pieces_.push_back(pieceOf(step, begin, end));
      LaunchPlan piece = planned(pieces_.back());
      if (piece.hasKernel &&
          (!isTapped_ || missing(pieces_.back(), piece).empty())) {
        add(body[begin], &body[end - 1], std::move(piece));
        break;
      }
      pieces_.pop_back();
    }
    if (end == begin + 1)
      plan(body[begin]);
  }
}

Step RunPlans::pieceOf(const Step &step, std::size_t begin,
                       std::size_t end) const {
  const std::vector<Step> &body = step.body;
  Step piece;
  piece.id = body[begin].id + ".." + body[end - 1].id;
  piece.kind = StepKind::Fused;
  piece.stream = step.stream;
  piece.place = step.place;
  piece.args.resize(step.args.size());
  piece.body.assign(body.begin() + static_cast<std::ptrdiff_t>(begin),
                    body.begin() + static_cast<std::ptrdiff_t>(end));
  std::vector<Operand> &outputs =
      piece.args[static_cast<std::size_t>(piece.info().argument("outputs"))];
  const std::vector<Operand> &leaving = step.list("outputs");
  for (std::size_t i = begin; i < end; ++i)
    forEachOutput(body[i], [&](const Operand &value, std::size_t) {
      auto isIt = [&](const Operand &other) { return isSame(other, value); };
      bool isNeeded = std::any_of(leaving.begin(), leaving.end(), isIt);
      for (std::size_t later = end; later < body.size(); ++later)
        isNeeded |= reads(body[later], value);
      if (isNeeded && std::none_of(outputs.begin(), outputs.end(), isIt))
        outputs.push_back(value);
    });
  return piece;
}

bool RunPlans::isNamed(const Step &inner, std::size_t output) const {
  return output < inner.names.size() && !inner.names[output].empty();
}

std::string RunPlans::missing(const Step &step, const LaunchPlan &plan) const {
  std::string name;
  for (const Step &inner : step.body)
    forEachOutput(inner, [&](const Operand &value, std::size_t output) {
      if (isNamed(inner, output) && value.of == Operand::Of::Buffer &&
          !givesValue(plan, value) && name.empty())
        name = inner.names[output];
    });
  return name;
}

const LaunchPlan *RunPlans::find(const Step &step) const {
  auto found = plans_.find(&step);
  return found == plans_.end() ? nullptr : &found->second;
}

bool RunPlans::isDoneBefore(const Step &inner) const {
  auto found = launchedWith_.find(&inner);
  return found != launchedWith_.end() && found->second != &inner;
}

bool RunPlans::gives(const Step &inner, const Operand &value) const {
  auto found = launchedWith_.find(&inner);
  return found == launchedWith_.end() ||
         givesValue(plans_.at(found->second), value);
}

std::vector<KernelUse> RunPlans::uses() const {
  return listUses(steps_, plans_, nullptr,
                  [this](const Step &inner) { return isDoneBefore(inner); });
}

} // namespace layline::runtime
