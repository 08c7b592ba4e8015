#include "devices/simt/plan/KernelLauncher.h"

#include "kernels/LaunchSafety.h"
#include "transports/Transport.h"

#include <algorithm>

namespace layline::runtime {

/// What the emulated ranks launch.
static KernelSet kernelsOf(const SimtOptions &options) {
  KernelSet set;
  set.has = [find = options.find](const kernels::Variant &variant) {
    std::string error;
    return find(variant, error) != nullptr;
  };
  std::int64_t fitting = std::min<std::int64_t>(
      options.machine.residentBlocks,
      options.machine.residentThreads / kernels::kMaxThreads);
  set.residentBlocks = [fitting, margin = options.residencyMargin](
                           const kernels::Variant &variant) {
    std::uint32_t blocks = 0;
    std::string error;
    if (!kernels::residentBlocks({fitting, 1}, margin, blocks, error))
      fail(LAYLINE_RUN_FAILURE, "device 'simt': ", variant.name(), ": ", error);
    return blocks;
  };
  return set;
}

KernelLauncher::KernelLauncher(const Plan &plan, const DeviceOptions &device,
                               const SimtOptions &options)
    : plan_(plan), precision_(device.precision), keepsSums_(device.taps),
      options_(options), kernels_(kernelsOf(options_)) {}

void KernelLauncher::prepare(const std::vector<RankContext<float>> &ranks) {
  steps_ = &ranks.front().run->variant->steps;
  plans_.clear();
  outer_.clear();
  needs_.clear();
  for (const Step &step : *steps_)
    for (const Step &inner : step.body)
      outer_[&inner] = &step;
  for (const RankContext<float> &rank : ranks) {
    RankRun run{&plan_, rank.rank, precision_, rank.environment()};
    plans_.push_back(planSteps(run, *steps_, kernels_, keepsSums_, needs_));
  }
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
    return !planned.hasKernel;
  };
  return std::all_of(plans_.begin(), plans_.end(), [&](const auto &ofRank) {
    return isThere(ofRank.at(found->second));
  });
}

RowLaunch KernelLauncher::launchOf(RankContext<float> &rank,
                                   const LaunchPlan &planned) const {
  const RowWork &work = planned.work;
  RowLaunch launch;
  launch.planned = &planned;
  std::string error;
  launch.kernel = options_.find(planned.variant, error);
  launch.isResidualWhole = work.isAllReduce();
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
  if (found == planned.end() || !found->second.hasKernel)
    return false;
  const LaunchPlan &its = found->second;
  GroupMachine &machine =
      *machines_.at(launchGroup(plan_, rank.rank, its.work.group));
  RowLaunch launch = launchOf(rank, its);
  if (its.variant.ranks == 1) {
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
  // The first rank's: of steps that differ between ranks only sizes do.
  return plans_.empty() ? std::vector<KernelUse>()
                        : listUses(*steps_, plans_.front());
}

} // namespace layline::runtime
