// multimem: sums over replicas, stores to all of them, and what is refused.
#include "Harness.h"

#include <cmath>

using namespace layline::test;
using namespace layline::device;
namespace simt = layline::simt;
using simt::Failure;

namespace {

/// A multicast address over 16 bytes of T on each of three ranks.
template <typename T> struct Replicas {
  explicit Replicas(const simt::Options &options = {}) : machine(3, options) {
    all = machine.allocateSymmetric<T>(16 / sizeof(T), "x");
    std::vector<void *> pointers(all.begin(), all.end());
    address = static_cast<T *>(machine.makeMulticast(pointers, 16, "mc x"));
  }
  template <typename Body> simt::Report run(Body body) {
    T *at = address;
    machine.launch(0, {"kernel", {1}, {1}}, [=] { body(at); });
    return machine.run();
  }
  simt::Machine machine;
  std::vector<T *> all;
  T *address;
};

template <typename T> void checkSum() {
  Replicas<T> x;
  for (std::size_t rank = 0; rank < 3; ++rank)
    for (std::size_t i = 0; i < 16 / sizeof(T); ++i)
      x.all[rank][i] = from_float<T>(static_cast<float>(rank * 8 + i) + 0.25F);
  auto *out = static_cast<T *>(x.machine.template allocate<T>(0, 8, "out"));
  checkGood(x.run([=](T *at) { st_v4(out, mm_ld_reduce<T>(at)); }));
  for (std::size_t i = 0; i < 16 / sizeof(T); ++i)
    CHECK(to_float(out[i]) == static_cast<float>(24 + 3 * i) + 0.75F);
  CHECK(x.machine.counters(0, "kernel").multicastReadBytes == 16);
}

} // namespace

TEST_CASE("ld_reduce adds the replicas in float32") {
  SECTION("bf16") { checkSum<bf16>(); }
  SECTION("f16") { checkSum<f16>(); }
  SECTION("f32") { checkSum<float>(); }
}

TEST_CASE("ld_reduce rounds once") {
  // 1 + 2^-9 + 2^-9: each alone is lost in bf16, both together are a step.
  Replicas<bf16> x;
  for (std::size_t i = 0; i < 8; ++i) {
    x.all[0][i] = from_float<bf16>(1.0F);
    x.all[1][i] = x.all[2][i] = from_float<bf16>(0x1p-8F);
  }
  auto *out = x.machine.allocate<bf16>(0, 8, "out");
  checkGood(x.run([=](bf16 *at) { st_v4(out, mm_ld_reduce<bf16>(at)); }));
  CHECK(to_float(out[0]) == 1.0F + 0x1p-7F);
}

TEST_CASE("the order of a sum is drawn where asked") {
  auto sums = [](bool random) {
    simt::Options options;
    options.seed = 5;
    options.randomReductionOrder = random;
    Replicas<float> x(options);
    *x.all[0] = 1e8F;
    *x.all[1] = -1e8F;
    *x.all[2] = 1.0F;
    auto *out = x.machine.allocate<float>(0, 4 * 32, "out");
    checkGood(x.run([=](float *at) {
      for (int i = 0; i < 32; ++i)
        st_v4(out + 4 * i, mm_ld_reduce<float>(at));
    }));
    int differing = 0;
    for (int i = 0; i < 32; ++i)
      differing += out[4 * i] != 1.0F;
    return differing;
  };
  CHECK(sums(false) == 0); // in rank order
  CHECK(sums(true) > 0);
}

TEST_CASE("stores and updates reach every replica") {
  Replicas<float> x;
  for (float *replica : x.all)
    std::fill_n(replica, 4, 1.0F);
  checkGood(x.run([=](float *at) {
    mm_red_add_v4<float>(at, as_vec16(Pack16<float>{{1, 2, 3, 4}}));
  }));
  for (float *replica : x.all)
    CHECK(std::vector<float>(replica, replica + 4) ==
          std::vector<float>{2, 3, 4, 5});
  checkGood(x.run([=](float *at) {
    mm_st_v4(at, as_vec16(Pack16<float>{{6, 7, 8, 9}}));
  }));
  for (float *replica : x.all)
    CHECK(std::vector<float>(replica, replica + 4) ==
          std::vector<float>{6, 7, 8, 9});
  CHECK(x.machine.counters(0, "kernel").multicastWriteBytes == 32);
}

