#include "kernels/plan/RunPlans.h"

#include "plan/Error.h"
#include "transports/Transport.h"

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

bool isNamed(const Step &inner, std::size_t output) {
  return output < inner.names.size() && !inner.names[output].empty();
}

/// The name of a value that somebody asks for and the launch does not give.
std::string missing(const Step &step, const LaunchPlan &plan) {
  std::string name;
  for (const Step &inner : step.body)
    forEachOutput(inner, [&](const Operand &value, std::size_t output) {
      if (isNamed(inner, output) && value.of == Operand::Of::Buffer &&
          !givesValue(plan, value) && name.empty())
        name = inner.names[output];
    });
  return name;
}

/// A step of its own of some that stand one behind another in a body.
Step pieceOf(const Step &step, std::size_t begin, std::size_t end) {
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

} // namespace

LaunchGroup launchGroup(const Plan &plan, std::int64_t rank, int group) {
  if (group < 0 || plan.groups[group].ranks == 1)
    return {kNoGroup, rank};
  return {group, membersOf(plan, plan.groups[group], rank).front()};
}

struct RunPlans::Asked {
  const std::vector<RankRun> &ranks;
  const KernelSet &kernels;
  bool isTapped;

  /// A kernel on all ranks, or on none.
  OfRanks launches(const Step &step) const {
    OfRanks launches;
    for (const RankRun &rank : ranks) {
      launches.push_back(planLaunch(rank, step, kernels, isTapped));
      LaunchPlan &its = launches.back();
      if (!its.hasKernel || !isTapped)
        continue;
      if (std::string name = missing(step, its); !name.empty()) {
        its.hasKernel = false;
        its.reason = concat("'", name,
                            "' is asked for, which the kernel keeps to itself");
      }
    }
    auto without =
        std::find_if(launches.begin(), launches.end(),
                     [](const LaunchPlan &its) { return !its.hasKernel; });
    if (without == launches.end())
      return launches;
    std::string reason = without->reason;
    for (LaunchPlan &its : launches) {
      its.hasKernel = false;
      its.reason = reason;
    }
    return launches;
  }
};

RunPlans::RunPlans(const std::vector<RankRun> &ranks,
                   const std::vector<Step> &steps, const KernelSet &kernels,
                   bool isTapped)
    : steps_(steps) {
  for (const Step &step : steps)
    plan({ranks, kernels, isTapped}, step);
}

void RunPlans::add(const Step &first, const Step *last, OfRanks launches) {
  if (launches.front().hasKernel)
    for (const Step *step = &first; step <= last; ++step)
      launchedWith_[step] = &first;
  plans_.emplace(&first, std::move(launches));
}

void RunPlans::plan(const Asked &asked, const Step &step) {
  if (!isLookedFor(step))
    return;
  OfRanks whole = asked.launches(step);
  if (whole.front().hasKernel)
    for (const Step &inner : step.body)
      launchedWith_[&inner] = &step;
  else
    planPieces(asked, step);
  add(step, &step, std::move(whole));
}

void RunPlans::planPieces(const Asked &asked, const Step &step) {
  const std::vector<Step> &body = step.body;
  for (std::size_t begin = 0, end = 0; begin < body.size(); begin = end) {
    for (end = body.size(); end > begin + 1; --end) {
      if (begin == 0 && end == body.size())
        continue; // that is the step
      pieces_.push_back(pieceOf(step, begin, end));
      OfRanks piece = asked.launches(pieces_.back());
      if (piece.front().hasKernel) {
        add(body[begin], &body[end - 1], std::move(piece));
        break;
      }
      pieces_.pop_back();
    }
    if (end == begin + 1)
      plan(asked, body[begin]);
  }
}

const RunPlans::OfRanks *RunPlans::launchesOf(const Step &step) const {
  auto found = plans_.find(&step);
  return found == plans_.end() || !found->second.front().hasKernel
             ? nullptr
             : &found->second;
}

bool RunPlans::isDoneBefore(const Step &inner) const {
  auto found = launchedWith_.find(&inner);
  return found != launchedWith_.end() && found->second != &inner;
}

bool RunPlans::gives(const Step &inner, const Operand &value) const {
  auto found = launchedWith_.find(&inner);
  return found == launchedWith_.end() ||
         givesValue(plans_.at(found->second).front(), value);
}

std::vector<KernelUse>
RunPlans::uses(const std::function<std::string(const Step &)> &own) const {
  std::vector<KernelUse> uses;
  auto add = [&](const std::string &step, const std::string &kernel,
                 const std::string &reason) {
    for (KernelUse &use : uses)
      if (use.step == step && use.kernel == kernel && use.reason == reason) {
        ++use.steps;
        return;
      }
    uses.push_back({step, kernel, reason, 1});
  };
  auto list = [&](const auto &self, const Step &step) -> void {
    auto found = plans_.find(&step);
    if (found == plans_.end())
      return add(step.info().name, own ? own(step) : "", "");
    const LaunchPlan &plan = found->second.front();
    if (plan.hasKernel)
      return add(kindsOf(*plan.step), plan.name(), plan.note);
    add(kindsOf(step), own ? own(step) : "", plan.reason);
    for (const Step &inner : step.body)
      if (!isDoneBefore(inner))
        self(self, inner);
  };
  for (const Step &step : steps_)
    list(list, step);
  return uses;
}

} // namespace layline::runtime
