// What orders two accesses and what does not: small programs of a writer and a
// reader, on two ranks or in one block.
#include "Harness.h"

using namespace layline::test;
using namespace layline::device;
namespace simt = layline::simt;
using simt::Failure;

namespace {

/// A writer on rank 0 stores data and a flag of rank 1, where a reader waits
/// for the flag and loads the data.
template <typename Write, typename Read>
simt::Report passMessage(const simt::Options &options, Write write, Read read) {
  simt::Machine machine(2, options);
  auto data = machine.allocateSymmetric<float>(4, "data");
  auto flags = machine.allocateSymmetric<std::uint32_t>(4, "flags");
  std::fill_n(flags[1], 4, 0U);
  float *target = data[1];
  std::uint32_t *flag = flags[1];
  machine.launch(0, {"writer", {1}, {1}}, [=] { write(target, flag); });
  machine.launch(1, {"reader", {1}, {1}}, [=] { read(target, flag); });
  return machine.run();
}

template <typename Write, typename Read>
simt::Report passMessage(Write write, Read read) {
  return passMessage(optionsOf(Mode::HappensBefore, 1), write, read);
}

const auto storeAndRelease = [](float *data, std::uint32_t *flag) {
  st(data, 1.0F);
  st_release_sys(flag, 1);
};
const auto acquireAndLoad = [](float *data, std::uint32_t *flag) {
  while (ld_acquire_sys(flag) == 0) {
  }
  ld(data);
};

} // namespace

TEST_CASE("release and acquire order a message") {
  checkGood(passMessage(storeAndRelease, acquireAndLoad));
}

TEST_CASE("a race names both accesses") {
  simt::Report report = passMessage(
      [](float *data, std::uint32_t *flag) {
        st(data, 1.0F);
        st_relaxed_sys(flag, 1);
      },
      acquireAndLoad);
  checkFailure(report, Failure::Race,
               "race: store by rank 0 kernel writer block 0 thread 0 is not "
               "ordered before load by rank 1 kernel reader block 0 thread 0 "
               "at byte 0 of 'data' (16 bytes, rank 1)");
  CHECK(report.races == 1);
}

TEST_CASE("a relaxed load orders nothing, a fence behind it does") {
  checkFailure(passMessage(storeAndRelease,
                           [](float *data, std::uint32_t *flag) {
                             while (ld_relaxed_sys(flag) == 0) {
                             }
                             ld(data);
                           }),
               Failure::Race, "race");
  checkGood(passMessage(storeAndRelease, [](float *data, std::uint32_t *flag) {
    while (ld_relaxed_sys(flag) == 0) {
    }
    fence_acq_rel_sys();
    ld(data);
  }));
  checkFailure(passMessage(storeAndRelease,
                           [](float *data, std::uint32_t *flag) {
                             while (ld_relaxed_sys(flag) == 0) {
                             }
                             fence_acq_rel_gpu();
                             ld(data);
                           }),
               Failure::Race, "race");
}

TEST_CASE("a relaxed store publishes what a fence before it covers") {
  checkGood(passMessage(
      [](float *data, std::uint32_t *flag) {
        st(data, 1.0F);
        fence_acq_rel_sys();
        st_relaxed_sys(flag, 1);
      },
      acquireAndLoad));
  // What is stored after the fence is not covered.
  checkFailure(passMessage(
                   [](float *data, std::uint32_t *flag) {
                     fence_acq_rel_sys();
                     st(data, 1.0F);
                     st_relaxed_sys(flag, 1);
                   },
                   acquireAndLoad),
               Failure::Race, "race");
  checkFailure(passMessage(
                   [](float *data, std::uint32_t *flag) {
                     st(data, 1.0F);
                     fence_acq_rel_gpu();
                     st_relaxed_sys(flag, 1);
                   },
                   acquireAndLoad),
               Failure::Race, "race");
}

