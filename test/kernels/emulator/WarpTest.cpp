// Warp operations, barriers of a block and of parts of it.
#include "Harness.h"

using namespace layline::test;
using namespace layline::device;
namespace simt = layline::simt;
using simt::Failure;

namespace {

constexpr unsigned all = 0xffffffffU;

/// One block that may store an int of each thread.
template <typename Body>
std::vector<int> runBlock(unsigned threads, Body body,
                          simt::Report *report = nullptr,
                          const simt::Options &options = {}) {
  simt::Machine machine(1, options);
  int *out = machine.allocate<int>(0, threads, "out");
  machine.launch(0, {"block", {1}, {threads}}, [=] { body(out); });
  simt::Report result = machine.run();
  if (report)
    *report = result;
  else
    checkGood(result);
  return {out, out + threads};
}

template <typename Body>
void checkBlockFails(unsigned threads, Body body, const std::string &text,
                     Failure failure = Failure::Divergence) {
  simt::Report report;
  runBlock(
      threads, [=](int *) { body(); }, &report);
  checkFailure(report, failure, text);
}

} // namespace

TEST_CASE("shuffles exchange what CUDA says") {
  auto of = [](auto shuffle) {
    return runBlock(32, [=](int *out) {
      int lane = static_cast<int>(threadIdx.x);
      st(out + lane, static_cast<int>(shuffle(lane)));
    });
  };
  auto with = [](auto expected) {
    std::vector<int> values;
    for (int lane = 0; lane < 32; ++lane)
      values.push_back(expected(lane));
    return values;
  };
  CHECK(of([](int v) { return __shfl_xor_sync(all, v, 5); }) ==
        with([](int lane) { return lane ^ 5; }));
  CHECK(of([](int v) { return __shfl_sync(all, v, 7); }) ==
        with([](int) { return 7; }));
  CHECK(of([](int v) { return __shfl_down_sync(all, v, 3); }) ==
        with([](int lane) { return lane < 29 ? lane + 3 : lane; }));
  CHECK(of([](int v) { return __shfl_up_sync(all, v, 3); }) ==
        with([](int lane) { return lane >= 3 ? lane - 3 : lane; }));
  CHECK(of([](int v) { return __ballot_sync(all, v % 2); }) ==
        with([](int) { return static_cast<int>(0xaaaaaaaaU); }));
  CHECK(of([](int v) { return __any_sync(all, v == 9); }) ==
        with([](int) { return 1; }));
  CHECK(of([](int v) { return __all_sync(all, v == 9); }) ==
        with([](int) { return 0; }));
  CHECK(of([](int v) { // 8-byte values
          return static_cast<int>(__shfl_sync(all, 1e10 * v, 2) / 1e10);
        }) == with([](int) { return 2; }));
}

TEST_CASE("a warp sums by shuffles on any schedule") {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    auto sums = runBlock(
        96,
        [](int *out) {
          int sum = static_cast<int>(threadIdx.x);
          for (int by = 16; by > 0; by /= 2)
            sum += __shfl_xor_sync(all, sum, by);
          st(out + threadIdx.x, sum);
        },
        nullptr, optionsOf(Mode::Yield, seed));
    for (int thread = 0; thread < 96; ++thread)
      CHECK(sums[static_cast<std::size_t>(thread)] ==
            32 * 31 / 2 + thread / 32 * 32 * 32);
  }
}

TEST_CASE("parts of a warp meet by themselves") {
  auto sums = runBlock(32, [](int *out) {
    unsigned half = threadIdx.x < 16 ? 0x0000ffffU : 0xffff0000U;
    int sum = static_cast<int>(threadIdx.x);
    for (int by = 8; by > 0; by /= 2)
      sum += __shfl_xor_sync(half, sum, by);
    st(out + threadIdx.x, sum);
  });
  CHECK(sums[3] == 120);
  CHECK(sums[20] == 120 + 16 * 16);
}

