// A whole collective in every mode of the emulator, right and with one fault
// each.
#include "Harness.h"
#include "TwoShotBench.h"

using namespace layline::test;
namespace simt = layline::simt;

namespace {

constexpr int seeds = 10;

template <Fault fault> int caughtIn(Mode mode, const TwoShotShape &shape = {}) {
  return caughtOf(mode, seeds, [&](const simt::Options &options) {
    TwoShotResult result = runTwoShot<3, fault>(options, shape);
    if (fault == Fault::None && result.isCaught())
      UNSCOPED_INFO(nameOf(mode)
                    << " seed " << options.seed << ": " << result.report.text
                    << ", wrong numbers " << result.wrongNumbers);
    return result.isCaught();
  });
}

} // namespace

TEST_CASE("a correct collective passes in every mode") {
  for (Mode mode : allModes)
    CHECK(caughtIn<Fault::None>(mode) == 0);
}

TEST_CASE("a correct collective passes with modes together") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    simt::Options options;
    options.seed = seed;
    options.raceCheck = options.storeBuffers = options.randomDispatch = true;
    options.yieldPercent = 5;
    options.starvePerTenThousand = 20;
    TwoShotResult result = runTwoShot<4, Fault::None>(options);
    checkGood(result.report);
    CHECK(result.wrongNumbers == 0);
  }
}

TEST_CASE("the same seed gives the same run") {
  auto switchesOf = [](std::uint64_t seed) {
    return runTwoShot<3, Fault::None>(optionsOf(Mode::Starve, seed))
        .report.switches;
  };
  CHECK(switchesOf(3) == switchesOf(3));
  CHECK(switchesOf(3) != switchesOf(4));
}

TEST_CASE("a missing barrier of peers shows on most schedules") {
  CHECK(caughtIn<Fault::NoEntryBarrier>(Mode::Starve) == seeds);
  CHECK(caughtIn<Fault::NoEntryBarrier>(Mode::HappensBefore) == seeds);
  CHECK(caughtIn<Fault::NoExitBarrier>(Mode::Starve) == seeds);
  CHECK(caughtIn<Fault::NoExitBarrier>(Mode::HappensBefore) == seeds);
}

TEST_CASE("a flag stored without release shows in store buffers and in the "
          "race check, not on schedules alone") {
  CHECK(caughtIn<Fault::RelaxedStore>(Mode::Plain) == 0);
  CHECK(caughtIn<Fault::RelaxedStore>(Mode::Starve) == 0);
  CHECK(caughtIn<Fault::RelaxedStore>(Mode::Weak) == seeds);
  CHECK(caughtIn<Fault::RelaxedStore>(Mode::HappensBefore) == seeds);
  CHECK(caughtIn<Fault::PlainFlag>(Mode::Weak) == seeds);
  CHECK(caughtIn<Fault::PlainFlag>(Mode::HappensBefore) == seeds);
}

TEST_CASE("a flag loaded without acquire shows in the race check only") {
  for (Mode mode : allModes)
    CHECK(caughtIn<Fault::RelaxedLoad>(mode) ==
          (mode == Mode::HappensBefore ? seeds : 0));
}

TEST_CASE("a flag that overtakes the block's other threads shows") {
  CHECK(caughtIn<Fault::NoSyncthreads>(Mode::Weak) == seeds);
  CHECK(caughtIn<Fault::NoSyncthreads>(Mode::HappensBefore) == seeds);
}

TEST_CASE("a fence of gpu scope does not reach peers") {
  CHECK(caughtIn<Fault::FenceOfGpu>(Mode::Weak) == seeds);
  CHECK(caughtIn<Fault::FenceOfGpu>(Mode::HappensBefore) == seeds);
}

TEST_CASE("a flag of gpu scope on a peer is refused in every mode") {
  for (Mode mode : allModes)
    CHECK(caughtIn<Fault::FlagOfGpu>(mode) == seeds);
  checkFailure(
      runTwoShot<3, Fault::FlagOfGpu>(optionsOf(Mode::Plain, 1)).report,
      simt::Failure::Scope,
      "accesses with gpu scope a flag of another rank, byte");
}

TEST_CASE("an epoch that does not advance shows") {
  CHECK(caughtIn<Fault::StaleEpoch>(Mode::Starve) == seeds);
  CHECK(caughtIn<Fault::StaleEpoch>(Mode::HappensBefore) == seeds);
}

TEST_CASE("blocks that wait for blocks without a place are a deadlock") {
  TwoShotShape shape;
  shape.blocks = 8;
  shape.rows = 24;
  shape.cooperative = false;
  simt::Options options;
  options.seed = 1;
  options.residentBlocks = 2;
  SECTION("a barrier of whole grids needs them all") {
    TwoShotResult result = runTwoShot<3, Fault::WholeGrid>(options, shape);
    checkFailure(result.report, simt::Failure::Deadlock, "6 not resident");
    checkFailure(result.report, simt::Failure::Deadlock,
                 "deadlock: threads wait for blocks that are not resident");
    options.residentBlocks = 8;
    checkGood(runTwoShot<3, Fault::WholeGrid>(options, shape).report);
  }
  SECTION("one of blocks in pairs passes while blocks begin in order") {
    checkGood(runTwoShot<3, Fault::None>(options, shape).report);
  }
  SECTION("and not when they begin in any order") {
    CHECK(caughtOf(Mode::Yield, seeds, [&](simt::Options random) {
            random.residentBlocks = 2;
            return runTwoShot<3, Fault::None>(random, shape).report.failure ==
                   simt::Failure::Deadlock;
          }) == seeds);
  }
  SECTION("a cooperative launch is refused, with the figures") {
    shape.cooperative = true;
    checkFailure(runTwoShot<3, Fault::None>(options, shape).report,
                 simt::Failure::Launch,
                 "rank 0 kernel two_shot: a cooperative launch of 8 blocks of "
                 "32 threads; 2 fit on a rank together");
  }
}

TEST_CASE("a bounded spin says who waited for what and leaves") {
  TwoShotShape shape;
  shape.blocks = 8;
  shape.rows = 24;
  shape.launches = 1;
  shape.cooperative = false;
  simt::Options options;
  options.seed = 1;
  options.residentBlocks = 2;
  options.expireSpins = true;
  TwoShotResult result = runTwoShot<3, Fault::WholeGrid>(options, shape);
  checkGood(result.report); // every thread has left
  CHECK(result.wrongNumbers != 0);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const SpinFailure &spin = result.spins[rank];
    CHECK(spin.failed == 1);
    CHECK(spin.rank == rank);
    CHECK(spin.block < 8);
    CHECK(spin.epoch == 1);
    CHECK(spin.seen == 0);
    CHECK(spin.flag < 2 * 8 * 3);
  }
}
