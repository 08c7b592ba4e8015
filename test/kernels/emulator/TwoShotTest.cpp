// A whole collective in every mode of the emulator, right and with one fault
// each.
#include "TwoShotBench.h"

#include <catch2/catch.hpp>

using namespace layline::test;
namespace simt = layline::simt;

namespace {

struct Mode {
  const char *name;
  void (*set)(simt::Options &);
};

/// As many as there are ways to look for a fault.
const Mode modes[] = {
    {"plain", [](simt::Options &) {}},
    {"yield",
     [](simt::Options &o) {
       o.yieldPercent = 5;
       o.randomDispatch = true;
     }},
    {"weak",
     [](simt::Options &o) {
       o.storeBuffers = true;
       o.yieldPercent = 2;
     }},
    {"happens-before", [](simt::Options &o) { o.raceCheck = true; }},
    {"starve",
     [](simt::Options &o) {
       o.starvePerTenThousand = 50;
       o.yieldPercent = 2;
     }},
};

template <Fault fault>
int caughtOf(const Mode &mode, int seeds, const TwoShotShape &shape = {}) {
  int caught = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    simt::Options options;
    options.seed = static_cast<std::uint64_t>(seed);
    mode.set(options);
    TwoShotResult result = runTwoShot<3, fault>(options, shape);
    if (fault == Fault::None && result.isCaught())
      UNSCOPED_INFO(mode.name << " seed " << seed << ": "
                              << result.report.text << ", wrong numbers "
                              << result.wrongNumbers);
    caught += result.isCaught();
  }
  return caught;
}

[[maybe_unused]] constexpr int plain = 0, weak = 2, happensBefore = 3, starve = 4;
constexpr int seeds = 10;

} // namespace

TEST_CASE("a correct collective passes in every mode") {
  for (const Mode &mode : modes)
    CHECK(caughtOf<Fault::None>(mode, seeds) == 0);
}
TEST_CASE("report table", "[.]") {
  auto row=[&](const char*n,auto f){ printf("%-16s",n); for(auto&m:modes) printf(" %s %d", m.name, f(m)); printf("\n");};
#define R(F) row(#F,[&](const Mode&m){return caughtOf<Fault::F>(m,20);});
  R(None) R(NoEntryBarrier) R(NoExitBarrier) R(RelaxedStore) R(RelaxedLoad) R(NoSyncthreads) R(FenceOfGpu) R(FlagOfGpu) R(PlainFlag) R(WholeGrid) R(StaleEpoch)
}
