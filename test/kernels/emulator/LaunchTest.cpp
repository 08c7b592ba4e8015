// Programmatic launches, cooperative ones, streams, and places on a rank.
#include "Harness.h"
#include "devices/simt/Fiber.h"

#include <fstream>
#include <sys/resource.h>

using namespace layline::test;
using namespace layline::device;
namespace simt = layline::simt;
using simt::Failure;

namespace {

constexpr int seeds = 10;

enum class Trigger { Never, BeforeStore, AfterStore };

/// A producer and a programmatic consumer of its data.
template <typename Check>
bool dependentShows(const simt::Options &options, Trigger trigger,
                    bool consumerWaits, Check isWrong) {
  simt::Machine machine(1, options);
  int *data = machine.allocate<int>(0, 64, "data");
  int *copy = machine.allocate<int>(0, 64, "copy");
  std::fill_n(data, 64, 0);
  machine.launch(0, {"producer", {2}, {32}}, [=] {
    if (trigger == Trigger::BeforeStore)
      griddep_launch_dependents();
    st(data + blockIdx.x * 32 + threadIdx.x, 1);
    if (trigger == Trigger::AfterStore)
      griddep_launch_dependents();
  });
  simt::Launch consumer{"consumer", {2}, {32}};
  consumer.programmatic = true;
  machine.launch(0, consumer, [=] {
    if (consumerWaits)
      griddep_wait();
    unsigned at = blockIdx.x * 32 + threadIdx.x;
    st(copy + at, ld(data + at));
  });
  // One that is not programmatic comes after both.
  machine.launch(0, {"after", {1}, {32}}, [=] { ld(copy + threadIdx.x); });
  simt::Report report = machine.run();
  return isWrong(report, copy);
}

void countBlock(int *count) {
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0)
    st(count, ld(count) + 1);
}

/// Counts the blocks that begin.
template <int THREADS>
LAYLINE_KERNEL(THREADS, 1, bounded(int *count), countBlock(count))

/// So many blocks of 512 threads on each of 4 ranks together. Threads give up
/// a total, so that all have run.
simt::Report runTogether(unsigned blocks, unsigned &total) {
  simt::Options options;
  options.residentThreads = blocks * 512;
  simt::Machine machine(4, options);
  for (int rank = 0; rank < 4; ++rank)
    machine.launch(rank, {"many", {blocks}, {512}}, [&total] {
      __syncthreads();
      ++total;
    });
  return machine.run();
}

} // namespace

TEST_CASE("a programmatic launch sees what it has waited for") {
  auto fails = [](const simt::Report &report, const int *copy) {
    return !report.ok() || std::count(copy, copy + 64, 1) != 64;
  };
  for (Mode mode : allModes)
    for (Trigger trigger :
         {Trigger::Never, Trigger::BeforeStore, Trigger::AfterStore})
      CHECK(caughtOf(mode, seeds, [&](const simt::Options &options) {
              return dependentShows(options, trigger, true, fails);
            }) == 0);
}

TEST_CASE("a programmatic launch that does not wait begins early") {
  auto isEarly = [](const simt::Report &report, const int *copy) {
    return !report.ok() || std::count(copy, copy + 64, 1) != 64;
  };
  // On schedules alone only where the trigger comes before the store.
  CHECK(caughtOf(Mode::Yield, seeds, [&](const simt::Options &options) {
          return dependentShows(options, Trigger::BeforeStore, false, isEarly);
        }) > 0);
  CHECK(caughtOf(Mode::Weak, seeds, [&](const simt::Options &options) {
          return dependentShows(options, Trigger::AfterStore, false, isEarly);
        }) > 0);
  // The trigger promises nothing about what is seen, even at its end.
  for (Trigger trigger :
       {Trigger::Never, Trigger::BeforeStore, Trigger::AfterStore})
    CHECK(
        caughtOf(Mode::HappensBefore, seeds, [&](const simt::Options &options) {
          return dependentShows(options, trigger, false,
                                [](const simt::Report &report, const int *) {
                                  return report.failure == Failure::Race;
                                });
        }) == seeds);
}

TEST_CASE("a chain of programmatic launches stays in its order") {
  for (Mode mode : allModes)
    CHECK(caughtOf(mode, seeds, [](const simt::Options &options) {
            simt::Machine machine(1, options);
            int *data = machine.allocate<int>(0, 32, "data");
            std::fill_n(data, 32, 0);
            simt::Launch step{"step", {1}, {32}};
            step.programmatic = true;
            for (int i = 0; i < 6; ++i)
              machine.launch(0, step, [=] {
                griddep_launch_dependents();
                griddep_wait();
                st(data + threadIdx.x, 2 * ld(data + threadIdx.x) + i);
              });
            simt::Report report = machine.run();
            int expected = 0;
            for (int i = 0; i < 6; ++i)
              expected = 2 * expected + i;
            return !report.ok() || std::count(data, data + 32, expected) != 32;
          }) == 0);
}

