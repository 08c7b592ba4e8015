// Cells of kernels that move bytes: broadcast, gather_rows, and rows of a KV
// cache packed, sent and scattered.
#include "Matrix.h"
#include "harness/MovedBytes.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace layline::test {

using namespace layline::kernels;
using namespace layline::kernels::test;
using runtime::peerFlagsOf;
using runtime::readyFlagsOf;
using runtime::watchOf;
using runtime::WorkspaceAddresses;
using namespace layline::runtime::cuda;

namespace {

/// The first of `got` that is another than it must be, or nothing.
template <typename E>
std::string firstDifference(const std::string &where, const std::vector<E> &got,
                            const std::vector<E> &want) {
  for (std::size_t i = 0; i < want.size(); ++i)
    if (got[i] != want[i])
      return where + ", element " + std::to_string(i) + ": found " +
             std::to_string(got[i]) + ", expected " + std::to_string(want[i]);
  return {};
}

std::string placeOf(std::size_t launch, int rank) {
  return "launch " + std::to_string(launch) + " on rank " +
         std::to_string(rank);
}

// ---- Broadcast
// -----------------------------------------------------------------

template <int P>
CellResult runBroadcast(const CardSet &cards, const MatrixScope &scope,
                        const char *symbol, std::int64_t bytes,
                        std::int64_t chunkBytes) {
  const std::vector<Sending> launches =
      changingBroadcasts(P, bytes, chunkBytes);
  CardGroup group(cards, P, scope.waitNanoseconds);
  WorkspaceNeed need;
  need.ranks = P;
  need.maxBlocks = 8;
  need.maxChunks = bytes / chunkBytes + 1;
  group.makeWorkspace(need, DType::BF16);
  const SymmetricMemory to = group.symmetric(bytes, "to");
  std::vector<CardGroup::Launch> prepared;
  std::vector<std::vector<Address>> seen;
  for (std::size_t n = 0; n < launches.size(); ++n) {
    const Sending &launch = launches[n];
    const std::vector<std::uint32_t> words =
        makeWords(launch.bytes, static_cast<std::uint32_t>(n) + 1);
    std::vector<BroadcastParams<P>> params;
    seen.emplace_back();
    for (int rank = 0; rank < P; ++rank) {
      const WorkspaceAddresses workspace = group.workspaceOf(rank);
      BroadcastParams<P> p{};
      p.ready = readyFlagsOf<P>(workspace, rank);
      for (std::size_t peer = 0; peer < P; ++peer) {
        p.chunk[peer] = reinterpret_cast<std::uint32_t *>(
            workspace.symmetric[peer] + workspace.layout.chunkFlags);
        p.to[peer] = to.part<void>(peer);
      }
      p.uses = reinterpret_cast<std::uint32_t *>(workspace.own +
                                                 workspace.layout.uses);
      if (static_cast<std::uint32_t>(rank) == launch.root)
        p.from = group.upload(rank, words, "from");
      p.bytes = launch.bytes;
      p.chunkBytes = launch.chunkBytes;
      p.root = launch.root;
      params.push_back(p);
      seen.back().push_back(group.room(rank, launch.bytes, "seen"));
    }
    GroupShape shape;
    shape.blocks = launch.grid;
    shape.threads = scope.isEmulated ? 64 : kCopyThreads;
    shape.waits = true;
    prepared.push_back(group.prepare(symbol, shape, params));
  }
  for (std::size_t n = 0; n < launches.size(); ++n) {
    prepared[n].enqueue();
    for (int rank = 0; rank < P; ++rank)
      group.enqueueCopy(rank, seen[n][static_cast<std::size_t>(rank)],
                        to.part(static_cast<std::size_t>(rank)),
                        launches[n].bytes);
  }
  group.synchronize(symbol);
  std::string text = group.late();
  for (std::size_t n = 0; n < launches.size() && text.empty(); ++n)
    for (int rank = 0; rank < P && text.empty(); ++rank)
      text = firstDifference(
          placeOf(n, rank),
          group.download<std::uint32_t>(rank,
                                        seen[n][static_cast<std::size_t>(rank)],
                                        launches[n].bytes / 4),
          makeWords(launches[n].bytes, static_cast<std::uint32_t>(n) + 1));
  return CellResult::failedIf(text);
}

// ---- gather_rows
// ---------------------------------------------------------------

template <int P>
CellResult runGather(const CardSet &cards, const MatrixScope &scope,
                     const FusedKernel &kernel, std::int64_t tokens,
                     std::int64_t rowBytes) {
  constexpr std::size_t kLaunches = 3;
  Problem problem;
  problem.tokens = tokens;
  problem.width = rowBytes;
  const auto resident = static_cast<std::uint32_t>(std::min<std::int64_t>(
      scope.isEmulated ? 2 : 64,
      cards.blocksOfRank(kernel.symbol, kCopyThreads, P)));
  const LaunchShape launchShape = shapeOf(kernel.variant, problem, resident);
  CardGroup group(cards, P, scope.waitNanoseconds);
  WorkspaceNeed need;
  addNeed(need, kernel.variant, problem, launchShape);
  group.makeWorkspace(need, DType::BF16);
  const std::int64_t bytes = tokens * rowBytes;
  const SymmetricMemory out = group.symmetric(bytes, "out");
  auto rowsOf = [&](std::size_t launch) {
    std::vector<unsigned char> all(static_cast<std::size_t>(bytes));
    std::iota(all.begin(), all.end(), static_cast<unsigned char>(launch * 89));
    return all;
  };
  std::vector<CardGroup::Launch> prepared;
  std::vector<std::vector<Address>> seen(kLaunches);
  for (std::size_t launch = 0; launch < kLaunches; ++launch) {
    const std::vector<unsigned char> all = rowsOf(launch);
    std::vector<GatherParams<P>> params;
    for (int rank = 0; rank < P; ++rank) {
      const RowBlock own = row_block(tokens, P, rank);
      const auto begin = all.begin() + own.begin * rowBytes;
      GatherParams<P> p{};
      p.peers = peerFlagsOf<P>(group.workspaceOf(rank), rank);
      p.rows = group.upload(
          rank, std::vector<unsigned char>(begin, begin + own.size * rowBytes),
          "rows");
      p.tokens = tokens;
      p.rowBytes = rowBytes;
      for (std::size_t peer = 0; peer < P; ++peer)
        p.out[peer] = out.part<void>(peer);
      params.push_back(p);
      seen[launch].push_back(group.room(rank, bytes, "seen"));
    }
    GroupShape shape;
    shape.blocks = launchShape.grid;
    shape.threads = launchShape.block;
    shape.waits = launchShape.cooperative;
    prepared.push_back(group.prepare(kernel.symbol, shape, params));
  }
  for (std::size_t launch = 0; launch < kLaunches; ++launch) {
    prepared[launch].enqueue();
    for (std::size_t rank = 0; rank < P; ++rank)
      group.enqueueCopy(static_cast<int>(rank), seen[launch][rank],
                        out.part(rank), bytes);
  }
  group.synchronize(kernel.symbol);
  std::string text = group.late();
  for (std::size_t launch = 0; launch < kLaunches && text.empty(); ++launch)
    for (int rank = 0; rank < P && text.empty(); ++rank)
      text = firstDifference(
          placeOf(launch, rank),
          group.download<unsigned char>(
              rank, seen[launch][static_cast<std::size_t>(rank)], bytes),
          rowsOf(launch));
  return CellResult::failedIf(text);
}

// ---- Pages
// ---------------------------------------------------------------------

/// Two ranks send one another rows of their caches: both pack into the other's
/// buffer in one launch, and scatter what has come in the next. On two cards
/// that waits for the flags of the chunks.
CellResult runPages(const CardSet &cards, const MatrixScope &scope,
                    const char *pack, const char *scatter, const Pages &pages) {
  constexpr std::size_t kLaunches = 3;
  constexpr int kRanks = 2, kPlanes = Pages::kPlanes;
  CardGroup group(cards, kRanks, scope.waitNanoseconds);
  WorkspaceNeed need; // of it the records of late waits are used
  need.ranks = kRanks;
  need.maxBlocks = 1;
  group.makeWorkspace(need, DType::BF16);
  const std::int64_t packedBytes = kPlanes * pages.tokens * pages.headBytes,
                     poolBytes = static_cast<std::int64_t>(pages.poolBytes());
  SymmetricMemory flags =
      group.symmetric(kPlanes * pages.chunks() * 4, "chunk flags");
  for (int rank = 0; rank < kRanks; ++rank) {
    std::vector<std::uint32_t> none(flags.bytes() / 4, 0);
    copyIn(group.card(rank), flags.part(static_cast<std::size_t>(rank)),
           none.data(), flags.bytes(), "chunk flags");
  }
  // What is in no row stays as it is.
  auto poolOf = [&](std::size_t launch, int owner, int plane) {
    std::vector<unsigned char> bytes(pages.poolBytes(), 0xff);
    for (std::int64_t t = pages.firstToken; t < pages.end(); ++t) {
      auto words = pages.wordsOf(plane, t,
                                 static_cast<std::uint32_t>(launch) * kRanks +
                                     static_cast<std::uint32_t>(owner));
      std::memcpy(bytes.data() + pages.offsetOf(t), words.data(),
                  static_cast<std::size_t>(pages.headBytes));
    }
    return bytes;
  };
  struct Exchange {
    CardGroup::Launch pack, scatter;
    SymmetricMemory packed;
    std::vector<Address> pools, seen; ///< [rank][plane]
  };
  std::vector<Exchange> exchanges;
  for (std::size_t n = 0; n < kLaunches; ++n) {
    Exchange exchange;
    // Each has a buffer of its own, since nobody says that it may be filled
    // again.
    exchange.packed = group.symmetric(packedBytes, "packed");
    std::vector<PagedRowsParams> packs, scatters;
    for (int rank = 0; rank < kRanks; ++rank) {
      std::vector<void *> from, to;
      for (int plane = 0; plane < kPlanes; ++plane) {
        from.push_back(group.upload(rank, poolOf(n, rank, plane), "pages") +
                       pages.headBytes);
        exchange.pools.push_back(group.room(rank, poolBytes, "pages"));
        exchange.seen.push_back(group.room(rank, poolBytes, "seen"));
        to.push_back(reinterpret_cast<unsigned char *>(exchange.pools.back()) +
                     pages.headBytes);
      }
      const auto peer = static_cast<std::size_t>(1 - rank),
                 own = static_cast<std::size_t>(rank);
      PagedRowsParams p{};
      p.pages = group.upload(rank, pages.table(), "page table");
      p.pageTokens = pages.pageTokens;
      p.pageStride = pages.pageStride();
      p.tokenStride = pages.tokenStride();
      p.rowBytes = pages.headBytes;
      p.firstToken = pages.firstToken;
      p.tokens = pages.tokens;
      p.planes = kPlanes;
      p.chunkTokens = pages.chunkTokens;
      p.epoch = static_cast<std::uint32_t>(n) + 1;
      p.watch = watchOf(group.workspaceOf(rank));
      p.pools = group.upload(rank, from, "pools");
      p.packed = exchange.packed.part<void>(peer);
      if (pages.waitsForChunks)
        p.chunkFlags = flags.part<std::uint32_t>(peer);
      packs.push_back(p);
      p.pools = group.upload(rank, to, "pools");
      p.packed = exchange.packed.part<void>(own);
      if (pages.waitsForChunks)
        p.chunkFlags = flags.part<std::uint32_t>(own);
      scatters.push_back(p);
    }
    GroupShape shape;
    shape.blocks = pages.grid;
    shape.threads = scope.isEmulated ? 32 : kCopyThreads;
    shape.planes = kPlanes;
    exchange.pack = group.prepare(pack, shape, packs);
    exchange.scatter = group.prepare(scatter, shape, scatters);
    exchanges.push_back(std::move(exchange));
  }
  for (const Exchange &exchange : exchanges) {
    exchange.pack.enqueue();
    exchange.scatter.enqueue();
    for (int rank = 0; rank < kRanks; ++rank)
      for (int plane = 0; plane < kPlanes; ++plane) {
        auto at = static_cast<std::size_t>(rank * kPlanes + plane);
        group.enqueueCopy(rank, exchange.seen[at], exchange.pools[at],
                          poolBytes);
      }
  }
  group.synchronize(scatter);
  std::string text = group.late();
  for (std::size_t n = 0; n < kLaunches; ++n)
    for (int rank = 0; rank < kRanks; ++rank)
      for (int plane = 0; plane < kPlanes && text.empty(); ++plane)
        text = firstDifference(
            placeOf(n, rank) + ", plane " + std::to_string(plane) +
                ", pages by byte",
            group.download<unsigned char>(
                rank,
                exchanges[n]
                    .seen[static_cast<std::size_t>(rank * kPlanes + plane)],
                poolBytes),
            poolOf(n, 1 - rank, plane));
  return CellResult::failedIf(text);
}

} // namespace

