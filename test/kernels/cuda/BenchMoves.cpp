#include "BenchMoves.h"

#include "harness/ExpertRows.h"
#include "harness/RopeRows.h"
#include "kernels/local/LocalParams.h"
#include "plan/Error.h"

#include <algorithm>

namespace layline::test {

using namespace layline::kernels;
using namespace layline::kernels::test;
using namespace layline::runtime::cuda;
using runtime::fail;
using runtime::kChunkBytes;
using runtime::peerFlagsOf;
using runtime::readyFlagsOf;
using runtime::WorkspaceAddresses;

namespace {

constexpr std::uint64_t kWaitNanoseconds = 10000000000;
constexpr unsigned kMostBlocks = 1024;

/// Launches one behind another, and the memory that they work on.
class GroupLaunches final : public CardLaunches {
public:
  GroupLaunches(const CardSet &cards, int ranks)
      : group(cards, ranks, kWaitNanoseconds) {}
  void enqueue() override {
    for (const CardGroup::Launch &launch : launches)
      launch.enqueue();
    for (const Copy &copy : copies)
      group.enqueueCopy(0, copy.to, copy.from, copy.bytes);
  }

  struct Copy {
    Address to, from;
    std::int64_t bytes;
  };
  CardGroup group;
  std::vector<CardGroup::Launch> launches;
  std::vector<Copy> copies;
  std::vector<SymmetricMemory> symmetric;
};

const FusedKernel &find(Family family, int ranks, bool byElement = false) {
  for (const FusedKernel &kernel : fusedKernels())
    if (kernel.variant.family == family && kernel.variant.ranks == ranks &&
        kernel.variant.byElement == byElement)
      return kernel;
  fail(LAYLINE_REFUSED_FEATURE, nameOf(family), " of ", ranks,
       " ranks is not compiled for cards");
}

/// As many blocks as there is work for and fit.
unsigned blocksFor(const CardSet &cards, const FusedKernel &kernel,
                   std::int64_t wanted) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(
      wanted, 1,
      std::min<std::int64_t>(kMostBlocks,
                             cards.blocksOfRank(kernel.symbol, kCopyThreads,
                                                kernel.variant.ranks))));
}

/// Bytes that are no NaN and no index out of range.
std::vector<unsigned char> zeros(std::int64_t bytes) {
  return std::vector<unsigned char>(static_cast<std::size_t>(bytes), 0);
}

template <int P>
void addBroadcast(GroupLaunches &made, const FusedKernel &kernel,
                  const GroupShape &shape, std::int64_t bytes) {
  std::vector<BroadcastParams<P>> params;
  for (int rank = 0; rank < P; ++rank) {
    const WorkspaceAddresses workspace = made.group.workspaceOf(rank);
    BroadcastParams<P> p{};
    p.ready = readyFlagsOf<P>(workspace, rank);
    for (std::size_t peer = 0; peer < P; ++peer) {
      p.chunk[peer] = reinterpret_cast<std::uint32_t *>(
          workspace.symmetric[peer] + workspace.layout.chunkFlags);
      p.to[peer] = made.symmetric[0].part<void>(peer);
    }
    p.uses = reinterpret_cast<std::uint32_t *>(workspace.own +
                                               workspace.layout.uses);
    if (rank == 0)
      p.from = made.group.upload(rank, zeros(bytes), "from");
    p.bytes = bytes;
    p.chunkBytes = kChunkBytes;
    params.push_back(p);
  }
  made.launches.push_back(made.group.prepare(kernel.symbol, shape, params));
}

template <int P>
void addGather(GroupLaunches &made, const FusedKernel &kernel,
               const GroupShape &shape, std::int64_t tokens,
               std::int64_t rowBytes) {
  std::vector<GatherParams<P>> params;
  for (int rank = 0; rank < P; ++rank) {
    GatherParams<P> p{};
    p.peers = peerFlagsOf<P>(made.group.workspaceOf(rank), rank);
    p.rows = made.group.upload(
        rank, zeros(row_block(tokens, P, rank).size * rowBytes), "rows");
    p.tokens = tokens;
    p.rowBytes = rowBytes;
    for (std::size_t peer = 0; peer < P; ++peer)
      p.out[peer] = made.symmetric[0].part<void>(peer);
    params.push_back(p);
  }
  made.launches.push_back(made.group.prepare(kernel.symbol, shape, params));
}

} // namespace

