// Runs of broadcast and of pack_pages with scatter_pages on emulated ranks. The
// kernels are template arguments, so that broken ones run like sound ones.
#ifndef LAYLINE_TEST_KERNELS_HARNESS_BYTES_H
#define LAYLINE_TEST_KERNELS_HARNESS_BYTES_H

#include "harness/Cluster.h"
#include "harness/Copy.cuh"
#include "harness/MovedBytes.h"
#include "kernels/Broadcast.cuh"
#include "kernels/PagedRows.cuh"

#include <algorithm>
#include <memory>
#include <new>
#include <sys/mman.h>

namespace layline::kernels::test {

struct BytesRun {
  simt::Report report;
  std::string difference;               ///< of what was read from what was sent
  std::vector<simt::Counters> counters; ///< [rank], of all launches
};

/// Every launch into the same buffers; a kernel behind it on each rank's stream
/// reads them.
template <int P, typename Protocol>
BytesRun runBroadcasts(const std::vector<Sending> &launches,
                       const simt::Options &options) {
  std::int64_t most = 0, chunks = 1;
  for (const Sending &launch : launches) {
    most = std::max(most, launch.bytes);
    chunks = std::max(chunks, launch.bytes / launch.chunkBytes + 1);
  }
  WorkspaceNeed need;
  need.ranks = P;
  need.maxBlocks = 8;
  need.maxChunks = chunks;
  Cluster cluster(P, options, need);
  auto &machine = cluster.machine;
  auto size = static_cast<std::size_t>(std::max<std::int64_t>(most, 16));
  auto to = machine.template allocateSymmetric<unsigned char>(size, "to");
  std::vector<std::vector<std::uint32_t *>> read;
  for (std::size_t n = 0; n < launches.size(); ++n) {
    const Sending &launch = launches[n];
    read.emplace_back();
    auto words = makeWords(launch.bytes, static_cast<std::uint32_t>(n) + 1);
    for (int rank = 0; rank < P; ++rank) {
      BroadcastParams<P> p{};
      p.ready = cluster.template readyFlags<P>(rank);
      for (int peer = 0; peer < P; ++peer) {
        p.chunk[peer] = cluster.template shared<std::uint32_t>(
            peer, cluster.workspace.chunkFlags);
        p.to[peer] = to[static_cast<std::size_t>(peer)];
      }
      p.uses =
          cluster.template own<std::uint32_t>(rank, cluster.workspace.uses);
      p.from = cluster.upload(rank, words, "from");
      p.bytes = launch.bytes;
      p.chunkBytes = launch.chunkBytes;
      p.root = launch.root;
      simt::Launch main{"main", {launch.grid}, {64}};
      main.cooperative = main.programmatic = true;
      machine.launch(rank, main, [=] { broadcast<P, 256, Protocol>(p); });
      auto *seen =
          machine.template allocate<std::uint32_t>(rank, size / 4, "seen");
      read.back().push_back(seen);
      const void *from = p.to[rank];
      std::int64_t bytes = launch.bytes;
      simt::Launch reader{"reader", {2}, {32}};
      reader.programmatic = true;
      machine.launch(rank, reader, [=] {
        griddep_wait();
        copy_vectors(from, seen, bytes);
      });
    }
  }
  BytesRun run;
  run.report = machine.run();
  for (int rank = 0; rank < P; ++rank)
    run.counters.push_back(machine.counters(rank, "main"));
  for (std::size_t n = 0; n < launches.size(); ++n) {
    auto words =
        makeWords(launches[n].bytes, static_cast<std::uint32_t>(n) + 1);
    for (int rank = 0; rank < P; ++rank)
      if (!std::equal(words.begin(), words.end(),
                      read[n][static_cast<std::size_t>(rank)]))
        run.difference =
            "launch " + std::to_string(n) + " on rank " + std::to_string(rank);
  }
  return run;
}

/// Memory of which only what is touched takes room.
class SparseMemory {
public:
  explicit SparseMemory(std::size_t bytes)
      : size(bytes),
        begin(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (begin == MAP_FAILED)
      throw std::bad_alloc();
  }
  ~SparseMemory() { munmap(begin, size); }
  SparseMemory(const SparseMemory &) = delete;
  SparseMemory &operator=(const SparseMemory &) = delete;
  unsigned char *data() const { return static_cast<unsigned char *>(begin); }

private:
  std::size_t size;
  void *begin;
};

/// Rank 0 packs into rank 1's buffer, which scatters into its own pages as the
/// chunks come.
template <typename Protocol>
BytesRun runPages(const Pages &pages, const simt::Options &options) {
  constexpr int kPlanes = Pages::kPlanes;
  std::vector<std::unique_ptr<SparseMemory>> poolMemory; // outlives the machine
  simt::Machine machine(2, options);
  const std::int64_t end = pages.end(), chunks = pages.chunks();
  const std::size_t poolBytes = pages.poolBytes();
  const std::vector<std::int32_t> table = pages.table();
  auto packed = machine.allocateSymmetric<unsigned char>(
      static_cast<std::size_t>(
          std::max<std::int64_t>(kPlanes * pages.tokens * pages.headBytes, 16)),
      "packed");
  auto flags = machine.allocateSymmetric<std::uint32_t>(
      static_cast<std::size_t>(kPlanes * chunks + 1), "chunk flags");
  for (std::uint32_t *of : flags)
    std::fill_n(of, kPlanes * chunks + 1, 0U);
  auto errors = machine.allocateSymmetric<SpinError>(1, "error");
  std::vector<std::vector<unsigned char *>> pools(2);
  std::vector<void **> poolTables;
  std::vector<std::int32_t *> tables;
  for (int rank = 0; rank < 2; ++rank) {
    *errors[static_cast<std::size_t>(rank)] = SpinError{};
    auto *list = machine.allocate<void *>(rank, kPlanes, "pools");
    for (int plane = 0; plane < kPlanes; ++plane) {
      poolMemory.push_back(std::make_unique<SparseMemory>(poolBytes));
      unsigned char *pool = poolMemory.back()->data();
      machine.registerMemory(rank, pool, poolBytes, "pool", false);
      pools[static_cast<std::size_t>(rank)].push_back(pool);
      list[plane] = pool + pages.headBytes;
    }
    poolTables.push_back(list);
    auto *onDevice =
        machine.allocate<std::int32_t>(rank, table.size(), "page table");
    std::copy(table.begin(), table.end(), onDevice);
    tables.push_back(onDevice);
  }
  auto rowOf = [&](int rank, int plane, std::int64_t token) {
    return pools[static_cast<std::size_t>(rank)]
                [static_cast<std::size_t>(plane)] +
           pages.offsetOf(token);
  };
  for (int plane = 0; plane < kPlanes; ++plane)
    for (std::int64_t token = pages.firstToken; token < end; ++token) {
      auto bytes = pages.wordsOf(plane, token);
      std::memcpy(rowOf(0, plane, token), bytes.data(),
                  static_cast<std::size_t>(pages.headBytes));
    }
  for (int rank = 0; rank < 2; ++rank) {
    PagedRowsParams p{};
    auto at = static_cast<std::size_t>(rank);
    p.pools = poolTables[at];
    p.pages = tables[at];
    p.pageTokens = pages.pageTokens;
    p.pageStride = pages.pageStride();
    p.tokenStride = pages.tokenStride();
    p.rowBytes = pages.headBytes;
    p.firstToken = pages.firstToken;
    p.tokens = pages.tokens;
    p.planes = kPlanes;
    p.packed = packed[1];
    p.chunkTokens = pages.chunkTokens;
    p.chunkFlags = flags[1];
    p.epoch = 1;
    p.watch = {errors[at], 0};
    simt::Launch launch{"main", {pages.grid, kPlanes}, {32}};
    if (rank == 0)
      machine.launch(0, launch,
                     [=] { paged_rows<PagedCopy::Pack, 256, Protocol>(p); });
    else
      machine.launch(1, launch,
                     [=] { paged_rows<PagedCopy::Scatter, 256, Protocol>(p); });
  }
  BytesRun run;
  run.report = machine.run();
  for (int rank = 0; rank < 2; ++rank)
    run.counters.push_back(machine.counters(rank, "main"));
  for (int plane = 0; plane < kPlanes; ++plane)
    for (std::int64_t token = pages.firstToken; token < end; ++token) {
      auto bytes = pages.wordsOf(plane, token);
      if (std::memcmp(rowOf(1, plane, token), bytes.data(),
                      static_cast<std::size_t>(pages.headBytes)) != 0)
        run.difference = "plane " + std::to_string(plane) + ", token " +
                         std::to_string(token);
    }
  return run;
}

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_HARNESS_BYTES_H
