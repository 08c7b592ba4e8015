#include "devices/simt/plan/KernelLauncher.h"

#include "devices/simt/plan/GatherLaunch.h"
#include "devices/simt/plan/RowLaunch.h"
#include "devices/simt/plan/SingleLaunch.h"
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
  set.residentBlocks = [machine = options.machine,
                        margin = options.residencyMargin](
                           const kernels::Variant &variant) {
    std::int64_t fitting = std::min<std::int64_t>(
        machine.residentBlocks,
        machine.residentThreads / kernels::maxThreads(variant.family));
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
    : plan_(plan), precision_(device.precision), keepsInner_(device.taps),
      options_(options), kernels_(kernelsOf(options_)) {}

void KernelLauncher::prepare(const std::vector<RankContext<float>> &ranks) {
  plans_.clear();
  needs_.clear();
  KernelSet kernels = kernels_;
  kernels.refuses = [&](const RankRun &run, const LaunchPlan &plan) {
    return plan.variant.family == kernels::Family::ScatterPages
               ? whyNotScattered(ranks[static_cast<std::size_t>(run.rank)],
                                 *plan.step)
               : std::string();
  };
  for (const RankContext<float> &rank : ranks) {
    const std::vector<RankRun> alone = {
        {&plan_, rank.rank, precision_, rank.environment()}};
    plans_.emplace_back(alone, rank.run->variant->steps, kernels, keepsInner_);
    plans_.back().forEachLaunch([&](const Step &, RunPlans::OfRanks &launches) {
      const LaunchPlan &its = launches.front();
      its.addTo(needs_[launchGroup(plan_, rank.rank, its.group)]);
    });
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
          need.maxChunks <= has.maxChunks &&
          need.maxOneShotBytes <= has.maxOneShotBytes)
        continue;
      need.maxBlocks = std::max(need.maxBlocks, has.maxBlocks);
      need.maxChunks = std::max(need.maxChunks, has.maxChunks);
      need.maxOneShotBytes =
          std::max(need.maxOneShotBytes, has.maxOneShotBytes);
    }
    machine = std::make_unique<GroupMachine>(options_.machine, need,
                                             dtypeOf(precision_));
  }
}

bool KernelLauncher::keeps(const Step &inner, const Operand &value) const {
  return std::all_of(plans_.begin(), plans_.end(), [&](const RunPlans &ofRank) {
    return ofRank.gives(inner, value);
  });
}

const kernels::Kernel &
KernelLauncher::kernelOf(const kernels::Variant &variant) const {
  std::string error;
  const kernels::Kernel *kernel = options_.find(variant, error);
  if (!kernel)
    fail(LAYLINE_INTERNAL, error);
  return *kernel;
}

std::unique_ptr<MemberLaunch>
KernelLauncher::launchOf(RankContext<float> &rank,
                         const LaunchPlan &plan) const {
  const kernels::Kernel &kernel = kernelOf(plan.variant);
  switch (plan.variant.family) {
  case kernels::Family::Rope:
    return std::make_unique<RopeLaunch>(rank, plan, kernel);
  case kernels::Family::Broadcast:
    return std::make_unique<BroadcastLaunch>(rank, plan, kernel);
  case kernels::Family::ScatterPages:
    return std::make_unique<PageLaunch>(rank, plan, kernel);
  case kernels::Family::GatherRows:
    return std::make_unique<GatherLaunch>(rank, plan, kernel);
  default:
    return std::make_unique<RowLaunch>(rank, plan, kernel);
  }
}

/// The products, which are the engine's, are between two launches.
void KernelLauncher::runExperts(RankContext<float> &rank,
                                const LaunchPlan &plan,
                                GroupMachine &machine) const {
  kernels::Variant sort = plan.variant, permute = plan.variant;
  sort.family = kernels::Family::SortByExpert;
  sort.dtype = kernels::Variant().dtype;
  permute.family = kernels::Family::PermuteRows;
  auto launch = std::make_shared<ExpertLaunch>(
      rank, plan, kernelOf(sort), kernelOf(permute), kernelOf(plan.variant));
  machine.offer(0, launch);
  for (int phase = 0; phase < 2; ++phase) {
    if (phase == 1)
      launch->multiply();
    if (!machine.run())
      fail(LAYLINE_RUN_FAILURE, machine.failure());
  }
}

bool KernelLauncher::run(RankContext<float> &rank, const Step &step) {
  const RunPlans &plans = plans_[static_cast<std::size_t>(rank.rank)];
  if (plans.isDoneBefore(step))
    return true;
  const RunPlans::OfRanks *launches = plans.launchesOf(step);
  if (!launches)
    return false;
  const LaunchPlan *plan = &launches->front();
  GroupMachine &machine =
      *machines_.at(launchGroup(plan_, rank.rank, plan->group));
  if (plan->variant.family == kernels::Family::MergeExperts) {
    runExperts(rank, *plan, machine);
    return true;
  }
  std::shared_ptr<MemberLaunch> launch = launchOf(rank, *plan);
  if (plan->variant.ranks == 1) {
    machine.offer(0, std::move(launch));
    if (!machine.run())
      fail(LAYLINE_RUN_FAILURE, machine.failure());
    return true;
  }
  // The first member's thread is the host of all of them.
  Communicator &group = *rank.communicators[plan->group];
  machine.offer(static_cast<int>(group.member()), std::move(launch));
  const std::int64_t here = group.member();
  group.show(&here, [](std::int64_t, std::int64_t) { return allOf(1); });
  if (group.member() == 0)
    machine.run();
  group.release();
  if (!machine.hasFailed())
    return true;
  if (machine.failedMember() == group.member())
    fail(LAYLINE_RUN_FAILURE, machine.failure());
  throw Aborted();
}

std::vector<KernelUse> KernelLauncher::uses() const {
  // The first rank's: of steps that differ between ranks only sizes do.
  return plans_.empty() ? std::vector<KernelUse>() : plans_.front().uses();
}

} // namespace layline::runtime
