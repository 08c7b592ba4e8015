// Store buffers: what others see late, in another order, or in pieces.
#include "Harness.h"

using namespace layline::test;
using namespace layline::device;
namespace simt = layline::simt;

namespace {

constexpr int seeds = 40;

/// How many of the seeds show the reader on rank 1 something that is not what
/// `isExpected` accepts. The reader returns what it saw.
template <typename Write, typename Read>
int surprises(Write write, Read read, float expected) {
  return caughtOf(Mode::Weak, seeds, [&](const simt::Options &options) {
    simt::Machine machine(2, options);
    auto data = machine.allocateSymmetric<float>(64, "data");
    auto flags = machine.allocateSymmetric<std::uint32_t>(4, "flags");
    float *seen = machine.allocate<float>(1, 1, "seen");
    std::fill_n(flags[1], 4, 0U);
    std::fill_n(data[1], 64, 0.0F);
    float *target = data[1];
    std::uint32_t *flag = flags[1];
    machine.launch(0, {"writer", {1}, {32}}, [=] { write(target, flag); });
    machine.launch(1, {"reader", {1}, {1}},
                   [=] { st(seen, static_cast<float>(read(target, flag))); });
    checkGood(machine.run());
    return *seen != expected;
  });
}

const auto waitAndLoad = [](float *data, std::uint32_t *flag) {
  while (ld_acquire_sys(flag) == 0) {
  }
  return ld(data);
};

} // namespace

TEST_CASE("a flag may overtake the data that it does not release") {
  auto write = [](auto publish) {
    return [=](float *data, std::uint32_t *flag) {
      if (threadIdx.x == 0) {
        st(data, 1.0F);
        publish(flag);
      }
    };
  };
  auto release = write([](std::uint32_t *flag) { st_release_sys(flag, 1); });
  CHECK(surprises(release, waitAndLoad, 1) == 0);
  auto relaxed = write([](std::uint32_t *flag) { st_relaxed_sys(flag, 1); });
  CHECK(surprises(relaxed, waitAndLoad, 1) > 0);
  auto fenced = write([](std::uint32_t *flag) {
    fence_acq_rel_sys();
    st_relaxed_sys(flag, 1);
  });
  CHECK(surprises(fenced, waitAndLoad, 1) == 0);
  auto fencedForRank = write([](std::uint32_t *flag) {
    fence_acq_rel_gpu();
    st_relaxed_sys(flag, 1);
  });
  CHECK(surprises(fencedForRank, waitAndLoad, 1) > 0);
  auto counted =
      write([](std::uint32_t *flag) { red_add_relaxed_sys(flag, 1); });
  CHECK(surprises(counted, waitAndLoad, 1) > 0);
  auto countedRelease =
      write([](std::uint32_t *flag) { red_add_release_sys(flag, 1); });
  CHECK(surprises(countedRelease, waitAndLoad, 1) == 0);
}

TEST_CASE("a release covers the block's stores before a barrier") {
  auto write = [](auto meet) {
    return [=](float *data, std::uint32_t *flag) {
      if (threadIdx.x == 9)
        st(data, 1.0F);
      meet();
      if (threadIdx.x == 0)
        st_release_sys(flag, 1);
    };
  };
  CHECK(surprises(write([] { __syncthreads(); }), waitAndLoad, 1) == 0);
  CHECK(surprises(write([] { __syncwarp(); }), waitAndLoad, 1) == 0);
  CHECK(surprises(write([] {}), waitAndLoad, 1) > 0);
}

