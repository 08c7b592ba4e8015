// Accesses out of bounds and of the wrong kind, and what else a device refuses.
#include "Harness.h"

using namespace layline::test;
using namespace layline::device;
namespace simt = layline::simt;
using simt::Failure;

namespace {

/// Rank 0 runs `body(x, y)` with x of its own, y of rank 1's memory: 4 floats
/// each, y symmetric only if asked.
template <typename Body>
simt::Report access(Body body, bool isSymmetric = true) {
  simt::Machine machine(2, {});
  float *x = machine.allocate<float>(0, 4, "x");
  float *y = isSymmetric ? machine.allocateSymmetric<float>(4, "y")[1]
                         : machine.allocate<float>(1, 4, "y");
  machine.launch(0, {"access", {3}, {2}}, [=] {
    if (blockIdx.x == 2 && threadIdx.x == 1)
      body(x, y);
  });
  return machine.run();
}

} // namespace

TEST_CASE("accesses in bounds pass") {
  checkGood(access([](float *x, float *y) {
    st(x + 3, 1.0F);
    st_v4(y, ld_v4(x));
    st_relaxed_sys(reinterpret_cast<std::uint32_t *>(y) + 3, 1);
  }));
}

TEST_CASE("accesses out of bounds name thread, buffer and byte") {
  checkFailure(access([](float *x, float *) { ld(x + 4); }), Failure::Access,
               "rank 0 kernel access block 2 thread 1: ld of 4 bytes at byte "
               "16 of 'x' (16 bytes, rank 0)");
  checkFailure(access([](float *x, float *) { st_v4(x + 4, Vec16{}); }),
               Failure::Access, "st of 16 bytes at byte 16 of 'x'");
  checkFailure(access([](float *x, float *) { st(x - 1, 0.0F); }),
               Failure::Access, "st of 4 bytes at ");
  checkFailure(access([](float *, float *y) {
                 atom_add_release_sys(reinterpret_cast<std::uint32_t *>(y) + 4,
                                      1);
               }),
               Failure::Access,
               "atom of 4 bytes at byte 16 of 'y' (16 bytes, "
               "rank 1)");
}

TEST_CASE("memory that no rank has is refused") {
  float own[4] = {};
  float *host = own;
  checkFailure(access([=](float *, float *) { ld(host); }), Failure::Access,
               "ld of 4 bytes at");
  simt::Machine machine(1, {});
  machine.registerMemory(0, own, sizeof own, "own", false);
  machine.launch(0, {"load", {1}, {1}}, [=] { ld(host); });
  checkGood(machine.run());
  machine.unregisterMemory(own);
  machine.launch(0, {"load", {1}, {1}}, [=] { ld(host); });
  checkFailure(machine.run(), Failure::Access, "ld of 4 bytes at");
}

TEST_CASE("memory in the place of other memory knows nothing of its flags") {
  simt::Machine machine(2, {});
  std::uint32_t word = 0;
  for (int rank : {1, 0}) {
    machine.registerMemory(rank, &word, sizeof word, "word", false);
    std::uint32_t *flag = &word;
    machine.launch(rank, {"count", {1}, {1}},
                   [=] { atom_add_acq_rel_gpu(flag, 1); });
    checkGood(machine.run());
    machine.unregisterMemory(&word);
  }
}

TEST_CASE("misaligned accesses are refused") {
  checkFailure(access([](float *x, float *) { ld_v4(x + 1); }), Failure::Access,
               "ld of 16 bytes at byte 4 of 'x' (16 bytes, rank 0)");
  checkFailure(access([](float *x, float *) {
                 ld(reinterpret_cast<const std::uint32_t *>(
                     reinterpret_cast<char *>(x) + 2));
               }),
               Failure::Access, ": misaligned");
}

