// Heads that are rotated by the kernel of the catalogue on device cuda.
#include "FakeGpu.h"
#include "Uses.h"
#include "plans/StepPlans.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace layline::test;

namespace {

/// A rope step of own rows, whose positions are a part of a run's input.
struct Heads {
  Heads(std::int64_t ranks, std::int64_t start, const std::string &dtype,
        const std::string &style, int rotary, bool isInPlace = false)
      : bench(ranks, 10, start, dtype) {
    addRope(bench, style, rotary, isInPlace);
    plan = bench.b.finish();
  }

  Bench bench;
  Json plan;
};

} // namespace

TEST_CASE("heads are rotated on cards as on device cpu", "[fused]") {
  auto style =
      GENERATE(as<std::string>(), "half", "interleaved", "interleaved_to_half");
  // All pairs in vectors; pairs by element, with features behind them.
  auto rotary = GENERATE(16, 12);
  auto [count, ranks, start] = GENERATE(
      std::tuple(1, 3, 0), std::tuple(2, 3, 95), std::tuple(4, 4, 1 << 24));
  CAPTURE(style, rotary, count, start);
  Heads heads(ranks, start, "bf16", style, rotary);
  REQUIRE(findings(heads.plan) == "");
  FakeGpu gpu(checkedCards(count));
  {
    TestEngine cuda(heads.plan, LAYLINE_PRECISION_BF16, "cuda"),
        cpu(heads.plan, LAYLINE_PRECISION_BF16, "cpu");
    heads.bench.run(cuda);
    heads.bench.run(cpu);
    std::vector<double> found = cuda.output("y").data,
                        expected = cpu.output("y").data;
    REQUIRE(found.size() == expected.size());
    std::size_t apart = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      // A step of float32 may be one of bfloat16 where it is rounded.
      REQUIRE(std::abs(found[i] - expected[i]) <=
              std::abs(expected[i]) * 0x1p-7 + 1e-6);
      apart += found[i] != expected[i];
    }
    CHECK(apart <= found.size() / 50);
    std::vector<std::string> uses = usesOf(cuda.get());
    INFO(Catch::Detail::stringify(uses));
    CHECK(usesWith(uses, "rope: rope bf16 x1 own->own " + style +
                             (rotary == 16 ? "" : " by_element")) == 1);
  }
  CHECK(std::count_if(
            gpu.launches().begin(), gpu.launches().end(), [](const auto &seen) {
              return seen.kernel.rfind("layline_fused_rope_BF16_x1_", 0) == 0;
            }) == count);
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("heads are rotated where they stand, unless pairs change places",
          "[fused]") {
  auto style =
      GENERATE(as<std::string>(), "half", "interleaved", "interleaved_to_half");
  CAPTURE(style);
  Heads heads(2, 3, "bf16", style, 16, /*isInPlace=*/true);
  REQUIRE(findings(heads.plan) == "");
  FakeGpu gpu(checkedCards(1));
  TestEngine cuda(heads.plan, LAYLINE_PRECISION_BF16, "cuda"),
      cpu(heads.plan, LAYLINE_PRECISION_BF16, "cpu");
  heads.bench.run(cuda);
  heads.bench.run(cpu);
  CHECK(error(cuda.output("y").data, cpu.output("y").data) < 0x1p-7);
  CHECK(usesWith(usesOf(cuda.get()),
                 style == "interleaved_to_half"
                     ? "rope: layline_rope (pairs change their places in one "
                       "buffer)"
                     : "rope: rope bf16 x1 own->own " + style) == 1);
  CHECK(gpu.emulatorError().empty());
}

TEST_CASE("in float32, of which cards have no rope of the catalogue, the "
          "device's own rotates",
          "[fused]") {
  auto style =
      GENERATE(as<std::string>(), "half", "interleaved", "interleaved_to_half");
  auto start = GENERATE(0, 95, 1 << 20);
  CAPTURE(style, start);
  Heads heads(3, start, "f32", style, 12);
  FakeGpu gpu(cards(2));
  TestEngine cuda(heads.plan, LAYLINE_PRECISION_F32, "cuda"),
      cpu(heads.plan, LAYLINE_PRECISION_F32, "cpu");
  heads.bench.run(cuda);
  heads.bench.run(cpu);
  CHECK(error(cuda.output("y").data, cpu.output("y").data) < 5e-6);
  CHECK(usesWith(usesOf(cuda.get()),
                 "rope: layline_rope (no kernel is rope f32 x1 own->own " +
                     style + " by_element)") == 1);
  CHECK(gpu.emulatorError().empty());
}