Prepared prepareBroadcast(const CardSet &cards, int ranks, std::int64_t bytes) {
  const FusedKernel &kernel = find(Family::Broadcast, ranks);
  auto made = std::make_unique<GroupLaunches>(cards, ranks);
  const std::int64_t chunks = (bytes + kChunkBytes - 1) / kChunkBytes;
  GroupShape shape;
  shape.blocks = blocksFor(cards, kernel, chunks);
  shape.threads = kCopyThreads;
  shape.waits = true;
  WorkspaceNeed need;
  need.ranks = ranks;
  need.maxBlocks = shape.blocks;
  need.maxChunks = chunks;
  made->group.makeWorkspace(need, DType::BF16);
  made->symmetric.push_back(made->group.symmetric(bytes, "to"));
  forRanks(ranks, [&](auto of) {
    addBroadcast<decltype(of)::value>(*made, kernel, shape, bytes);
  });
  return made;
}

Prepared prepareCopies(const CardSet &cards, int ranks, std::int64_t bytes) {
  auto made = std::make_unique<GroupLaunches>(cards, ranks);
  made->symmetric.push_back(made->group.symmetric(bytes, "to"));
  for (std::size_t peer = 1; peer < static_cast<std::size_t>(ranks); ++peer)
    made->copies.push_back(
        {made->symmetric[0].part(peer), made->symmetric[0].part(0), bytes});
  return made;
}

Prepared prepareGather(const CardSet &cards, int ranks, std::int64_t tokens,
                       std::int64_t rowBytes) {
  const FusedKernel &kernel =
      find(Family::GatherRows, ranks, rowBytes % 16 != 0);
  auto made = std::make_unique<GroupLaunches>(cards, ranks);
  Problem problem;
  problem.tokens = tokens;
  problem.width = rowBytes;
  const LaunchShape launch =
      shapeOf(kernel.variant, problem, blocksFor(cards, kernel, kMostBlocks));
  WorkspaceNeed need;
  addNeed(need, kernel.variant, problem, launch);
  made->group.makeWorkspace(need, DType::BF16);
  made->symmetric.push_back(made->group.symmetric(tokens * rowBytes, "out"));
  GroupShape shape;
  shape.blocks = launch.grid;
  shape.threads = launch.block;
  shape.waits = launch.cooperative;
  forRanks(ranks, [&](auto of) {
    addGather<decltype(of)::value>(*made, kernel, shape, tokens, rowBytes);
  });
  return made;
}

Prepared preparePack(const CardSet &cards, std::int64_t tokens) {
  constexpr std::int64_t kRowBytes = 256, kHeads = 8, kPageTokens = 16;
  constexpr int kPlanes = 2;
  const FusedKernel &kernel = find(Family::PackPages, 1);
  auto made = std::make_unique<GroupLaunches>(cards, 1);
  CardGroup &group = made->group;
  WorkspaceNeed need;
  need.maxBlocks = 1;
  group.makeWorkspace(need, DType::BF16);
  const std::int64_t pages = (tokens + kPageTokens - 1) / kPageTokens;
  std::vector<std::int32_t> table;
  for (std::int64_t page = pages; page > 0; --page)
    table.push_back(static_cast<std::int32_t>(page - 1));
  std::vector<void *> pools;
  for (int plane = 0; plane < kPlanes; ++plane)
    pools.push_back(reinterpret_cast<void *>(
        group.room(0, pages * kPageTokens * kHeads * kRowBytes, "pages")));
  PagedRowsParams p{};
  p.pools = group.upload(0, pools, "pools");
  p.pages = group.upload(0, table, "page table");
  p.pageTokens = kPageTokens;
  p.tokenStride = kHeads * kRowBytes;
  p.pageStride = kPageTokens * p.tokenStride;
  p.rowBytes = kRowBytes;
  p.tokens = tokens;
  p.planes = kPlanes;
  p.packed = reinterpret_cast<void *>(
      group.room(0, kPlanes * tokens * kRowBytes, "packed"));
  p.chunkTokens = 64;
  p.watch = runtime::watchOf(group.workspaceOf(0));
  GroupShape shape;
  shape.blocks = blocksFor(cards, kernel, (tokens + 63) / 64);
  shape.threads = kCopyThreads;
  shape.planes = kPlanes;
  made->launches.push_back(
      group.prepare(kernel.symbol, shape, std::vector<PagedRowsParams>{p}));
  return made;
}

