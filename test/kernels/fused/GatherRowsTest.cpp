// all_gather of rows of bytes.
#include "harness/Cluster.h"
#include "harness/Copy.cuh"
#include "harness/Counted.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>

using namespace layline;
using namespace layline::kernels;
using namespace layline::kernels::test;

namespace {

/// Two launches into the same memory, a reader behind each.
template <int P>
void run(Output output, std::int64_t tokens, std::int64_t rowBytes, Mode mode,
         std::uint64_t seed) {
  Variant variant;
  variant.family = Family::GatherRows;
  variant.ranks = P;
  variant.output = output;
  variant.byElement = rowBytes % 16 != 0;
  Problem problem;
  problem.tokens = tokens;
  problem.width = rowBytes;
  INFO(variant.name() << ", " << tokens << " rows of " << rowBytes << ", "
                      << nameOf(mode) << ", seed " << seed);
  std::string error;
  const Kernel *kernel = findKernel(variant, error);
  INFO(error);
  REQUIRE(kernel);
  REQUIRE(checkProblem(variant, problem, error));
  LaunchShape shape = shapeOf(variant, problem, 2);
  WorkspaceNeed need;
  need.ranks = P;
  need.maxBlocks = shape.grid;
  Cluster cluster(P, optionsOf(mode, seed, shape.grid), need);
  auto &machine = cluster.machine;
  auto size = static_cast<std::size_t>(tokens * rowBytes),
       room = std::max<std::size_t>(size, 16);
  auto out = machine.template allocateSymmetric<unsigned char>(room, "out");
  void *multicast = nullptr;
  if (output == Output::EveryoneMulticast)
    multicast =
        machine.makeMulticast({out.begin(), out.end()}, room, "out, multicast");
  constexpr int kLaunches = 2;
  std::vector<std::vector<unsigned char>> want;
  std::vector<const unsigned char *> seen;
  for (int launch = 0; launch < kLaunches; ++launch) {
    std::vector<unsigned char> all(size);
    std::iota(all.begin(), all.end(), static_cast<unsigned char>(launch * 89));
    for (int rank = 0; rank < P; ++rank) {
      RowBlock own = row_block(tokens, P, rank);
      auto begin = all.begin() + own.begin * rowBytes;
      GatherParams<P> p{};
      p.peers = cluster.template peerFlags<P>(rank);
      p.rows = cluster.upload(
          rank, std::vector<unsigned char>(begin, begin + own.size * rowBytes),
          "rows");
      p.tokens = tokens;
      p.rowBytes = rowBytes;
      for (int peer = 0; peer < P; ++peer)
        p.out[peer] = out[static_cast<std::size_t>(peer)];
      p.multicastOut = multicast;
      auto function =
          reinterpret_cast<void (*)(const GatherParams<P>)>(kernel->function);
      simt::Launch main{"main", {shape.grid}, {shape.block}};
      main.cooperative = shape.cooperative;
      main.programmatic = true;
      machine.launch(rank, main, [=] { function(p); });
      auto *to = machine.template allocate<unsigned char>(rank, room, "seen");
      const unsigned char *from = out[static_cast<std::size_t>(rank)];
      auto bytes = static_cast<std::int64_t>(size);
      machine.launch(rank, {"reader", {2}, {32}},
                     [=] { copy_words<std::uint32_t>(from, to, bytes); });
      seen.push_back(to);
      want.push_back(all);
    }
  }
  simt::Report report = machine.run();
  INFO(report.text);
  REQUIRE(report.ok());
  REQUIRE(report.races == 0);
  for (std::size_t i = 0; i < want.size(); ++i)
    REQUIRE(std::equal(want[i].begin(), want[i].end(), seen[i]));
  for (int rank = 0; rank < P; ++rank) {
    Traffic stated = trafficOf(variant, problem, shape, rank);
    stated += stated;
    REQUIRE(miscounted(machine.counters(rank, "main"), stated, kLaunches) ==
            "");
  }
}

template <int P> void runSizes() {
  for (std::int64_t tokens : {0, 1, P - 1, P, P + 1, 33, 64}) {
    // Of int64: one id a row, six and 64; of 8 bits: 64 and 7168 features.
    for (std::int64_t rowBytes : {8, 48, 512, 64, 7168})
      run<P>(Output::Everyone, tokens, rowBytes, Mode::Plain, 1);
    run<P>(Output::EveryoneMulticast, tokens, 64, Mode::Plain, 1);
  }
}

} // namespace

TEST_CASE("all_gather of rows of bytes") {
  runSizes<2>();
  runSizes<3>();
  runSizes<4>();
  runSizes<8>();
}

TEST_CASE("all_gather of rows of bytes in every mode") {
  for (Mode mode : kModes)
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      run<3>(Output::Everyone, 5, 64, mode, seed);
      run<3>(Output::Everyone, 5, 8, mode, seed);
      run<2>(Output::EveryoneMulticast, 3, 64, mode, seed);
    }
}

TEST_CASE("rows of bytes that are no whole words are refused") {
  Variant variant;
  variant.family = Family::GatherRows;
  variant.ranks = 2;
  variant.output = Output::Everyone;
  std::string error;
  REQUIRE_FALSE(checkProblem(variant, {3, 24}, error));
  REQUIRE(error == "gather_rows x2 own->everyone: width 24, expected a "
                   "multiple of 16 bytes");
  variant.byElement = true;
  REQUIRE(checkProblem(variant, {3, 24}, error));
  REQUIRE_FALSE(checkProblem(variant, {3, 6}, error));
  REQUIRE(error == "gather_rows x2 own->everyone by_word: width 6, expected a "
                   "multiple of 4 bytes");
}
