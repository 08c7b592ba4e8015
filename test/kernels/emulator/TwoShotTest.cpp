// A whole collective in every mode of the emulator, right and with one fault
// each.
#include "TwoShotBench.h"

#include <catch2/catch.hpp>

using namespace layline::test;
namespace simt = layline::simt;

TEST_CASE("a correct collective passes on any schedule") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    simt::Options options;
    options.seed = seed;
    options.yieldPercent = seed % 2 == 0 ? 0 : 5;
    TwoShotResult result = runTwoShot<3, Fault::None>(options);
    INFO("seed " << seed << ": " << result.report.text);
    CHECK(result.report.ok());
    CHECK(result.wrongNumbers == 0);
  }
}
