// An engine's allocator on device cuda: weights, caches, and the arenas that no
// other card maps.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "devices/cuda/Driver.h"
#include "layline/hooks.h"

#include <catch2/catch.hpp>

#include <map>
#include <set>

using namespace layline::test;

namespace {

/// Memory of the current card, which the device makes the rank's.
struct Memory {
  std::map<layline_memory, std::int64_t> given;
  std::map<layline_memory, std::set<std::int64_t>> ranks;
  std::map<void *, std::size_t> out;
  std::set<std::size_t> alignments;
  std::int64_t left = std::int64_t(1) << 40;
  std::size_t shift = 0;
  bool isOfHost = false;
  std::vector<std::vector<char>> host;

  static void *allocate(void *user, std::size_t bytes, std::size_t alignment,
                        std::int64_t rank, layline_memory what) {
    auto &memory = *static_cast<Memory *>(user);
    memory.alignments.insert(alignment);
    memory.left -= static_cast<std::int64_t>(bytes);
    if (memory.left < 0)
      return nullptr;
    Address address = 0;
    if (memory.isOfHost) {
      memory.host.emplace_back(bytes + alignment);
      auto at = reinterpret_cast<Address>(memory.host.back().data());
      address = (at + alignment - 1) / alignment * alignment;
    } else if (driver().memAlloc(&address, bytes + memory.shift) != kSuccess) {
      return nullptr;
    }
    memory.given[what] += static_cast<std::int64_t>(bytes);
    memory.ranks[what].insert(rank);
    void *at = reinterpret_cast<void *>(address + memory.shift);
    memory.out[at] = bytes;
    return at;
  }
  static void release(void *user, void *at, std::size_t bytes, std::int64_t,
                      layline_memory) {
    auto &memory = *static_cast<Memory *>(user);
    CHECK(memory.out.at(at) == bytes);
    memory.out.erase(at);
    if (!memory.isOfHost)
      driver().memFree(reinterpret_cast<Address>(at) - memory.shift);
  }
  layline_allocator allocator() {
    return {sizeof(layline_allocator), this, allocate, release};
  }
};

std::vector<double>
logitsWith(Memory &memory,
           layline_precision precision = LAYLINE_PRECISION_F32) {
  layline_allocator allocator = memory.allocator();
  GoldenRun run("cuda", "v1.0/llama-tp4", "llama", precision, false,
                &allocator);
  for (auto [begin, tokens] : {std::pair(0, 5), std::pair(5, 1)})
    run.run(begin, tokens);
  if (precision == LAYLINE_PRECISION_F32)
    CHECK(error(run.logits(), run.recorded("logits", 5, 1)) < 5e-6);
  return run.logits();
}

} // namespace

TEST_CASE("an engine's allocator gives weights, caches, and arenas of one card",
          "[hooks]") {
  int count = GENERATE(1, 2);
  CAPTURE(count);
  FakeGpu gpu(cards(count));
  Memory memory;
  logitsWith(memory);
  CHECK(memory.out.empty());
  CHECK(memory.alignments == std::set<std::size_t>{256});
  CHECK(memory.given[LAYLINE_MEMORY_WEIGHTS] > 0);
  // 2 layers, keys and values of one of 2 KV heads of 16 and a position of 8
  // bytes on each of 4 ranks: first of 5 rows, then of twice as many.
  constexpr std::int64_t kRow = 4 * (2 * 2 * 16 * 4 + 8);
  CHECK(memory.given[LAYLINE_MEMORY_CACHE] == (5 + 10) * kRow);
  // What cards map of one another is made by the driver.
  bool areArenas = memory.given.count(LAYLINE_MEMORY_ARENA) > 0;
  CHECK(areArenas == (count == 1));
  const std::set<std::int64_t> all = {0, 1, 2, 3};
  if (count == 1)
    CHECK(memory.ranks[LAYLINE_MEMORY_ARENA] == all);
  CHECK(memory.ranks[LAYLINE_MEMORY_CACHE] == all);
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("the bits are those of the driver's memory", "[hooks]") {
  auto precision = GENERATE(LAYLINE_PRECISION_F32, LAYLINE_PRECISION_BF16);
  FakeGpu gpu(cards(2));
  Memory memory;
  GoldenRun own("cuda", "v1.0/llama-tp4", "llama", precision);
  own.run(0, 5);
  own.run(5, 1);
  CHECK(logitsWith(memory, precision) == own.logits());
}

TEST_CASE("an allocator of cards that has nothing, or the wrong thing, is told",
          "[hooks]") {
  FakeGpu gpu(cards(1));
  Memory whole;
  logitsWith(whole);
  std::int64_t weights = whole.given[LAYLINE_MEMORY_WEIGHTS],
               arenas = whole.given[LAYLINE_MEMORY_ARENA];
  for (auto [limit, what] :
       {std::pair(weights - 1, "for weights of rank"),
        {weights + arenas - 1, "for activations of rank 3"},
        {weights + arenas + 100, "for a cache of rank"}}) {
    Memory small;
    small.left = limit;
    CHECK_THROWS_WITH(logitsWith(small),
                      Catch::Contains("the engine's allocator has no") &&
                          Catch::Contains(what));
    CHECK(small.out.empty());
  }
  Memory crooked;
  crooked.shift = 64;
  CHECK_THROWS_WITH(logitsWith(crooked),
                    Catch::Contains("not at a multiple of 256 bytes"));
  CHECK(crooked.out.empty());
  Memory ofHost;
  ofHost.isOfHost = true;
  CHECK_THROWS_WITH(
      logitsWith(ofHost),
      Catch::Contains("the engine's allocator gives memory that is no memory "
                      "the driver knows; memory of card 0 (emulated) is "
                      "expected"));
  CHECK(ofHost.out.empty());
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}