TEST_CASE("two streams of a rank run side by side") {
  // Each waits for the other: only possible when both are resident.
  auto meet = [](unsigned places) {
    simt::Options options;
    options.residentBlocks = places;
    simt::Machine machine(1, options);
    auto *flags = machine.allocate<std::uint32_t>(0, 2, "flags");
    flags[0] = flags[1] = 0;
    for (int stream = 0; stream < 2; ++stream)
      machine.launch(
          0, {"meet", {1}, {1}},
          [=] {
            st_release_gpu(flags + stream, 1);
            while (ld_acquire_gpu(flags + 1 - stream) == 0) {
            }
          },
          stream);
    return machine.run();
  };
  checkGood(meet(2));
  checkFailure(meet(1), Failure::Deadlock,
               "rank 0 stream 1 kernel meet: not begun, 1 blocks");
  checkFailure(meet(1), Failure::Deadlock,
               "1 spin, thread 0 with ld.acquire.gpu on byte 4 of 'flags' (8 "
               "bytes, rank 0) = 0");
}

TEST_CASE("a stream that waits for an event nobody records says so") {
  simt::Machine machine(2, {});
  auto *flag = machine.allocate<std::uint32_t>(0, 1, "flag");
  *flag = 0;
  machine.launch(0, {"spin", {1}, {1}}, [=] {
    while (ld_acquire_gpu(flag) == 0) {
    }
  });
  machine.waitEvent(1, 3, machine.recordEvent(0, 0));
  machine.launch(
      1, {"after", {1}, {1}}, [] {}, 3);
  checkFailure(machine.run(), Failure::Deadlock,
               "rank 1 stream 3: waits for event 0");
}

TEST_CASE("a spin on a flag that nobody stores is a deadlock") {
  simt::Machine machine(2, {});
  auto flags = machine.allocateSymmetric<std::uint32_t>(2, "flags");
  std::fill_n(flags[1], 2, 7U);
  std::uint32_t *flag = flags[1];
  machine.launch(0, {"stores the same", {1}, {1}}, [=] {
    // Stores that change nothing are no progress.
    while (ld_relaxed_sys(flag + 1) != 8)
      st_relaxed_sys(flag, 7);
  });
  machine.launch(1, {"waits", {1}, {64}}, [=] {
    if (threadIdx.x == 33)
      while (ld_acquire_sys(flag) != 8) {
      }
    __syncthreads();
  });
  simt::Report report = machine.run();
  checkFailure(report, Failure::Deadlock,
               "deadlock: every thread spins and nobody stores");
  checkFailure(report, Failure::Deadlock,
               "block 0: 64 of 64 threads there; 1 spin, thread 33 with "
               "ld.acquire.sys on byte 0 of 'flags' (8 bytes, rank 1) = 7; 63 "
               "at __syncthreads of line");
}

TEST_CASE("blocks of a cooperative launch become resident together") {
  // A whole-grid barrier beside another stream that takes places for a while:
  // without the attribute half of the grid waits for the other half.
  auto run = [](bool cooperative, std::uint64_t seed) {
    simt::Options options = optionsOf(Mode::Yield, seed);
    options.residentBlocks = 4;
    simt::Machine machine(1, options);
    auto *count = machine.allocate<std::uint32_t>(0, 2, "count");
    count[0] = count[1] = 0;
    for (int stream = 0; stream < 2; ++stream) {
      simt::Launch launch{"barrier", {3}, {1}};
      launch.cooperative = cooperative;
      machine.launch(
          0, launch,
          [=] {
            atom_add_release_gpu(count + stream, 1);
            while (ld_acquire_gpu(count + stream) != 3) {
            }
          },
          stream);
    }
    return machine.run();
  };
  int deadlocks = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    checkGood(run(true, seed));
    deadlocks += run(false, seed).failure == Failure::Deadlock;
  }
  CHECK(deadlocks > 0);
}

