#include "devices/cuda/FusedLaunches.h"

#include "devices/cuda/Moves.h"
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

/// Of a buffer, whatever its type.
void *valueOf(const RankView &rank, const Operand &operand) {
  return reinterpret_cast<void *>(rank.address(operand.index));
}

std::size_t memberOf(const RankView &rank, const LaunchPlan &planned) {
  return planned.variant.ranks == 1
             ? 0
             : static_cast<std::size_t>(
                   rank.members[static_cast<std::size_t>(planned.group)]);
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
    return refusal(ranks_[static_cast<std::size_t>(run.rank)], planned);
  };
}

/// Null: none on that card, or of a family that is not launched here.
KernelFunction FusedLaunches::find(const kernels::Variant &variant,
                                   std::size_t card) const {
  std::string error;
  bool isLaunched = variant.family == kernels::Family::RowCollective ||
                    variant.family == kernels::Family::OneShot ||
                    variant.family == kernels::Family::GatherRows ||
                    variant.family == kernels::Family::Broadcast;
  const kernels::FusedKernel *kernel =
      isLaunched && variant.scales == kernels::ScaleKind::None
          ? kernels::findFusedKernel(variant, error)
          : nullptr;
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
    const LaunchPlan &its = launches[static_cast<std::size_t>(rank.rank)];
    if (!its.variant.waits() || memberOf(rank, its) != 0)
      continue;
    auto group = static_cast<std::size_t>(its.group);
    std::vector<std::uint64_t> digests;
    for (std::int64_t member : rank.instances[group]->ranks) {
      const LaunchPlan &of = launches[static_cast<std::size_t>(member)];
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

RowAddresses FusedLaunches::addressesOf(const RankView &rank,
                                        const LaunchPlan &planned) const {
  const RowWork &work = planned.work;
  auto address = [&](const Operand *operand) {
    return operand ? rank.numbers(*operand).data : nullptr;
  };
  // Of an all_reduce every rank has all rows of what goes with them; a kernel
  // that deals rows out takes the own ones.
  std::int64_t skipped = 0;
  if (planned.variant.family == kernels::Family::RowCollective &&
      work.isAllReduce())
    skipped =
        planned.own(static_cast<std::int64_t>(memberOf(rank, planned))).begin *
        planned.problem.width * kernels::bytesOf(planned.variant.dtype);
  auto own = [&](const Operand *operand) -> void * {
    return operand ? static_cast<std::byte *>(address(operand)) + skipped
                   : nullptr;
  };
  RowAddresses at;
  at.rows = address(work.rows);
  at.bias = address(work.bias);
  at.innerWeight = address(work.innerWeight);
  at.residual = own(work.residual);
  at.weight = address(work.weight);
  at.normBias = address(work.normBias);
  at.gate = own(work.gate);
  at.values = address(work.values);
  at.residualOut = own(work.residualOut);
  return at;
}

template <int P>
void FusedLaunches::addGroup(ProgramBuilder &builder, std::size_t card,
                             const std::vector<const RankView *> &ranks,
                             const OfRanks &launches) {
  const Step &step = *launches.front().step;
  auto planOf = [&](std::int64_t rank) -> const LaunchPlan & {
    return launches[static_cast<std::size_t>(rank)];
  };
  const LaunchPlan &first = planOf(ranks.front()->rank);
  std::string error;
  CardLaunch launch;
  launch.symbol = kernels::findFusedKernel(first.variant, error)->symbol;
  launch.blocks = first.shape.grid;
  launch.threads = first.shape.block;
  launch.waitsForRanks = first.variant.waits();
  auto workspaceOf = [&](const RankView &rank) {
    WorkspaceAddresses none;
    none.symmetric = {nullptr};
    return P == 1 ? none
                  : workspaces_.addresses(first.group, rank.rank,
                                          builder.stream());
  };
  auto watchOf = [&](const RankView &rank) {
    return kernels::Watch{groups_.failureOf(rank), groups_.waitNanoseconds()};
  };
  if constexpr (P > 1)
    if (first.variant.family == kernels::Family::OneShot) {
      builder.launch<kernels::OneShotParams<P>>(
          card, ranks, launch, [&](const RankView &rank, auto &p) {
            const LaunchPlan &its = planOf(rank.rank);
            p = oneShotParamsOf<P>(
                its, addressesOf(rank, its), workspaceOf(rank),
                static_cast<std::int64_t>(memberOf(rank, its)));
            p.watch = watchOf(rank);
          });
      return;
    }
  auto membersOf = [&](const RankView &rank) {
    const LaunchPlan &its = planOf(rank.rank);
    std::vector<RowAddresses> members;
    if (P == 1)
      members.push_back(addressesOf(rank, its));
    else
      for (std::int64_t member :
           rank.instances[static_cast<std::size_t>(its.group)]->ranks)
        members.push_back(addressesOf(ranks_[static_cast<std::size_t>(member)],
                                      planOf(member)));
    return members;
  };
  if constexpr (P > 1)
    if (first.variant.family == kernels::Family::Broadcast) {
      builder.launch<kernels::BroadcastParams<P>>(
          card, ranks, launch, [&](const RankView &rank, auto &p) {
            const LaunchPlan &its = planOf(rank.rank);
            std::size_t member = memberOf(rank, its);
            std::vector<void *> to;
            for (std::int64_t peer :
                 rank.instances[static_cast<std::size_t>(its.group)]->ranks)
              to.push_back(valueOf(ranks_[static_cast<std::size_t>(peer)],
                                   step.arg("output")));
            bool isRoot = static_cast<std::int64_t>(member) == step.attrs.root;
            p = broadcastParamsOf<P>(
                its, isRoot ? valueOf(rank, step.arg("input")) : nullptr, to,
                workspaceOf(rank), static_cast<std::int64_t>(member));
            p.ready.watch = watchOf(rank);
          });
      return;
    }
  if constexpr (P > 1)
    if (first.variant.family == kernels::Family::GatherRows) {
      builder.launch<kernels::GatherParams<P>>(
          card, ranks, launch, [&](const RankView &rank, auto &p) {
            const LaunchPlan &its = planOf(rank.rank);
            p = gatherParamsOf<P>(
                its, membersOf(rank), workspaceOf(rank),
                static_cast<std::int64_t>(memberOf(rank, its)));
            p.peers.watch = watchOf(rank);
          });
      return;
    }
  builder.launch<kernels::RowParams<P>>(
      card, ranks, launch, [&](const RankView &rank, auto &p) {
        const LaunchPlan &its = planOf(rank.rank);
        p = rowParamsOf<P>(its, membersOf(rank), workspaceOf(rank),
                           static_cast<std::int64_t>(memberOf(rank, its)));
        p.peers.watch = watchOf(rank);
      });
}

/// A tap wants a rank's own rows as they were before they were gathered: they
/// stand in what was.
static void keepUngathered(ProgramBuilder &builder,
                           const RunPlans::OfRanks &launches) {
  if (!launches.front().work.ungathered)
    return;
  addMove(builder, [&](const RankView &rank) {
    const LaunchPlan &its = launches[static_cast<std::size_t>(rank.rank)];
    Move move = moveWithin(rank, *its.work.values, *its.work.ungathered);
    kernels::RowBlock own =
        its.own(static_cast<std::int64_t>(memberOf(rank, its)));
    std::int64_t width = its.problem.width;
    move.outputItems = own.size * width;
    move.add(0, its.problem.tokens * width, own.begin * width, 0,
             own.size * width);
    return move;
  });
}

void FusedLaunches::add(ProgramBuilder &builder, const OfRanks &launches) {
  for (std::size_t card = 0; card < cards_.size(); ++card) {
    std::vector<const RankView *> left;
    for (const RankView &rank : ranks_)
      if (rank.cardNumber == card)
        left.push_back(&rank);
    // Groups of other sizes, or of other row counts, may want another kernel.
    while (!left.empty()) {
      auto planOf = [&](const RankView *rank) -> const LaunchPlan & {
        return launches[static_cast<std::size_t>(rank->rank)];
      };
      const LaunchPlan &first = planOf(left.front());
      std::vector<const RankView *> together, others;
      for (const RankView *rank : left)
        (planOf(rank).variant == first.variant &&
                 planOf(rank).shape == first.shape
             ? together
             : others)
            .push_back(rank);
      switch (first.variant.ranks) {
      case 1:
        addGroup<1>(builder, card, together, launches);
        break;
      case 2:
        addGroup<2>(builder, card, together, launches);
        break;
      case 3:
        addGroup<3>(builder, card, together, launches);
        break;
      case 4:
        addGroup<4>(builder, card, together, launches);
        break;
      case 8:
        addGroup<8>(builder, card, together, launches);
        break;
      default:
        fail(LAYLINE_INTERNAL, "kernel ", first.variant.name(),
             " is of a number of ranks that is not launched");
      }
      left = std::move(others);
    }
  }
  if (options_.taps)
    keepUngathered(builder, launches);
}

} // namespace layline::runtime::cuda
