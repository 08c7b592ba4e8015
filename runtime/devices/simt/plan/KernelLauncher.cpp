#include "devices/simt/plan/KernelLauncher.h"

#include "transports/Transport.h"

#include <algorithm>

namespace layline::runtime {

KernelLauncher::Instance
KernelLauncher::instanceOf(const RankContext<float> &rank, int group) const {
  if (group < 0 || plan_.groups[group].ranks == 1)
    return {kNoGroup, rank.rank};
  return {group, membersOf(plan_, plan_.groups[group], rank.rank).front()};
}

/// A fused step, and where no kernel does it, what it consists of.
void KernelLauncher::planStep(const RankContext<float> &rank,
                              const Step &step) {
  if (!isLookedFor(step))
    return;
  LaunchPlan planned = planLaunch(rank, step, options_, keepsSums_);
  if (planned.kernel) {
    kernels::WorkspaceNeed &need = needs_[instanceOf(rank, planned.work.group)];
    kernels::addNeed(need, planned.kernel->variant, planned.problem,
                     planned.shape);
  } else {
    for (const Step &inner : step.body)
      planStep(rank, inner);
  }
  plans_[static_cast<std::size_t>(rank.rank)].emplace(&step,
                                                      std::move(planned));
}

void KernelLauncher::prepare(const std::vector<RankContext<float>> &ranks) {
  steps_ = &ranks.front().run->variant->steps;
  plans_.assign(ranks.size(), {});
  outer_.clear();
  needs_.clear();
  for (const Step &step : *steps_)
    for (const Step &inner : step.body)
      outer_[&inner] = &step;
  for (const RankContext<float> &rank : ranks)
    for (const Step &step : *steps_)
      planStep(rank, step);
  makeMachines();
}

/// Workspaces stay while they are large enough, with the epochs in them.
void KernelLauncher::makeMachines() {
  for (auto &[instance, need] : needs_) {
    std::unique_ptr<GroupMachine> &machine = machines_[instance];
    if (machine) {
      const kernels::WorkspaceNeed &has = machine->need();
      if (!machine->hasFailed() && need.maxBlocks <= has.maxBlocks &&
          need.maxOneShotBytes <= has.maxOneShotBytes)
        continue;
      need.maxBlocks = std::max(need.maxBlocks, has.maxBlocks);
      need.maxOneShotBytes =
          std::max(need.maxOneShotBytes, has.maxOneShotBytes);
    }
    machine = std::make_unique<GroupMachine>(options_.machine, need,
                                             dtypeOf(precision_));
  }
}

bool KernelLauncher::keeps(const Step &inner, const Operand &value) const {
  auto found = outer_.find(&inner);
  if (found == outer_.end())
    return true;
  auto isThere = [&](const LaunchPlan &planned) {
    const RowWork &work = planned.work;
    for (const Operand *kept : {work.values, work.residualOut, work.ungathered})
      if (kept && kept->index == value.index)
        return true;
    return !planned.kernel;
  };
  return std::all_of(plans_.begin(), plans_.end(), [&](const auto &ofRank) {
    return isThere(ofRank.at(found->second));
  });
}

RowLaunch KernelLauncher::launchOf(RankContext<float> &rank,
                                   const LaunchPlan &planned) const {
  const RowWork &work = planned.work;
  RowLaunch launch;
  launch.kernel = planned.kernel;
  launch.problem = planned.problem;
  launch.shape = planned.shape;
  launch.isResidualWhole = work.isAllReduce();
  launch.innerScale = static_cast<float>(work.innerScale);
  launch.scale = static_cast<float>(work.scale);
  launch.eps = static_cast<float>(work.eps);
  launch.weightOffset = static_cast<float>(work.weightOffset);
  auto address = [&](const Operand *operand) -> float * {
    return operand ? rank.address<float>(operand->index) : nullptr;
  };
  auto weight = [&](const Operand *operand) -> const float * {
    return operand ? rank.weight(*operand).data : nullptr;
  };
  launch.rows = address(work.rows);
  launch.residual = address(work.residual);
  launch.gate = address(work.gate);
  launch.bias = weight(work.bias);
  launch.innerWeight = weight(work.innerWeight);
  launch.weight = weight(work.weight);
  launch.normBias = weight(work.normBias);
  launch.values = address(work.values);
  launch.residualOut = address(work.residualOut);
  launch.ungathered = address(work.ungathered);
  return launch;
}

bool KernelLauncher::run(RankContext<float> &rank, const Step &step) {
  const auto &planned = plans_[static_cast<std::size_t>(rank.rank)];
  auto found = planned.find(&step);
  if (found == planned.end() || !found->second.kernel)
    return false;
  const LaunchPlan &its = found->second;
  GroupMachine &machine = *machines_.at(instanceOf(rank, its.work.group));
  RowLaunch launch = launchOf(rank, its);
  if (its.kernel->variant.ranks == 1) {
    if (!machine.run({&launch}))
      fail(LAYLINE_RUN_FAILURE, machine.failure());
    return true;
  }
  // The first member's thread is the host of all of them.
  Communicator &group = *rank.communicators[its.work.group];
  group.show(&launch, [](std::int64_t, std::int64_t) { return allOf(1); });
  if (group.member() == 0) {
    std::vector<const RowLaunch *> members;
    for (std::int64_t m = 0; m < group.size(); ++m)
      members.push_back(group.shown<RowLaunch>(m));
    machine.run(members);
  }
  group.release();
  if (!machine.hasFailed())
    return true;
  if (machine.failedMember() == group.member())
    fail(LAYLINE_RUN_FAILURE, machine.failure());
  throw Aborted();
}

std::vector<KernelUse> KernelLauncher::uses() const {
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
  // The first rank's: of steps that differ between ranks only sizes do.
  auto list = [&](const auto &self, const Step &step) -> void {
    auto found = plans_.front().find(&step);
    if (found == plans_.front().end()) {
      add(step.info().name, "", "");
    } else if (found->second.kernel) {
      add(kindsOf(step), found->second.kernel->variant.name(), "");
    } else {
      add(kindsOf(step), "", found->second.reason);
      for (const Step &inner : step.body)
        self(self, inner);
    }
  };
  if (!plans_.empty())
    for (const Step &step : *steps_)
      list(list, step);
  return uses;
}

} // namespace layline::runtime
