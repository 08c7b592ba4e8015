// Heads that are rotated by the kernel of the catalogue on device cuda.
#include "FakeGpu.h"
#include "KernelBench.h"
#include "Uses.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace layline::test;

namespace {

constexpr std::int64_t kHeads = 2, kHeadWidth = 24, kTokens = 10;

/// A rope step of own rows, whose positions are a part of a run's input.
struct Heads {
  Heads(std::int64_t ranks, std::int64_t start, const std::string &dtype,
        const std::string &style, int rotary, bool isInPlace = false)
      : bench(ranks, kTokens, start, dtype) {
    if (style == "interleaved_to_half")
      bench.b.require("latent_attention");
    std::vector<double> near, far;
    for (int i = 0; i < rotary / 2; ++i) {
      near.push_back(std::pow(1e4, -2.0 * i / rotary));
      far.push_back(near.back() / 2);
    }
    // Other numbers from position 100 on.
    bench.b.table(
        "rope", near,
        {{"long",
          {{"above", 100}, {"attention_factor", 1.5}, {"inv_freq", far}}}});
    std::string table =
        bench.table("x", randomValue({64, kHeads * kHeadWidth}, 1));
    bench.begin();
    std::string mine = bench.rows(bench.source(table, kHeads * kHeadWidth),
                                  kHeads * kHeadWidth);
    Json rows = bench.b.block("tokens"), shape = {"tokens", kHeads, kHeadWidth};
    std::string positions =
        bench.b.typed("i64", Json::array({"tokens"}), Json::array({rows}));
    const Json heads = {{"buffer", mine}, {"shape", shape}};
    std::string y =
        isInPlace ? mine : bench.buffer(shape, {rows, nullptr, nullptr});
    bench.b.step("slice", {{"input", bench.positions}, {"output", positions}},
                 {{"dim", 0}, {"range", "tokens/tp"}});
    bench.b.step("rope",
                 {{"input", heads},
                  {"positions", positions},
                  {"table", "rope"},
                  {"output", isInPlace ? heads : Json(y)}},
                 {{"style", style}, {"rotary", rotary}});
    bench.b.output("y", y);
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
  FakeCards fake;
  fake.count = count;
  fake.emulator.raceCheck = true;
  FakeGpu gpu(fake);
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
  FakeCards fake;
  fake.emulator.raceCheck = true;
  FakeGpu gpu(fake);
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
  FakeCards fake;
  fake.count = 2;
  FakeGpu gpu(fake);
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