std::vector<Cell> cellsOfBroadcast(const MatrixScope &scope) {
  std::vector<Cell> cells;
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {
      {16, 16}, {640, 64}, {65536 + 16, 4096}, {4 << 20, 65536}};
  if (scope.isEmulated)
    sizes = {{640, 64}};
  for (const FusedKernel &kernel : fusedKernels())
    if (kernel.variant.family == Family::Broadcast &&
        kernel.variant.ranks >= scope.cards)
      for (auto size : sizes) {
        const FusedKernel *of = &kernel;
        cells.push_back({kernel.symbol, kernel.variant.ranks, 1, size.first,
                         [=](const CardSet &cards) {
                           return forRanks(of->variant.ranks, [&](auto ranks) {
                             return runBroadcast<decltype(ranks)::value>(
                                 cards, scope, of->symbol, size.first,
                                 size.second);
                           });
                         }});
      }
  return cells;
}

std::vector<Cell> cellsOfGatherRows(const MatrixScope &scope) {
  std::vector<Cell> cells;
  for (const FusedKernel &kernel : fusedKernels()) {
    const Variant &variant = kernel.variant;
    if (variant.family != Family::GatherRows || variant.ranks < scope.cards)
      continue;
    // Of int64: one id a row, six and 64; of 8 bits: 64 and 7168 features.
    std::vector<std::int64_t> widths =
        variant.byElement ? std::vector<std::int64_t>{8, 52}
                          : std::vector<std::int64_t>{48, 512, 64, 7168};
    if (scope.isEmulated)
      widths.resize(1);
    for (std::int64_t width : widths)
      for (std::int64_t tokens : tokensOf(variant.ranks, scope)) {
        const FusedKernel *of = &kernel;
        cells.push_back({kernel.symbol, variant.ranks, tokens, width,
                         [=](const CardSet &cards) {
                           return forRanks(of->variant.ranks, [&](auto ranks) {
                             return runGather<decltype(ranks)::value>(
                                 cards, scope, *of, tokens, width);
                           });
                         }});
      }
  }
  return cells;
}

