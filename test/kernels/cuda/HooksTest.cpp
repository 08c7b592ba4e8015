// Every option and hook of the C API on device cuda.
#include "FakeGpu.h"
#include "devices/cuda/Card.h"
#include "hooks/HookWalk.h"
#include "hooks/OneCall.h"
#include "kernels/local/LocalParams.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace layline::test;
namespace local = layline::local;

namespace {

bool usesStream(const std::function<void(void *)> &run) {
  FakeGpu gpu;
  Card card(0);
  OwnedStream stream(card);
  gpu.runSlowly(stream.get(), "the engine's");
  run(stream.get());
  // Before the first kernel; StreamsTest.cpp has all of the order.
  auto kernel = std::find_if(
      gpu.order().begin(), gpu.order().end(),
      [](const std::string &name) { return name.rfind("layline_", 0) == 0; });
  return std::count(gpu.order().begin(), kernel, "the engine's") == 1;
}

bool poisons(const std::function<void(bool)> &run) {
  std::size_t fills[2];
  for (bool poison : {false, true}) {
    FakeGpu gpu;
    run(poison);
    fills[poison] = gpu.callsOf("cuMemsetD8Async");
  }
  return fills[true] > fills[false];
}

bool waits(const std::function<void(double)> &run) {
  FakeGpu gpu(cards(2));
  std::size_t meetings = 0;
  bool areAsLong = true;
  gpu.watch("layline_group_barrier", [&](Address parameters) {
    ++meetings;
    areAsLong =
        areAsLong && reinterpret_cast<const local::BarrierParams *>(parameters)
                             ->watch.limit == 2500000000U;
  });
  run(2.5);
  return meetings > 0 && areAsLong;
}

bool usesSwitch(const std::function<void(bool)> &run) {
  std::size_t bindings[2];
  for (bool bySwitch : {false, true}) {
    FakeCards fake = cards(4);
    fake.multicast = true;
    FakeGpu gpu(fake);
    run(bySwitch);
    bindings[bySwitch] = gpu.callsOf("cuMulticastBindMem");
  }
  return bindings[true] > 0 && bindings[false] == 0;
}

} // namespace

TEST_CASE("device cuda does, or refuses with the reason", "[hooks]") {
  const std::map<std::string, std::string> refused = {
      {"options.precision",
       "device 'cuda' computes in float32; precision f64 is the cpu's"},
      {"layline_cache_hooks_set, append and read",
       "cache 'positions': device 'cuda' reads and writes rows on the card, "
       "and "
       "hands none to the host; found the hooks append and read, expected "
       "pages"}};
  // A fake for what does not bring its own.
  auto gpu = std::make_unique<FakeGpu>();
  auto alone = [&](const auto &probe) {
    return [&](const auto &run) {
      gpu.reset();
      bool result = probe(run);
      gpu = std::make_unique<FakeGpu>();
      return result;
    };
  };
  auto allocate = [](std::size_t bytes, std::size_t) {
    Address address = 0;
    REQUIRE(driver().memAlloc(&address, bytes) == kSuccess);
    return reinterpret_cast<void *>(address);
  };
  auto release = [](void *memory) {
    driver().memFree(reinterpret_cast<Address>(memory));
  };
  auto outcomes =
      walkHooks({"cuda", alone(usesStream), alone(poisons), alone(waits),
                 alone(usesSwitch), allocate, release});
  CHECK(outcomes.size() > refused.size());
  for (const auto &[item, outcome] : outcomes) {
    CAPTURE(item);
    auto found = refused.find(item);
    CHECK(outcome == (found == refused.end() ? "done" : found->second));
  }
  CHECK(gpu->liveCount() == 0);
}

TEST_CASE("one call at a time uses an engine of cards", "[hooks]") {
  FakeGpu gpu;
  checkOneCallAtATime("cuda");
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}