TEST_CASE("updates continue a release sequence, stores end it") {
  // Two writers count to 2; the reader learns of both although it reads only
  // the last update.
  auto count = [](bool secondReleases, bool secondStores) {
    simt::Machine machine(3, optionsOf(Mode::HappensBefore, 1));
    auto data = machine.allocateSymmetric<float>(4, "data");
    auto flags = machine.allocateSymmetric<std::uint32_t>(4, "flags");
    *flags[2] = 0;
    float *first = data[0], *second = data[1];
    std::uint32_t *flag = flags[2];
    machine.launch(0, {"first", {1}, {1}}, [=] {
      st(first, 1.0F);
      red_add_release_sys(flag, 1);
    });
    machine.launch(1, {"second", {1}, {1}}, [=] {
      st(second, 1.0F);
      while (ld_relaxed_sys(flag) == 0) {
      }
      if (secondStores)
        st_release_sys(flag, 2);
      else if (secondReleases)
        red_add_release_sys(flag, 1);
      else
        red_add_relaxed_sys(flag, 1);
    });
    machine.launch(2, {"reader", {1}, {1}}, [=] {
      while (ld_relaxed_sys(flag) != 2) {
      }
      ld_acquire_sys(flag);
      ld(first);
      if (secondReleases || secondStores)
        ld(second);
    });
    return machine.run();
  };
  checkGood(count(true, false));
  checkGood(count(false, false)); // the first writer's data only
  checkFailure(count(false, true), Failure::Race,
               "store by rank 0 kernel first");
}

TEST_CASE("an update with acquire and release hands on what it learned") {
  auto chain = [](bool handsOn) {
    simt::Machine machine(3, optionsOf(Mode::HappensBefore, 1));
    auto data = machine.allocateSymmetric<float>(4, "data");
    auto flags = machine.allocateSymmetric<std::uint32_t>(4, "flags");
    *flags[1] = *flags[2] = 0;
    float *target = data[2];
    std::uint32_t *near = flags[1], *far = flags[2];
    machine.launch(0, {"writer", {1}, {1}}, [=] {
      st(target, 1.0F);
      atom_add_release_sys(near, 1);
    });
    machine.launch(1, {"middle", {1}, {1}}, [=] {
      while ((handsOn ? atom_add_acq_rel_sys(near, 0)
                      : atom_add_relaxed_sys(near, 0)) == 0) {
      }
      st_release_sys(far, 1);
    });
    machine.launch(2, {"reader", {1}, {1}}, [=] {
      while (ld_acquire_sys(far) == 0) {
      }
      ld(target);
    });
    return machine.run();
  };
  checkGood(chain(true));
  checkFailure(chain(false), Failure::Race, "store by rank 0 kernel writer");
}

TEST_CASE("strong accesses meet without a race, plain ones do not") {
  auto together = [](auto first, auto second) {
    return passMessage(
        [=](float *data, std::uint32_t *flag) { first(data, flag); },
        [=](float *data, std::uint32_t *flag) { second(data, flag); });
  };
  checkGood(together([](float *, std::uint32_t *f) { st_relaxed_sys(f, 1); },
                     [](float *, std::uint32_t *f) { ld_relaxed_sys(f); }));
  checkGood(together([](float *, std::uint32_t *f) { st_relaxed_sys(f, 1); },
                     [](float *, std::uint32_t *f) { st_relaxed_sys(f, 2); }));
  checkGood(together(
      [](float *d, std::uint32_t *) {
        st_relaxed_v4(d, Vec16{1, 2, 3, 4});
      },
      [](float *d, std::uint32_t *) { ld_relaxed_v4(d); }));
  // A flag that a kernel resets with a plain store while peers use it.
  checkFailure(
      together([](float *, std::uint32_t *f) { st(f, 0U); },
               [](float *, std::uint32_t *f) { st_release_sys(f, 1); }),
      Failure::Race, "store");
  checkFailure(together([](float *d, std::uint32_t *) { st_v4(d, Vec16{}); },
                        [](float *d, std::uint32_t *) { ld_relaxed_v4(d); }),
               Failure::Race, "store");
  checkFailure(together([](float *d, std::uint32_t *) { ld(d); },
                        [](float *d, std::uint32_t *) { st(d, 1.0F); }),
               Failure::Race, "");
}