TEST_CASE("a release for the rank is handed on to peers by the next one for "
          "the system") {
  auto chain = [](bool waits) {
    return caughtOf(Mode::Weak, seeds, [&](const simt::Options &options) {
      simt::Machine machine(2, options);
      auto data = machine.allocateSymmetric<float>(4, "data");
      auto flags = machine.allocateSymmetric<std::uint32_t>(4, "flags");
      float *seen = machine.allocate<float>(1, 1, "seen");
      *flags[0] = *flags[1] = 0;
      *data[1] = 0;
      float *target = data[1];
      std::uint32_t *near = flags[0], *far = flags[1];
      machine.launch(0, {"writers", {2}, {1}}, [=] {
        if (blockIdx.x == 0) {
          st(target, 1.0F);
          st_release_gpu(near, 1);
          return;
        }
        while (waits && ld_acquire_gpu(near) == 0) {
        }
        st_release_sys(far, 1);
      });
      machine.launch(1, {"reader", {1}, {1}},
                     [=] { st(seen, waitAndLoad(target, far)); });
      checkGood(machine.run());
      return *seen != 1;
    });
  };
  CHECK(chain(true) == 0);
  CHECK(chain(false) > 0);
}

TEST_CASE("relaxed vectors arrive word by word") {
  // The last word of four says nothing about the other three.
  auto write = [](float *data, std::uint32_t *) {
    if (threadIdx.x == 0)
      st_relaxed_v4(data, Vec16{1, 1, 1, 1});
  };
  auto sumOf = [](auto isThere) {
    return [=](float *data, std::uint32_t *) {
      Vec16 words;
      do
        words = ld_relaxed_v4(data);
      while (!isThere(words));
      return words.x + words.y + words.z + words.w;
    };
  };
  CHECK(surprises(write, sumOf([](Vec16 v) { return v.w != 0; }), 4) > 0);
  CHECK(surprises(write, sumOf([](Vec16 v) {
                    return v.x != 0 && v.y != 0 && v.z != 0 && v.w != 0;
                  }),
                  4) == 0);
}

TEST_CASE("a thread sees its own stores, and a byte's stores stay in order") {
  // The writer reads back; the reader sees 2 after the flag, never 1.
  auto write = [](float *data, std::uint32_t *flag) {
    if (threadIdx.x != 0)
      return;
    st(data, 1.0F);
    st(data + 1, 5.0F);
    if (ld(data) == 1.0F)
      st(data, 2.0F);
    if (ld_v4(data).y == float_bits(5.0F))
      st_release_sys(flag, 1);
  };
  CHECK(surprises(write, waitAndLoad, 2) == 0);
  // Coherence alone: without a release the reader that has seen the second
  // store never goes back to the first.
  auto twice = [](float *data, std::uint32_t *) {
    if (threadIdx.x != 0)
      return;
    auto *word = reinterpret_cast<std::uint32_t *>(data);
    st_relaxed_sys(word, 1);
    st_relaxed_sys(word, 2);
  };
  CHECK(surprises(
            twice,
            [](float *data, std::uint32_t *) {
              auto *word = reinterpret_cast<std::uint32_t *>(data);
              std::uint32_t last = 0;
              bool goesBack = false;
              while (last != 2) {
                std::uint32_t next = ld_relaxed_sys(word);
                goesBack |= next < last;
                last = next;
              }
              return goesBack ? 1 : 0;
            },
            0) == 0);
}

TEST_CASE("stores reach memory before what follows a launch") {
  CHECK(caughtOf(Mode::Weak, seeds, [](const simt::Options &options) {
          simt::Machine machine(1, options);
          int *data = machine.allocate<int>(0, 64, "data");
          int *copy = machine.allocate<int>(0, 64, "copy");
          machine.launch(0, {"fill", {2}, {32}}, [=] {
            unsigned at = blockIdx.x * 32 + threadIdx.x;
            st(data + at, static_cast<int>(at));
          });
          machine.launch(0, {"reverse", {2}, {32}}, [=] {
            unsigned at = blockIdx.x * 32 + threadIdx.x;
            st(copy + 63 - at, ld(data + at));
          });
          checkGood(machine.run());
          for (int i = 0; i < 64; ++i)
            if (copy[63 - i] != i)
              return true;
          return false;
        }) == 0);
}