std::vector<Cell> cellsOfPages(const MatrixScope &scope) {
  const char *pack = nullptr, *scatter = nullptr;
  for (const FusedKernel &kernel : fusedKernels()) {
    if (kernel.variant.family == Family::PackPages)
      pack = kernel.symbol;
    if (kernel.variant.family == Family::ScatterPages)
      scatter = kernel.symbol;
  }
  std::vector<Cell> cells;
  if (scope.cards > 2)
    return cells;
  auto add = [&](const Pages &pages) {
    cells.push_back({std::string(pack) + ", " + scatter, 2, pages.tokens,
                     pages.headBytes, [=](const CardSet &cards) {
                       return runPages(cards, scope, pack, scatter, pages);
                     }});
  };
  std::vector<std::int64_t> tokens = {0, 1, 3, 4, 9, 33, 1000};
  if (scope.isEmulated || scope.isSmall)
    tokens = {9};
  for (std::int64_t count : tokens) {
    add({count});
    Pages middle{count};
    middle.firstToken = 5;
    middle.pageTokens = 1;
    add(middle);
    // On one card a launch behind another needs no flags.
    if (scope.cards == 1) {
      middle.waitsForChunks = false;
      add(middle);
    }
    if (scope.isEmulated)
      continue;
    // As caches have them: 16 tokens a page, 8 heads of 128 in bf16.
    Pages cache{count};
    cache.pageTokens = 16;
    cache.headBytes = 256;
    cache.heads = 8;
    cache.chunkTokens = 64;
    cache.grid = 8;
    add(cache);
  }
  return cells;
}

} // namespace layline::test
