// The engine's own streams: a run is behind what they hold, and what they are
// given later is behind the run.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "devices/cuda/Card.h"
#include "layline/hooks.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace layline::test;

namespace {

/// Places in the order in which work began, -1 if it did not.
struct Places {
  std::ptrdiff_t first = -1, last = -1;
};
Places placesOf(const FakeGpu &gpu, std::size_t from,
                const std::vector<std::string> &names, bool areNames) {
  Places places;
  for (std::size_t i = from; i < gpu.order().size(); ++i) {
    bool isNamed =
        std::find(names.begin(), names.end(), gpu.order()[i]) != names.end();
    if (isNamed != areNames)
      continue;
    places.last = static_cast<std::ptrdiff_t>(i);
    if (places.first < 0)
      places.first = places.last;
  }
  return places;
}

} // namespace

TEST_CASE("a run is between what the engine's streams hold and what follows",
          "[hooks]") {
  auto [count, ranks] = GENERATE(std::pair(1, 4), std::pair(2, 4));
  unsigned seed = GENERATE(0U, 1U, 7U);
  bool isHandedIn = GENERATE(true, false);
  CAPTURE(count, seed, isHandedIn);
  FakeGpu gpu(cards(count, seed));
  {
    GoldenRun run("cuda", "v1.0/llama-tp4", "llama");
    // Of the first rank and of the last, whose card may be another.
    Card first(0), last(count - 1);
    OwnedStream mine(first), other(last);
    if (isHandedIn) {
      run.check(layline_stream_set(run.get(), 0, "compute", mine.get()));
      run.check(
          layline_stream_set(run.get(), ranks - 1, "compute", other.get()));
    }
    run.run(0, 2); // the graphs are captured
    std::size_t from = gpu.order().size();
    gpu.runSlowly(mine.get(), "before");
    gpu.runSlowly(other.get(), "before too");
    // Another thread of the engine's, while layline_run waits.
    gpu.atCall("cuStreamSynchronize",
               [&] { gpu.runSlowly(mine.get(), "after"); });
    run.setPast(0);
    run.run(0, 2);
    Places before = placesOf(gpu, from, {"before", "before too"}, true),
           itself =
               placesOf(gpu, from, {"before", "before too", "after"}, false),
           after = placesOf(gpu, from, {"after"}, true);
    REQUIRE(before.first >= 0);
    REQUIRE(itself.first >= 0);
    REQUIRE(after.first >= 0);
    INFO(before.last << " " << itself.first << " " << itself.last << " "
                     << after.first);
    CHECK((before.last < itself.first) == isHandedIn);
    CHECK((itself.last < after.first) == isHandedIn);
    CHECK(error(run.logits(), run.recorded("logits", 0, 2)) < 5e-6);
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("a stream that is none of the rank's card is told", "[hooks]") {
  FakeGpu gpu(cards(2, 0));
  {
    GoldenRun run("cuda", "v1.0/llama-tp4", "llama");
    Card second(1);
    OwnedStream stream(second);
    run.check(layline_stream_set(run.get(), 1, "compute", stream.get()));
    CHECK_THROWS_WITH(
        run.run(0, 2),
        Catch::Contains("the engine's stream 'compute' of rank 1; "
                        "one of card 0 (emulated) is expected") &&
            Catch::Contains("cuEventRecord"));
    // Taken back, the engine goes on.
    run.check(layline_stream_set(run.get(), 1, "compute", nullptr));
    run.run(0, 2);
    CHECK(error(run.logits(), run.recorded("logits", 0, 2)) < 5e-6);
  }
  CHECK(gpu.liveCount() == 0);
}
