// What the tests of the emulator share: options of a mode, and how many seeds
// of it show a fault.
#ifndef LAYLINE_TEST_KERNELS_EMULATOR_HARNESS_H
#define LAYLINE_TEST_KERNELS_EMULATOR_HARNESS_H

#include "devices/simt/Machine.h"
#include "kernels/platform/Platform.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace layline::test {

enum class Mode { Plain, Yield, Weak, HappensBefore, Starve };
constexpr Mode allModes[] = {Mode::Plain, Mode::Yield, Mode::Weak,
                             Mode::HappensBefore, Mode::Starve};

inline simt::Options optionsOf(Mode mode, std::uint64_t seed) {
  simt::Options options;
  options.seed = seed;
  switch (mode) {
  case Mode::Plain:
    break;
  case Mode::Yield:
    options.yieldPercent = 10;
    options.randomDispatch = true;
    break;
  case Mode::Weak:
    options.storeBuffers = true;
    options.yieldPercent = 2;
    break;
  case Mode::HappensBefore:
    options.raceCheck = true;
    break;
  case Mode::Starve:
    options.starvePerTenThousand = 50;
    options.yieldPercent = 2;
    break;
  }
  return options;
}

inline const char *nameOf(Mode mode) {
  switch (mode) {
  case Mode::Plain:
    return "plain";
  case Mode::Yield:
    return "yield";
  case Mode::Weak:
    return "weak";
  case Mode::HappensBefore:
    return "happens-before";
  case Mode::Starve:
    return "starve";
  }
  return "";
}

/// Of seeds 1..`seeds`, those in which `isCaught(options)`.
template <typename IsCaught>
int caughtOf(Mode mode, int seeds, IsCaught isCaught) {
  int caught = 0;
  for (int seed = 1; seed <= seeds; ++seed)
    caught += isCaught(optionsOf(mode, static_cast<std::uint64_t>(seed)));
  return caught;
}

inline void checkFailure(const simt::Report &report, simt::Failure failure,
                         const std::string &part) {
  CHECK(std::string(simt::nameOf(report.failure)) == simt::nameOf(failure));
  CHECK_THAT(report.text, Catch::Matchers::Contains(part));
}

inline void checkGood(const simt::Report &report) {
  CHECK(std::string(simt::nameOf(report.failure)) == "none");
  CHECK(report.text.empty());
}

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_EMULATOR_HARNESS_H