TEST_CASE("words and pairs of words are stored into every replica") {
  Replicas<std::uint32_t> x;
  for (std::uint32_t *replica : x.all)
    std::fill_n(replica, 4, 1U);
  checkGood(x.run([=](std::uint32_t *at) {
    mm_st(at + 1, std::uint32_t(7));
    mm_st(reinterpret_cast<std::uint64_t *>(at + 2), 0x500000009ULL);
  }));
  for (std::uint32_t *replica : x.all)
    CHECK(std::vector<std::uint32_t>(replica, replica + 4) ==
          std::vector<std::uint32_t>{1, 7, 9, 5});
  CHECK(x.machine.counters(0, "kernel").multicastWriteBytes == 12);
  // Where eight bytes do not begin, where there are none, and what is no
  // multicast address.
  checkFailure(x.run([=](std::uint32_t *at) {
    mm_st(reinterpret_cast<std::uint64_t *>(at + 1), std::uint64_t(1));
  }),
               Failure::Access, "multimem.st");
  Replicas<std::uint32_t> y;
  checkFailure(
      y.run([](std::uint32_t *at) { mm_st(at + 4, std::uint32_t(1)); }),
      Failure::Access, "multimem.st");
  Replicas<std::uint32_t> z;
  std::uint32_t *own = z.all[0];
  checkFailure(z.run([=](std::uint32_t *) { mm_st(own, std::uint32_t(1)); }),
               Failure::Access, "not a multicast address");
}

TEST_CASE("a counter on every rank is a barrier of them all") {
  auto run = [](bool releases, Mode mode, std::uint64_t seed) {
    simt::Machine machine(3, optionsOf(mode, seed));
    auto counts = machine.allocateSymmetric<std::uint32_t>(4, "counts");
    auto data = machine.allocateSymmetric<float>(4, "data");
    std::vector<void *> pointers(counts.begin(), counts.end());
    auto *all = static_cast<std::uint32_t *>(
        machine.makeMulticast(pointers, 16, "mc counts"));
    int wrong = 0;
    std::vector<float *> seen;
    for (int rank = 0; rank < 3; ++rank) {
      *counts[static_cast<std::size_t>(rank)] = 0;
      *data[static_cast<std::size_t>(rank)] = 0;
      seen.push_back(machine.allocate<float>(rank, 1, "seen"));
    }
    for (std::size_t rank = 0; rank < 3; ++rank) {
      float *own = data[rank], *next = data[(rank + 1) % 3], *out = seen[rank];
      std::uint32_t *count = counts[rank];
      machine.launch(static_cast<int>(rank), {"barrier", {1}, {1}}, [=] {
        st(next, 1.0F);
        if (releases)
          mm_red_add_release_sys(all, 1);
        else
          mm_red_add_relaxed_sys(all, 1);
        while (ld_acquire_sys(count) != 3) {
        }
        st(out, ld(own));
      });
    }
    simt::Report report = machine.run();
    for (float *value : seen)
      wrong += *value != 1;
    return wrong != 0 || !report.ok();
  };
  int caughtWeak = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CHECK(!run(true, Mode::Weak, seed));
    CHECK(!run(true, Mode::HappensBefore, seed));
    caughtWeak += run(false, Mode::Weak, seed);
    CHECK(run(false, Mode::HappensBefore, seed));
  }
  CHECK(caughtWeak > 0);
}

