// A rank's value to all of its group, as one kernel on device cuda.
#include "FakeGpu.h"
#include "Uses.h"
#include "plans/StepPlans.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <tuple>

using namespace layline::test;

namespace {

constexpr layline_precision kF32 = LAYLINE_PRECISION_F32,
                            kBF16 = LAYLINE_PRECISION_BF16;

} // namespace

TEST_CASE("a rank's value and ids go to all of its group as bytes", "[fused]") {
  // Cards, ranks, the root's number from the first or from behind, and rows: of
  // 128 elements they are chunks for several blocks, 5 x 3 no whole vectors.
  auto [count, ranks, precision, root, tokens, width] = GENERATE(
      std::tuple(1, 2, kF32, 0, 10, 128), std::tuple(2, 3, kBF16, -1, 18, 128),
      std::tuple(4, 4, kF32, -1, 10, 128), std::tuple(1, 8, kBF16, 0, 10, 128),
      std::tuple(1, 3, kF32, 0, 5, 3), std::tuple(1, 2, kBF16, -1, 5, 3));
  CAPTURE(count, ranks, precision, root, width);
  bool isBF16 = precision == LAYLINE_PRECISION_BF16;
  Bench bench(ranks, tokens, 0, isBF16 ? "bf16" : "f32");
  addBroadcasts(bench, root, width);
  Json plan = bench.b.finish();
  REQUIRE(findings(plan) == "");
  FakeGpu gpu(checkedCards(count));
  {
    TestEngine cuda(plan, precision, "cuda"), cpu(plan, precision, "cpu");
    bench.run(cpu);
    // The second run counts the chunks' uses on.
    for (int time = 0; time < 2; ++time) {
      bench.run(cuda);
      CHECK(cuda.output("sent").data == cpu.output("sent").data);
      CHECK(cuda.integers("ids") == cpu.integers("ids"));
    }
    std::map<std::string, int> steps = stepsBy(cuda.get());
    std::string name = "broadcast x" + std::to_string(ranks);
    CHECK(steps[name] == (width == 3 ? 0 : 2));
  }
  std::ptrdiff_t launches = std::count_if(
      gpu.launches().begin(), gpu.launches().end(), [](const auto &launch) {
        return launch.cooperative &&
               launch.kernel.rfind("layline_fused_broadcast_x", 0) == 0;
      });
  CHECK((launches > 0) == (width != 3));
  INFO(gpu.emulatorError());
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}
