// broadcast, and rows of a KV cache packed, sent and scattered.
#include "harness/Bytes.h"
#include "harness/Counted.h"

#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::kernels;
using namespace layline::kernels::test;

namespace {

// Fewer under sanitizers, where a run takes forty times as long.
#if defined(LAYLINE_TEST_SEEDS)
constexpr std::uint64_t kSeeds = LAYLINE_TEST_SEEDS;
#else
constexpr std::uint64_t kSeeds = 20;
#endif

template <int P>
void check(const std::vector<Sending> &launches, Mode mode,
           std::uint64_t seed) {
  INFO(P << " ranks, " << nameOf(mode) << ", seed " << seed);
  auto run = runBroadcasts<P, Sound>(launches, optionsOf(mode, seed, 4));
  INFO(run.report.text);
  REQUIRE(run.report.ok());
  REQUIRE(run.report.races == 0);
  REQUIRE(run.difference == "");
  Variant variant;
  variant.family = Family::Broadcast;
  variant.ranks = P;
  for (int rank = 0; rank < P; ++rank) {
    Traffic stated;
    for (const Sending &launch : launches)
      stated += trafficOf(
          variant, BroadcastBytes{launch.bytes, launch.chunkBytes, launch.root},
          {launch.grid, 64, true}, rank);
    REQUIRE(miscounted(run.counters[static_cast<std::size_t>(rank)], stated,
                       static_cast<int>(launches.size())) == "");
  }
}

void check(const Pages &pages, Mode mode, std::uint64_t seed) {
  INFO(pages.tokens << " tokens from " << pages.firstToken << ", "
                    << nameOf(mode) << ", seed " << seed);
  auto run = runPages<Sound>(pages, optionsOf(mode, seed, 4));
  INFO(run.report.text);
  REQUIRE(run.report.ok());
  REQUIRE(run.report.races == 0);
  REQUIRE(run.difference == "");
  // Rank 0 packs into rank 1's buffer, and sets its flags.
  for (bool packs : {true, false}) {
    Variant variant;
    variant.family = packs ? Family::PackPages : Family::ScatterPages;
    PagedBytes moved{2,    pages.tokens, pages.headBytes, pages.chunkTokens,
                     true, packs};
    moved.unitBytes = pages.headBytes % 16 == 0 ? 16 : 4;
    REQUIRE(miscounted(run.counters[packs ? 0 : 1],
                       trafficOf(variant, moved, {pages.grid, 32, false}),
                       1) == "");
  }
}

} // namespace

TEST_CASE("broadcasts whose root and size and grid change") {
  check<2>(changingBroadcasts(2, 640, 64), Mode::Plain, 1);
  check<8>(changingBroadcasts(8, 640, 64), Mode::Plain, 1);
  check<4>({{3, 4096, 4096, 1}, {2, 16, 16, 2}}, Mode::Plain, 2);
  for (Mode mode : kModes)
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
      check<3>(changingBroadcasts(3, 640, 64), mode, seed);
}

TEST_CASE("rows of pages packed and scattered") {
  for (std::int64_t tokens : {0, 1, 3, 4, 9, 33}) {
    check({tokens}, Mode::Plain, 1);
    Pages middle{tokens};
    middle.firstToken = 5;
    middle.pageTokens = 1;
    check(middle, Mode::Plain, 2);
    // Rows that are no vectors: positions, of 64 bits.
    for (int bytes : {4, 8, 24}) {
      middle.headBytes = bytes;
      check(middle, Mode::Plain, 3);
    }
  }
  for (Mode mode : kModes)
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
      check(Pages{11, 2}, mode, seed);
}