TEST_CASE("masks that are wrong are refused") {
  checkBlockFails(
      32, [] { __shfl_sync(0x1U, 1, 0); },
      "calls shfl with mask 0x1, which does not name it");
  // A block of 8 threads with the mask of a whole warp.
  checkBlockFails(
      8, [] { __shfl_xor_sync(all, 1, 4); },
      "thread 0 calls shfl_xor with mask 0xffffffff: the warp has no lanes "
      "0xffffff00 in a block of 8 threads");
  runBlock(8, [](int *) { __shfl_xor_sync(0xffU, 1, 4); });
  checkBlockFails(
      32,
      [] {
        if (threadIdx.x >= 16)
          __shfl_sync(0xffff0000U, 1, 0);
      },
      "takes the value of lane 0 in shfl, which mask 0xffff0000 does not name");
}

TEST_CASE("lanes that do not come are reported") {
  checkBlockFails(
      32,
      [] {
        if (threadIdx.x != 5)
          __syncwarp();
      },
      "thread 5");
  checkBlockFails(
      32,
      [] {
        if (threadIdx.x < 16)
          __shfl_xor_sync(all, 1, 1);
        else
          __ballot_sync(all, 1);
      },
      "calls ballot where other lanes of mask 0xffffffff are in shfl_xor");
  // Lanes of one mask wait for a barrier that others reach later.
  checkBlockFails(
      32,
      [] {
        if (threadIdx.x < 16)
          __syncthreads();
        __syncwarp();
      },
      "a barrier or warp operation that not all threads reach",
      Failure::Deadlock);
}

TEST_CASE("__syncthreads meets all threads that have not left") {
  auto counts = runBlock(64, [](int *out) {
    if (threadIdx.x >= 48)
      return;
    st(out + threadIdx.x, __syncthreads_count(threadIdx.x % 3 == 0));
  });
  CHECK(counts[0] == 16);
  CHECK(counts[47] == 16);
  auto any = runBlock(64, [](int *out) {
    int first = __syncthreads_or(threadIdx.x == 40);
    int second = __syncthreads_or(0);
    st(out + threadIdx.x, 10 * first + second);
  });
  CHECK(any[0] == 10);
}

TEST_CASE("threads of a block at two places are a divergent barrier") {
  checkBlockFails(
      64,
      [] {
        if (threadIdx.x < 32)
          __syncthreads();
        else
          __syncthreads();
      },
      "is at __syncthreads of WarpTest.cpp:");
  checkBlockFails(
      64,
      [] {
        if (threadIdx.x < 32)
          __syncthreads();
        else
          bar_sync(1, 64);
      },
      "32 at __syncthreads of line", Failure::Deadlock);
}

TEST_CASE("named barriers meet a part of the block") {
  // Warp 0 fills, warp 1 takes: arrive on one side, wait on the other.
  auto handOver = [](bool arrives, simt::Report *report) {
    return runBlock(
        64,
        [=](int *out) {
          LAYLINE_SHARED(int, slots, 32);
          unsigned lane = threadIdx.x % 32;
          if (threadIdx.x < 32) {
            slots[lane] = static_cast<int>(lane * lane);
            if (arrives)
              bar_arrive(3, 64);
          } else {
            if (arrives)
              bar_sync(3, 64);
            st(out + lane, static_cast<int>(slots[lane]));
          }
        },
        report, optionsOf(Mode::HappensBefore, 1));
  };
  simt::Report report;
  auto values = handOver(true, &report);
  checkGood(report);
  CHECK(values[5] == 25);
  handOver(false, &report);
  checkFailure(report, Failure::Race, "shared 'slots'");
}

TEST_CASE("named barriers are refused or reported where they cannot meet") {
  checkBlockFails(
      64, [] { bar_sync(1, 48); },
      "calls bar.sync 1, 48; expected a barrier of 1..15 and a multiple of 32 "
      "threads of a block of 64");
  checkBlockFails(
      64, [] { bar_sync(16, 64); }, "calls bar.sync 16, 64");
  checkBlockFails(
      64, [] { bar_sync(1, threadIdx.x < 32 ? 64 : 32); },
      "while others wait there for");
  checkBlockFails(
      64,
      [] {
        if (threadIdx.x < 32)
          bar_sync(2, 64);
      },
      "bar.sync 2 (32 of 64 arrived)", Failure::Deadlock);
  // The last warp of a block of 40 counts as whole.
  runBlock(40, [](int *) { bar_sync(1, 64); });
}