TEST_CASE("races are of bytes, not of vectors around them") {
  auto neighbours = [](int first, int second) {
    return passMessage(
        [=](float *data, std::uint32_t *) {
          st(reinterpret_cast<std::uint16_t *>(data) + first, std::uint16_t(1));
        },
        [=](float *data, std::uint32_t *) {
          st(reinterpret_cast<std::uint16_t *>(data) + second,
             std::uint16_t(1));
        });
  };
  checkGood(neighbours(2, 3));
  checkFailure(neighbours(2, 2), Failure::Race, "byte 4 of 'data'");
  // A vector against one number in it, in both orders.
  for (bool vectorFirst : {false, true}) {
    auto vector = [](float *data, std::uint32_t *) { st_v4(data, Vec16{}); };
    auto number = [](float *data, std::uint32_t *) { st(data + 3, 1.0F); };
    simt::Report report =
        vectorFirst ? passMessage(vector, number) : passMessage(number, vector);
    checkFailure(report, Failure::Race, "race");
    CHECK(report.races == 1);
  }
}

TEST_CASE("shared memory takes a barrier of those that share it") {
  auto block = [](unsigned threads, auto between) {
    simt::Machine machine(1, optionsOf(Mode::HappensBefore, 1));
    machine.launch(0, {"rotate", {1}, {threads}}, [=] {
      LAYLINE_SHARED(int, slots, 64);
      slots[threadIdx.x] = 1;
      between();
      int next = slots[(threadIdx.x + 1) % threads];
      (void)next;
    });
    return machine.run();
  };
  checkGood(block(64, [] { __syncthreads(); }));
  checkGood(block(32, [] { __syncwarp(); }));
  checkFailure(block(64, [] {}), Failure::Race, "at shared 'slots'");
  // Two warps, each by itself.
  checkFailure(block(64, [] { __syncwarp(); }), Failure::Race,
               "at shared 'slots'");
  // Shuffles exchange registers and order no memory.
  checkFailure(block(32, [] { __shfl_xor_sync(0xffffffffU, 1, 1); }),
               Failure::Race, "at shared 'slots'");
}

TEST_CASE("atomic additions to shared memory meet without a race") {
  simt::Machine machine(1, optionsOf(Mode::HappensBefore, 1));
  int *total = machine.allocate<int>(0, 1, "total");
  machine.launch(0, {"count", {1}, {96}}, [=] {
    LAYLINE_SHARED(int, counter, 1);
    if (threadIdx.x == 0)
      counter[0] = 0;
    __syncthreads();
    shared_add(counter, 0, 2);
    __syncthreads();
    if (threadIdx.x == 0)
      st(total, static_cast<int>(counter[0]));
  });
  checkGood(machine.run());
  CHECK(*total == 192);
}

TEST_CASE("launches of one stream are ordered, of two streams by an event") {
  auto twoLaunches = [](int secondStream, bool waits) {
    simt::Machine machine(1, optionsOf(Mode::HappensBefore, 1));
    float *data = machine.allocate<float>(0, 4, "data");
    machine.launch(0, {"first", {1}, {1}}, [=] { st(data, 1.0F); });
    if (waits)
      machine.waitEvent(0, secondStream, machine.recordEvent(0, 0));
    machine.launch(
        0, {"second", {1}, {1}}, [=] { ld(data); }, secondStream);
    return machine.run();
  };
  checkGood(twoLaunches(0, false));
  checkGood(twoLaunches(1, true));
  checkFailure(twoLaunches(1, false), Failure::Race, "kernel first");
}

TEST_CASE("the host's wait for a run orders it before the next") {
  simt::Machine machine(2, optionsOf(Mode::HappensBefore, 1));
  auto data = machine.allocateSymmetric<float>(4, "data");
  float *target = data[1];
  machine.launch(0, {"first", {1}, {1}}, [=] { st(target, 1.0F); });
  checkGood(machine.run());
  machine.launch(1, {"second", {1}, {1}}, [=] { ld(target); });
  checkGood(machine.run());
}

TEST_CASE("blocks of one launch are not ordered, whoever ran first") {
  simt::Machine machine(1, [] {
    simt::Options options = optionsOf(Mode::HappensBefore, 0);
    options.residentBlocks = 1; // one after the other
    return options;
  }());
  float *data = machine.allocate<float>(0, 4, "data");
  machine.launch(0, {"both", {2}, {1}}, [=] {
    if (blockIdx.x == 0)
      st(data, 1.0F);
    else
      ld(data);
  });
  checkFailure(machine.run(), Failure::Race, "block 0 thread 0");
}