TEST_CASE("only symmetric memory is seen by peers") {
  auto load = [](float *, float *y) { ld(y); };
  checkGood(access(load, true));
  checkFailure(access(load, false), Failure::Access,
               "of 'y' (16 bytes, rank 1): another rank's buffer that is not "
               "symmetric");
}

TEST_CASE("buffers must not overlap") {
  simt::Machine machine(1, {});
  float memory[8] = {};
  machine.registerMemory(0, memory, 16, "first", false);
  CHECK_THROWS_WITH(machine.registerMemory(0, memory + 2, 16, "second", false),
                    "buffer 'second' of rank 0 overlaps 'first' of rank 0");
  machine.registerMemory(0, memory + 4, 16, "third", false);
}

TEST_CASE("a wild pointer that is not wrapped fails the run") {
  checkFailure(access([](float *, float *) {
                 *reinterpret_cast<volatile float *>(16) = 1;
               }),
               Failure::Access,
               "rank 0 kernel access block 2 thread 1 reads or writes, not "
               "through the platform layer, address 0x10");
}

namespace {

/// `depth` is not known to the compiler, so that the frames stay.
int recurse(volatile int depth) {
  volatile char frame[512] = {};
  return depth == 0 ? frame[0] : recurse(depth - 1) + frame[1];
}

} // namespace

TEST_CASE("a kernel that needs too much stack fails the run") {
  checkFailure(access([](float *, float *) { recurse(100000); }),
               Failure::Kernel, "KiB of stack of an emulated thread");
  checkGood(access([](float *, float *) { recurse(10); }));
}

TEST_CASE("an exception out of a kernel fails the run") {
  checkFailure(access([](float *, float *) {
                 throw std::runtime_error("no such expert");
               }),
               Failure::Kernel, "block 2 thread 1 threw an exception: no such");
}

TEST_CASE("shared memory has bounds") {
  checkFailure(access([](float *, float *) {
                 LAYLINE_SHARED(float, part, 8);
                 part[8] = 1;
               }),
               Failure::Access, "takes element 8 of shared 'part' of 8");
  checkFailure(access([](float *, float *) {
                 LAYLINE_SHARED(float, part, 8);
                 int at = -1;
                 part[at] = 1;
               }),
               Failure::Access, "takes element -1 of shared 'part' of 8");
  checkFailure(access([](float *, float *) {
                 LAYLINE_SHARED(float, one, 40000);
                 LAYLINE_SHARED(float, two, 20000);
                 one[0] = two[0];
               }),
               Failure::Launch,
               "with 'two' needs 240000 bytes of shared "
               "memory; a block has 232448");
}

TEST_CASE("dynamic shared memory is the launch's, and NaN at first") {
  simt::Machine machine(1, {});
  float *out = machine.allocate<float>(0, 2, "out");
  simt::Launch launch{"dynamic", {1}, {1}};
  launch.dynamicSharedBytes = 64;
  auto body = [=] {
    LAYLINE_DYNAMIC_SHARED(float, values);
    st(out, static_cast<float>(values[15]));
    values[15] = 2;
    st(out + 1, static_cast<float>((values + 8)[7]));
  };
  machine.launch(0, launch, body);
  checkGood(machine.run());
  CHECK(out[0] != out[0]);
  CHECK(out[1] == 2);
  launch.dynamicSharedBytes = 60;
  machine.launch(0, launch, body);
  checkFailure(machine.run(), Failure::Access,
               "takes element 15 of shared 'values' of 15");
}