Prepared prepareExperts(const CardSet &cards, std::int64_t tokens,
                        std::int64_t width) {
  auto made = std::make_unique<GroupLaunches>(cards, 1);
  CardGroup &group = made->group;
  const ExpertCase all = {tokens, 8, 256, 0, 256, static_cast<int>(width),
                          false};
  const ExpertInputs<device::bf16> inputs =
      makeExpertInputs<device::bf16>(all, 1);
  const std::int64_t choices = tokens * all.chosen;
  ExpertParams p{};
  p.ids = group.upload(0, inputs.ids, "ids");
  p.tokens = tokens;
  p.chosen = all.chosen;
  p.experts = all.localExperts;
  p.places =
      reinterpret_cast<std::int64_t *>(group.room(0, choices * 8, "places"));
  p.offsets = reinterpret_cast<std::int64_t *>(
      group.room(0, (all.localExperts + 1) * 8, "offsets"));
  p.rows = group.upload(0, inputs.rows, "rows");
  p.sorted =
      reinterpret_cast<void *>(group.room(0, choices * width * 2, "sorted"));
  p.width = all.width;
  p.results = p.sorted;
  p.weights = group.upload(0, inputs.weights, "weights");
  p.scale = 1;
  p.merged =
      reinterpret_cast<void *>(group.room(0, tokens * width * 2, "merged"));
  const FusedKernel &permute = find(Family::PermuteRows, 1);
  GroupShape shape;
  shape.threads = kCopyThreads;
  auto add = [&](const FusedKernel &kernel, std::int64_t blocks) {
    shape.blocks = static_cast<unsigned>(blocks);
    made->launches.push_back(
        group.prepare(kernel.symbol, shape, std::vector<ExpertParams>{p}));
  };
  add(find(Family::SortByExpert, 1), all.localExperts);
  add(permute, blocksFor(cards, permute, choices));
  add(find(Family::MergeExperts, 1), blocksFor(cards, permute, tokens));
  return made;
}

Prepared prepareRope(const CardSet &cards, std::int64_t tokens,
                     std::int64_t width, bool isFused) {
  constexpr int kHeadWidth = 64;
  auto made = std::make_unique<GroupLaunches>(cards, 1);
  CardGroup &group = made->group;
  const FusedKernel &kernel = find(Family::Rope, 1);
  const RopeCase rope = {kernel.variant, tokens,
                         static_cast<int>(width / kHeadWidth), kHeadWidth,
                         kHeadWidth};
  const RopeInputs<device::bf16> inputs = makeRopeInputs<device::bf16>(rope, 1);
  void *rows = group.upload(0, inputs.rows, "rows"),
       *out = reinterpret_cast<void *>(
           group.room(0, tokens * width * 2, "rotated"));
  const std::int64_t *positions =
      group.upload(0, inputs.positions, "positions");
  GroupShape shape;
  if (isFused) {
    RopeParams<1> p{};
    p.rows = rows;
    p.positions = positions;
    p.halfTurns = group.upload(0, inputs.halfTurns, "half turns");
    p.attentionFactor = 1;
    p.tokens = tokens;
    p.heads = rope.heads;
    p.headWidth = p.rotary = kHeadWidth;
    p.out[0] = out;
    shape.blocks = blocksFor(cards, kernel, tokens);
    shape.threads = kCopyThreads;
    made->launches.push_back(
        group.prepare(kernel.symbol, shape, std::vector<RopeParams<1>>{p}));
    return made;
  }
  local::RopeParams p;
  p.input = {rows, local::NumberType::BF16};
  p.output = {out, local::NumberType::BF16};
  p.positions = positions;
  p.halfTurns = group.upload(0, inputs.halfTurns, "half turns");
  p.rows = tokens;
  p.heads = rope.heads;
  p.width = p.rotary = kHeadWidth;
  p.attentionFactor = 1;
  shape.blocks = static_cast<unsigned>(std::min<std::int64_t>(
      tokens * rope.heads, std::int64_t(cards[0].multiprocessors()) * 16));
  shape.threads = local::kThreads;
  made->launches.push_back(
      group.prepare("layline_rope", shape, std::vector<local::RopeParams>{p}));
  return made;
}

} // namespace layline::test
