#include "devices/cuda/FusedLaunches.h"

#include "devices/cuda/FusedParams.h"
#include "kernels/FusedKernels.h"
#include "plan/Error.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

namespace layline::runtime::cuda {
namespace {

bool isCollective(const Step &step) {
  return step.info().isCollective ||
         std::any_of(step.body.begin(), step.body.end(), isCollective);
}

} // namespace

FusedLaunches::FusedLaunches(const Plan &plan, const DeviceOptions &options,
                             std::vector<RankView> &ranks,
                             const std::vector<std::unique_ptr<Card>> &cards,
                             const Groups &groups)
    : plan_(plan), options_(options), ranks_(ranks), cards_(cards),
      groups_(groups), workspaces_(plan, ranks, dtypeOf(options.precision)) {
  for (std::size_t c = 0; c < cards.size(); ++c)
    ranksOnCard_ = std::max<std::int64_t>(
        ranksOnCard_,
        std::count_if(ranks.begin(), ranks.end(), [&](const RankView &rank) {
          return rank.cardNumber == c;
        }));
  kernels_.has = [this](const kernels::Variant &variant) {
    for (std::size_t c = 0; c < cards_.size(); ++c)
      if (!find(variant, c))
        return false;
    return true;
  };
  kernels_.residentBlocks = [this](const kernels::Variant &variant) {
    return static_cast<std::uint32_t>(
        std::max<std::int64_t>(1, residentBlocks(variant)));
  };
  kernels_.refuses = [this](const RankRun &run, const LaunchPlan &planned) {
    return refusal(*findRank(ranks_, run.rank), planned);
  };
  if (options.bySwitch)
    kernels_.whyNotBySwitch = [this](const RankRun &run,
                                     const LaunchPlan &planned) {
      return whyNotBySwitch(*findRank(ranks_, run.rank), planned);
    };
}

/// Null: none on that card.
KernelFunction FusedLaunches::find(const kernels::Variant &variant,
                                   std::size_t card) const {
  std::string error;
  const kernels::FusedKernel *kernel = kernels::findFusedKernel(variant, error);
  return kernel ? cards_[card]->find(kernel->symbol) : nullptr;
}

/// Of each rank, on whichever card: the grid must be the same on all. All ranks
/// of a card are one launch, and launches of other streams may be on it at the
/// same time: none may keep another one's blocks away for ever.
std::int64_t
FusedLaunches::residentBlocks(const kernels::Variant &variant) const {
  std::int64_t least = std::numeric_limits<std::int32_t>::max();
  for (std::size_t c = 0; c < cards_.size(); ++c)
    least = std::min(
        least, cards_[c]->residentBlocks(
                   find(variant, c), kernels::maxThreads(variant.family), 0));
  return (least - kernels::kResidencyMargin) / ranksOnCard_ / waitingStreams_;
}

// ---- What runs as what
// ---------------------------------------------------------

RunPlans FusedLaunches::plan(const Variant &variant) {
  std::set<int> streams;
  for (const Step &step : variant.steps)
    if (isCollective(step))
      streams.insert(step.stream);
  waitingStreams_ =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(streams.size()));
  std::vector<RankRun> runs;
  for (const RankView &rank : ranks_)
    runs.push_back({&plan_, rank.rank, options_.precision, rank.environment()});
  RunPlans plans(runs, variant.steps, kernels_, options_.taps);
  plans.forEachLaunch([this](const Step &, OfRanks &launches) {
    equalizeGrids(launches);
    checkAgreement(launches);
  });
  makeWorkspaces(plans);
  return plans;
}

/// Ranks of one launch have one grid, and so have the members of their groups
/// on other cards.
void FusedLaunches::equalizeGrids(OfRanks &launches) const {
  for (LaunchPlan &its : launches)
    for (const LaunchPlan &other : launches)
      if (other.variant == its.variant && other.shape.block == its.shape.block)
        its.shape.grid = std::max(its.shape.grid, other.shape.grid);
}

void FusedLaunches::checkAgreement(const OfRanks &launches) const {
  for (const RankView &rank : ranks_) {
    const LaunchPlan &its = launches[rank.place];
    if (!its.variant.waits() || memberOf(rank, its) != 0)
      continue;
    auto group = static_cast<std::size_t>(its.group);
    std::vector<std::uint64_t> digests;
    for (std::int64_t member : rank.instances[group]->ranks) {
      const LaunchPlan &of = launches[findRank(ranks_, member)->place];
      digests.push_back(kernels::digestOf(of.variant, of.problem, of.shape));
    }
    std::string error;
    if (!kernels::checkAgreement(plan_.groups[group].id, digests, error))
      fail(LAYLINE_INTERNAL, "step '", its.step->id, "': ", error);
  }
}

/// By group, rank and stream: what all launches there need.
void FusedLaunches::makeWorkspaces(RunPlans &plans) {
  std::map<std::tuple<int, std::int64_t, int>, kernels::WorkspaceNeed> needs;
  plans.forEachLaunch([&](const Step &topLevel, const OfRanks &launches) {
    for (const LaunchPlan &its : launches) {
      if (!its.variant.waits())
        continue;
      const RankView &rank =
          ranks_[static_cast<std::size_t>(&its - launches.data())];
      std::int64_t first =
          rank.instances[static_cast<std::size_t>(its.group)]->ranks.front();
      its.addTo(needs[{its.group, first, topLevel.stream}]);
    }
  });
  for (const auto &[where, need] : needs) {
    const auto &[group, rank, stream] = where;
    workspaces_.reserve(group, rank, static_cast<std::size_t>(stream), need);
  }
}

// ---- Launches
// ------------------------------------------------------------------

void FusedLaunches::add(ProgramBuilder &builder, const OfRanks &launches) {
  const FusedStep step{builder, ranks_, workspaces_, launches,
                       options_.taps != 0};
  if (launches.front().variant.family == kernels::Family::MergeExperts)
    return addExpertLaunches(step);
  for (std::size_t card = 0; card < cards_.size(); ++card) {
    std::vector<const RankView *> left;
    for (const RankView &rank : ranks_)
      if (rank.cardNumber == card)
        left.push_back(&rank);
    // Groups of other sizes, or of other row counts, may want another kernel.
    while (!left.empty()) {
      const LaunchPlan &first = step.of(*left.front());
      std::vector<const RankView *> together, others;
      for (const RankView *rank : left)
        (step.of(*rank).variant == first.variant &&
                 step.of(*rank).shape == first.shape
             ? together
             : others)
            .push_back(rank);
      addLaunch(step, card, together);
      left = std::move(others);
    }
  }
  addResults(step);
}

} // namespace layline::runtime::cuda