TEST_CASE("launches of a wrong shape are refused") {
  auto launch = [](simt::Index3 grid, simt::Index3 block) {
    simt::Machine machine(1, {});
    machine.launch(0, {"shape", grid, block}, [] {});
    return machine.run();
  };
  checkGood(launch({2, 3, 4}, {8, 4, 2}));
  checkGood(launch({1}, {1024}));
  checkGood(launch({1}, {1, 1, 64}));
  checkGood(launch({1, 1 << 15, 2}, {1}));
  checkFailure(launch({0}, {32}), Failure::Launch,
               "rank 0 kernel shape: a grid of (0, 1, 1) blocks; expected 1 or "
               "more of each direction, at most (2147483647, 65535, 65535) and "
               "2147483647 together");
  checkFailure(launch({1, 1 << 16}, {32}), Failure::Launch,
               "a grid of (1, 65536, 1) blocks");
  checkFailure(launch({1, 1, 1 << 16}, {32}), Failure::Launch,
               "a grid of (1, 1, 65536) blocks");
  checkFailure(launch({1 << 17, 1 << 15}, {32}), Failure::Launch,
               "a grid of (131072, 32768, 1) blocks");
  checkFailure(launch({1}, {32, 0}), Failure::Launch,
               "rank 0 kernel shape: a block of (32, 0, 1) threads; expected 1 "
               "or more of each direction, at most (1024, 1024, 64) and 1024 "
               "together");
  checkFailure(launch({1}, {1025}), Failure::Launch,
               "a block of (1025, 1, 1) threads");
  checkFailure(launch({1}, {32, 64}), Failure::Launch,
               "a block of (32, 64, 1) threads");
  checkFailure(launch({1}, {1, 1, 65}), Failure::Launch,
               "a block of (1, 1, 65) threads");
}

TEST_CASE("more dynamic shared memory than a block has is refused") {
  auto launch = [](std::size_t bytes) {
    simt::Machine machine(1, {});
    simt::Launch shape{"dynamic", {1}, {1}};
    shape.dynamicSharedBytes = bytes;
    machine.launch(0, shape, [] {}); // whether it looks at it or not
    return machine.run();
  };
  checkGood(launch(227 * 1024));
  checkFailure(launch(227 * 1024 + 1), Failure::Launch,
               "rank 0 kernel dynamic: 232449 bytes of dynamic shared memory; "
               "a block has 232448");
}

TEST_CASE("a failed machine stays failed") {
  simt::Machine machine(1, {});
  machine.launch(0, {"bad", {1}, {1}},
                 [] { ld(static_cast<float *>(nullptr)); });
  CHECK(!machine.run().ok());
  machine.launch(0, {"good", {1}, {1}}, [] {});
  checkFailure(machine.run(), Failure::Access, "kernel bad");
}

TEST_CASE("traffic is counted by kernel, rank and side") {
  simt::Machine machine(2, {});
  auto x = machine.allocateSymmetric<float>(8, "x");
  auto flags = machine.allocateSymmetric<std::uint32_t>(4, "flags");
  *flags[0] = *flags[1] = 0;
  float *near = x[0], *far = x[1];
  std::uint32_t *nearFlag = flags[0], *farFlag = flags[1];
  for (int launch = 0; launch < 2; ++launch)
    machine.launch(0, {"count", {2}, {32}}, [=] {
      __syncthreads();
      if (threadIdx.x != 0)
        return;
      st_v4(far + 4 * blockIdx.x, ld_v4(near + 4 * blockIdx.x));
      st(near + blockIdx.x, ld(far + 4 * blockIdx.x));
      fence_acq_rel_sys();
      st_release_sys(farFlag, 1);
      red_add_release_gpu(nearFlag, 1);
    });
  checkGood(machine.run());
  simt::Counters counters = machine.counters(0, "count");
  CHECK(counters.launches == 2);
  CHECK(counters.blocks == 4);
  CHECK(counters.localReadBytes == 4 * 16);
  CHECK(counters.peerWriteBytes == 4 * 16);
  CHECK(counters.peerReadBytes == 4 * 4);
  CHECK(counters.localWriteBytes == 4 * 4);
  CHECK(counters.peerFlagWrites == 4);
  CHECK(counters.localFlagWrites == 4);
  CHECK(counters.fences == 4);
  CHECK(counters.blockBarriers == 4);
  CHECK(machine.counters(1, "count").launches == 0);
}