TEST_CASE("a flag stored to every rank publishes") {
  Replicas<std::uint32_t> x(optionsOf(Mode::HappensBefore, 1));
  for (std::uint32_t *replica : x.all)
    std::fill_n(replica, 4, 0U);
  auto data = x.machine.allocateSymmetric<float>(4, "data");
  for (std::size_t rank = 1; rank < 3; ++rank) {
    std::uint32_t *flag = x.all[rank];
    float *source = data[0];
    x.machine.launch(static_cast<int>(rank), {"reader", {1}, {1}}, [=] {
      while (ld_acquire_sys(flag) == 0) {
      }
      ld(source);
    });
  }
  float *source = data[0];
  checkGood(x.run([=](std::uint32_t *at) {
    st(source, 1.0F);
    mm_st_release_sys(at, 1);
  }));
}

TEST_CASE("a plain access to a multicast address is refused") {
  checkFailure(Replicas<float>().run([](float *at) { ld_v4(at); }),
               Failure::Access,
               "ld of 16 bytes at byte 0 of multicast 'mc x' (16 bytes): a "
               "multicast address takes multimem only");
  checkFailure(Replicas<std::uint32_t>().run(
                   [](std::uint32_t *at) { st_release_sys(at, 1); }),
               Failure::Access, "a multicast address takes multimem only");
  // Not even one that the platform layer does not see.
  checkFailure(Replicas<float>().run(
                   [](float *at) { *const_cast<volatile float *>(at) = 1; }),
               Failure::Access,
               "reads or writes, not through the platform layer, byte 0 of "
               "multicast 'mc x' (16 bytes); a multicast address takes "
               "multimem only");
}

TEST_CASE("multimem takes a multicast address, in bounds") {
  Replicas<float> x;
  float *plain = x.all[0];
  checkFailure(x.run([=](float *) { mm_ld_reduce<float>(plain); }),
               Failure::Access, ": not a multicast address");
  checkFailure(
      Replicas<float>().run([](float *at) { mm_st_v4(at + 4, Vec16{}); }),
      Failure::Access,
      "multimem.st of 16 bytes at byte 16 of "
      "multicast 'mc x' (16 bytes)");
}

TEST_CASE("a multicast range wants one symmetric buffer of each rank") {
  simt::Machine machine(2, {});
  auto x = machine.allocateSymmetric<float>(4, "x");
  float *own = machine.allocate<float>(1, 4, "own");
  CHECK_THROWS_WITH(machine.makeMulticast({x[0], own}, 16, "mc"),
                    "multicast 'mc' wants 16 symmetric bytes of rank 1, found "
                    "byte 0 of 'own' (16 bytes, rank 1)");
  CHECK_THROWS_WITH(
      machine.makeMulticast({x[1], x[0]}, 16, "mc"),
      Catch::Matchers::Contains("of rank 0, found byte 0 of 'x'"));
  CHECK_THROWS_WITH(machine.makeMulticast({x[0]}, 16, "mc"),
                    "multicast 'mc' over 1 buffers on a machine of 2 ranks");
  CHECK_THROWS(machine.makeMulticast({x[0], x[1]}, 32, "mc"));
}

TEST_CASE("a multicast range at an address that the caller has reserved") {
  simt::Machine machine(2, {});
  auto x = machine.allocateSymmetric<std::uint32_t>(4, "x");
  alignas(16) static unsigned char reserved[16];
  CHECK_THROWS_WITH(machine.registerMulticast(reserved, {x[0]}, 16, "mc"),
                    Catch::Contains("over 1 buffers on a machine of 2 ranks"));
  CHECK_THROWS(machine.registerMulticast(reserved, {x[1], x[0]}, 16, "mc"));
  machine.registerMulticast(reserved, {x[0], x[1]}, 16, "mc");
  auto store = [&] {
    machine.launch(0, {"kernel", {1}, {1}}, [] {
      mm_st_v4(reserved, Vec16{1, 2, 3, 4});
    });
    return machine.run();
  };
  checkGood(store());
  for (const std::uint32_t *replica : x)
    CHECK(replica[3] == 4);
  machine.unregisterMemory(reserved);
  CHECK(store().failure == Failure::Access);
}
