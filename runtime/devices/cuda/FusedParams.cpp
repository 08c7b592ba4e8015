#include "devices/cuda/FusedParams.h"

#include "kernels/FusedKernels.h"
#include "kernels/plan/LaunchParams.h"
#include "plan/Error.h"

#include <limits>

namespace layline::runtime::cuda {

RowAddresses addressesOf(const RankView &rank, const LaunchPlan &planned) {
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
  if (work.isQuantized()) {
    QuantizedRows rows = quantizedRows(rank, planned);
    at.payload = rows.payload.data;
    at.scales = rows.scales.data;
    at.values = address(work.exact);
  } else {
    at.values = address(work.values);
  }
  at.residualOut = own(work.residualOut);
  if (planned.variant.input == kernels::Input::OwedMulticast)
    at.multicastRows = rank.multicast(at.rows);
  if (planned.variant.output == kernels::Output::EveryoneMulticast) {
    at.multicastValues = rank.multicast(at.values);
    at.multicastPayload = rank.multicast(at.payload);
    at.multicastScales = rank.multicast(at.scales);
  }
  return at;
}

namespace {

/// Of numbers or integers.
void *valueOf(const RankView &rank, const Operand &operand) {
  return reinterpret_cast<void *>(rank.address(operand.index));
}

/// Ranks of a card whose kernel is of P ranks.
template <int P> class Launch {
public:
  Launch(const FusedStep &step, std::size_t card,
         const std::vector<const RankView *> &together)
      : step_(step), card_(card), together_(together),
        first_(step.of(*together.front())) {
    std::string error;
    launch_.symbol = kernels::findFusedKernel(first_.variant, error)->symbol;
    launch_.blocks = first_.shape.grid;
    launch_.threads = first_.shape.block;
    launch_.waitsForRanks = first_.variant.waits();
  }

  void add() {
    const kernels::Family family = first_.variant.family;
    if (family == kernels::Family::RowCollective)
      return addRows();
    if constexpr (P == 1)
      return family == kernels::Family::Rope ? addRope() : addScatter();
    else
      return family == kernels::Family::OneShot     ? addOneShot()
             : family == kernels::Family::Broadcast ? addBroadcast()
                                                    : addGather();
  }

private:
  /// `make(rank, its plan, its number)` gives the parameters.
  template <typename Params, typename Make> void addOf(const Make &make) {
    step_.builder.launch<Params>(
        card_, together_, launch_, [&](const RankView &rank, Params &params) {
          const LaunchPlan &its = step_.of(rank);
          params =
              make(rank, its, static_cast<std::int64_t>(memberOf(rank, its)));
        });
  }

  /// The members of the rank's instance, by number.
  std::vector<const RankView *> membersOf(const RankView &rank) const {
    if (P == 1)
      return {&rank};
    std::vector<const RankView *> members;
    for (std::int64_t member :
         rank.instances[static_cast<std::size_t>(first_.group)]->ranks)
      members.push_back(findRank(step_.ranks, member));
    return members;
  }
  std::vector<RowAddresses> rowsOf(const RankView &rank) const {
    std::vector<RowAddresses> rows;
    for (const RankView *member : membersOf(rank))
      rows.push_back(addressesOf(*member, step_.of(*member)));
    return rows;
  }
  WorkspaceAddresses workspaceOf(const RankView &rank) const {
    if (P > 1)
      return step_.workspaces.addresses(first_.group, rank.rank,
                                        step_.builder.stream());
    WorkspaceAddresses none;
    none.symmetric = {nullptr};
    return none;
  }
  kernels::Watch watchOf(const RankView &rank) const {
    const Groups &groups = step_.builder.groups();
    return {groups.failureOf(rank), groups.waitNanoseconds()};
  }

  void addRows() {
    addOf<kernels::RowParams<P>>([this](const RankView &rank,
                                        const LaunchPlan &its,
                                        std::int64_t member) {
      auto params =
          rowParamsOf<P>(its, rowsOf(rank), workspaceOf(rank), member);
      params.peers.watch = watchOf(rank);
      return params;
    });
  }

  void addOneShot() {
    addOf<kernels::OneShotParams<P>>([this](const RankView &rank,
                                            const LaunchPlan &its,
                                            std::int64_t member) {
      auto params = oneShotParamsOf<P>(its, addressesOf(rank, its),
                                       workspaceOf(rank), member);
      params.watch = watchOf(rank);
      return params;
    });
  }

  void addGather() {
    addOf<kernels::GatherParams<P>>([this](const RankView &rank,
                                           const LaunchPlan &its,
                                           std::int64_t member) {
      auto params =
          gatherParamsOf<P>(its, rowsOf(rank), workspaceOf(rank), member);
      params.peers.watch = watchOf(rank);
      return params;
    });
  }

  void addBroadcast() {
    addOf<kernels::BroadcastParams<P>>([this](const RankView &rank,
                                              const LaunchPlan &its,
                                              std::int64_t member) {
      std::vector<void *> to;
      for (const RankView *peer : membersOf(rank))
        to.push_back(valueOf(*peer, its.step->arg("output")));
      const void *from = member == its.step->attrs.root
                             ? valueOf(rank, its.step->arg("input"))
                             : nullptr;
      auto params =
          broadcastParamsOf<P>(its, from, to, workspaceOf(rank), member);
      params.ready.watch = watchOf(rank);
      return params;
    });
  }

  void addRope() {
    addOf<kernels::RopeParams<1>>(
        [this](const RankView &rank, const LaunchPlan &its, std::int64_t) {
          const Step &rope = *its.step;
          const RankView::Rotations rotations = rank.rotations(rope);
          RopeAddresses at;
          at.rows = rank.numbers(rope.arg("input")).data;
          at.out = rank.numbers(rope.arg("output")).data;
          at.positions = rank.integers(rope.arg("positions"));
          at.halfTurns = rotations.halfTurns;
          return ropeParamsOf(its, at, rotations.attentionFactor,
                              workspaceOf(rank));
        });
  }

  void addScatter() {
    addOf<kernels::PagedRowsParams>(
        [this](const RankView &rank, const LaunchPlan &its, std::int64_t) {
          const Operand &cache = its.step->arg("cache");
          const CacheRows &rows =
              rank.caches[static_cast<std::size_t>(cache.index)];
          kernels::PagedRowsParams params{};
          params.pools =
              step_.builder.table<void *>(card_, {rank.pages(cache).rows.data});
          params.pages = step_.builder.table<std::int32_t>(card_, {0});
          params.pageTokens = std::numeric_limits<std::int32_t>::max();
          params.rowBytes = rows.slice.rowElements() * rows.elementBytes;
          params.tokenStride = params.rowBytes;
          params.firstToken = rank.run->past;
          params.tokens = its.problem.tokens;
          params.planes = 1;
          params.packed = valueOf(rank, its.step->arg("input"));
          params.chunkTokens = 1;
          params.watch = watchOf(rank);
          return params;
        });
  }

  const FusedStep &step_;
  const std::size_t card_;
  const std::vector<const RankView *> &together_;
  const LaunchPlan &first_;
  CardLaunch launch_;
};

} // namespace

void addLaunch(const FusedStep &step, std::size_t card,
               const std::vector<const RankView *> &together) {
  const kernels::Variant &variant = step.of(*together.front()).variant;
  switch (variant.ranks) {
  case 1:
    return Launch<1>(step, card, together).add();
  case 2:
    return Launch<2>(step, card, together).add();
  case 3:
    return Launch<3>(step, card, together).add();
  case 4:
    return Launch<4>(step, card, together).add();
  case 8:
    return Launch<8>(step, card, together).add();
  default:
    fail(LAYLINE_INTERNAL, "kernel ", variant.name(),
         " is of a number of ranks that is not launched");
  }
}

} // namespace layline::runtime::cuda