TEST_CASE("a block is at most as large as its kernel says") {
  auto run = [](simt::Index3 block, void (*kernel)(int *)) {
    simt::Machine machine(2, {});
    int *count = machine.allocate<int>(1, 1, "count");
    *count = 0;
    machine.launch(1, {"bounded", {2}, block}, [=] { kernel(count); });
    simt::Report report = machine.run();
    CHECK(*count == (report.ok() ? 2 : 0));
    return report;
  };
  checkGood(run({64}, bounded<64>));
  checkGood(run({8, 4, 2}, bounded<64>));
  simt::Report report = run({65}, bounded<64>);
  checkFailure(report, Failure::Launch,
               "rank 1 kernel bounded: a block of 65 threads; its launch "
               "bounds allow 64");
  CHECK(report.rank == 1);
  checkFailure(run({8, 4, 3}, bounded<64>), Failure::Launch,
               "a block of 96 threads");
  checkGood(run({8, 4, 3}, bounded<96>));
}

TEST_CASE("stolen places count") {
  auto run = [](unsigned stolen) {
    simt::Options options;
    options.residentBlocks = 4;
    simt::Machine machine(1, options);
    machine.stealResidency(0, stolen);
    simt::Launch launch{"four", {4}, {32}};
    launch.cooperative = true;
    machine.launch(0, launch, [] {});
    return machine.run();
  };
  checkGood(run(0));
  checkFailure(run(1), Failure::Deadlock, "not begun, 4 blocks");
  simt::Machine machine(1, {});
  CHECK(machine.maxResidentBlocks(1024) == 16);
  CHECK(machine.maxResidentBlocks(32) == 64);
}

TEST_CASE("grids above the places run in turns") {
  simt::Options options;
  options.residentBlocks = 3;
  simt::Machine machine(1, options);
  int *out = machine.allocate<int>(0, 100, "out");
  machine.launch(0, {"many", {10, 10}, {1}}, [=] {
    st(out + blockIdx.y * gridDim.x + blockIdx.x,
       static_cast<int>(10 * blockIdx.y + blockIdx.x));
  });
  checkGood(machine.run());
  for (int i = 0; i < 100; ++i)
    CHECK(out[i] == i);
}

TEST_CASE("the clock advances with the run") {
  simt::Machine machine(1, {});
  auto *times = machine.allocate<std::uint64_t>(0, 2, "times");
  machine.launch(0, {"time", {1}, {32}}, [=] {
    std::uint64_t before = globaltimer();
    __syncthreads();
    if (threadIdx.x == 0) {
      st(times, before);
      st(times + 1, globaltimer());
    }
  });
  checkGood(machine.run());
  CHECK(times[0] < times[1]);
}

TEST_CASE(
    "ranks have more threads than Linux has mappings for guarded stacks") {
  constexpr unsigned blocks = 20, threads = 4 * blocks * 512;
  std::uint64_t mappings = 0; // absent: no Linux, no limit
  if (!(std::ifstream("/proc/sys/vm/max_map_count") >> mappings))
    mappings = ~std::uint64_t(0);
  unsigned total = 0;
  simt::Report report = runTogether(blocks, total);
  INFO(report.text);
  if (simt::StackPool::guardsWithinMappings() || mappings > 3 * threads) {
    CHECK(report.ok());
    CHECK(total == threads);
    return;
  }
  CHECK(report.failure == Failure::Launch);
  CHECK_THAT(report.text, Catch::Contains("kernel many block ") &&
                              Catch::Contains("its threads have no stack") &&
                              Catch::Contains("vm.max_map_count"));
}

// AddressSanitizer maps memory of its own, and has its whole shadow mapped.
#if !defined(__has_feature) || !__has_feature(address_sanitizer)
TEST_CASE("threads that the host has no stacks for fail the run, and no later "
          "one") {
  // The process may map as much as it has and 256 MiB more, which is a stack of
  // 64 KiB for one thread in ten; those of earlier tests come before.
  std::uint64_t pages = 0;
  REQUIRE(std::ifstream("/proc/self/statm") >> pages);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  rlimit less = before;
  less.rlim_cur = pages * 4096 + (std::size_t(256) << 20);
  REQUIRE(setrlimit(RLIMIT_AS, &less) == 0);
  unsigned total = 0;
  simt::Report report = runTogether(20, total);
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  INFO(report.text);
  CHECK(report.failure == Failure::Launch);
  CHECK(report.rank >= 0);
  CHECK(total == 0);
  CHECK_THAT(report.text,
             Catch::StartsWith("rank ") &&
                 Catch::Contains(" kernel many block ") &&
                 Catch::Contains(": its threads have no stack beside the ") &&
                 Catch::Contains(" of 64 KiB that there are: Cannot allocate "
                                 "memory"));
  CHECK(runTogether(1, total).ok());
  CHECK(total == 4 * 512);
}
#endif
