// Cells in which a rank does not come: those that wait for it must give up, say
// for what, and be right again in a new workspace.
#include "Matrix.h"
#include "kernels/platform/Numeric.h"
#include "plan/Error.h"

namespace layline::test {

using namespace layline::kernels;
using namespace layline::runtime::cuda;
using device::bf16;
using runtime::concat;
using runtime::peerFlagsOf;
using runtime::readyFlagsOf;
using runtime::watchOf;
using runtime::WorkspaceAddresses;

namespace {

constexpr int kRanks = 2;
constexpr std::int64_t kBytes = 128; ///< of a rank: a row of 64 in bf16
/// Long beside a launch, short beside who looks on.
constexpr std::uint64_t kWaitNanoseconds = 200000000;

/// Two ranks, of which one launch has both and the other only the first.
class Meeting {
public:
  explicit Meeting(const CardSet &cards)
      : group(cards, kRanks, kWaitNanoseconds),
        shared(group.symmetric(kRanks * kBytes, "rows")) {
    need.ranks = kRanks;
    need.maxBlocks = need.maxChunks = 1;
    need.maxOneShotBytes = kBytes;
    for (int rank = 0; rank < kRanks; ++rank)
      rows.push_back(group.upload(
          rank, std::vector<bf16>(64, device::from_float<bf16>(1.5F)), "rows"));
  }

  /// `paramsOf` a rank; `what`: rank 0 must have waited for.
  template <typename Params>
  CellResult run(const char *symbol, const char *what,
                 const std::function<Params(int rank)> &paramsOf) {
    const std::string late = launch<Params>(symbol, 1, paramsOf),
                      want = concat("rank 0, block 0 waited 0.2 s for ", what);
    if (late != want)
      return CellResult::failedIf(
          concat("found '", late, "', expected '", want, "'"));
    const std::string again = launch<Params>(symbol, kRanks, paramsOf);
    return CellResult::failedIf(again.empty() ? ""
                                              : "with all ranks: " + again);
  }

  CardGroup group;
  const SymmetricMemory shared;
  std::vector<bf16 *> rows; ///< own

private:
  template <typename Params>
  std::string launch(const char *symbol, int ranks,
                     const std::function<Params(int rank)> &paramsOf) {
    group.makeWorkspace(need, DType::BF16);
    std::vector<Params> params;
    for (int rank = 0; rank < ranks; ++rank)
      params.push_back(paramsOf(rank));
    GroupShape shape;
    shape.threads = 32;
    shape.waits = true;
    group.prepare(symbol, shape, params).enqueue();
    group.synchronize(symbol);
    return group.late();
  }

  WorkspaceNeed need;
};

CellResult runGather(const CardSet &cards, const char *symbol) {
  Meeting meeting(cards);
  return meeting.run<GatherParams<kRanks>>(
      symbol, "the entry flag of peer 1 to come to epoch 1, found 0",
      [&](int rank) {
        GatherParams<kRanks> p{};
        p.peers = peerFlagsOf<kRanks>(meeting.group.workspaceOf(rank), rank);
        p.rows = meeting.rows[static_cast<std::size_t>(rank)];
        p.tokens = kRanks;
        p.rowBytes = kBytes;
        for (std::size_t peer = 0; peer < kRanks; ++peer)
          p.out[peer] = meeting.shared.part<void>(peer);
        return p;
      });
}

CellResult runBroadcast(const CardSet &cards, const char *symbol) {
  Meeting meeting(cards);
  return meeting.run<BroadcastParams<kRanks>>(
      symbol, "the ready flag of peer 1 to come to epoch 1, found 0",
      [&](int rank) {
        const WorkspaceAddresses workspace = meeting.group.workspaceOf(rank);
        BroadcastParams<kRanks> p{};
        p.ready = readyFlagsOf<kRanks>(workspace, rank);
        for (std::size_t peer = 0; peer < kRanks; ++peer) {
          p.chunk[peer] = reinterpret_cast<std::uint32_t *>(
              workspace.symmetric[peer] + workspace.layout.chunkFlags);
          p.to[peer] = meeting.shared.part<void>(peer);
        }
        p.uses = reinterpret_cast<std::uint32_t *>(workspace.own +
                                                   workspace.layout.uses);
        p.from = meeting.rows[static_cast<std::size_t>(rank)];
        p.bytes = p.chunkBytes = kBytes;
        return p;
      });
}

CellResult runOneShot(const CardSet &cards, const char *symbol) {
  Meeting meeting(cards);
  return meeting.run<OneShotParams<kRanks>>(
      symbol, "the mailbox of peer 1, empty in epoch 0", [&](int rank) {
        const WorkspaceAddresses workspace = meeting.group.workspaceOf(rank);
        OneShotParams<kRanks> p{};
        for (std::size_t peer = 0; peer < kRanks; ++peer)
          p.boxes[peer] = workspace.symmetric[peer] + workspace.layout.boxes;
        p.capacity = workspace.layout.boxCapacity;
        p.state = reinterpret_cast<OneShotState *>(workspace.own +
                                                   workspace.layout.state);
        p.rank = static_cast<std::uint32_t>(rank);
        p.watch = watchOf(workspace);
        p.addends = meeting.rows[static_cast<std::size_t>(rank)];
        p.tokens = 1;
        p.width = kBytes / 2;
        p.operands.innerScale = p.operands.scale = 1;
        p.out.values[0] =
            meeting.shared.part<void>(static_cast<std::size_t>(rank));
        return p;
      });
}

} // namespace

std::vector<Cell> cellsOfWaits(const MatrixScope &scope) {
  std::vector<Cell> cells;
  if (scope.cards > kRanks)
    return cells;
  for (const FusedKernel &kernel : fusedKernels()) {
    const Variant &variant = kernel.variant;
    CellResult (*run)(const CardSet &, const char *) =
        variant.family == Family::GatherRows  ? runGather
        : variant.family == Family::Broadcast ? runBroadcast
        : variant.family == Family::OneShot   ? runOneShot
                                              : nullptr;
    if (!run || variant.ranks != kRanks || variant.dtype != DType::BF16 ||
        variant.norm != NormKind::None || variant.byElement)
      continue;
    const char *symbol = kernel.symbol;
    cells.push_back({symbol, kRanks, 1, kBytes / 2,
                     [=](const CardSet &cards) { return run(cards, symbol); }});
  }
  return cells;
}

} // namespace layline::test
