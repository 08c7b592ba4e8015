// Fused steps that are no launch: the pieces that are, values that a tap asks
// for, and rows that are quantized on their way.
#include "GoldenRun.h"
#include "KernelBench.h"
#include "LlamaPlan.h"

#include <catch2/catch.hpp>

#include <set>

using namespace layline;
using namespace layline::test;

namespace {

std::set<std::string> names(TestEngine &engine) {
  std::vector<std::string> list = engine.tapNames();
  return {list.begin(), list.end()};
}

} // namespace

TEST_CASE("what has no kernel runs in pieces, and says why") {
  // Seven ranks are none that kernels are compiled for.
  GoldenRun golden("llama", llamaPlan(7, Boundaries::Fused),
                   LAYLINE_PRECISION_F32, Asked::Outputs);
  golden.run(9);
  CHECK(golden.error() < kF32Bound);
  auto without = golden.withoutKernel();
  CHECK(count(without, "reduce_scatter+add+norm+all_gather: no kernel is "
                       "row_collective f32 x7 owed->everyone rms") == 4);
  CHECK(count(without, "reduce_scatter: no kernel is row_collective f32 x7 "
                       "owed->own") == 4);
  // add and norm are one launch.
  CHECK(count(golden.kernels(), "row_collective f32 x1 own->own rms") == 5);
}

TEST_CASE("pieces are as long as kernels are") {
  // Two norms of one sum, and an add of two sums with a bias each.
  GoldenRun golden("gpt_neox", frozenPlan("v1.2/gpt_neox-tp2"),
                   LAYLINE_PRECISION_F32, Asked::Outputs);
  golden.run(13);
  CHECK(golden.error() < kF32Bound);
  auto without = golden.withoutKernel();
  CHECK(count(without, "all_reduce+norm+norm: norm: it takes another value") ==
        1);
  auto kernels = golden.kernels();
  CHECK(count(kernels, "one_shot f32 x2 layer") >= 1);
  CHECK(count(kernels, "row_collective f32 x1 own->own layer") >= 2);
}

TEST_CASE("a tap sees what a kernel would keep, and the listing says so") {
  auto [plan, model, value] = GENERATE(
      std::tuple("v1.2/olmo2-tp8", "olmo2", "layer.0.attn_branch_norm"),
      std::tuple("v1.2/gpt_oss-tp3", "gpt_oss", "layer.0.attn_out"));
  CAPTURE(plan);
  TestEngine cpu(frozenPlan(plan), LAYLINE_PRECISION_F32);
  GoldenRun all(model, frozenPlan(plan), LAYLINE_PRECISION_F32),
      outputs(model, frozenPlan(plan), LAYLINE_PRECISION_F32, Asked::Outputs);
  cpu.weights(std::string(LAYLINE_GOLDEN_DIR "/") + model +
              "/model.safetensors");
  cpu.input("input_ids", count(13));
  cpu.input("positions", count(13));
  cpu.run(13);
  all.run(13);
  CHECK(all.error() < kF32Bound);
  CHECK(names(all.engine) == names(cpu));
  auto asksFor = [asked = std::string(value)](GoldenRun &golden) {
    for (const auto &[reason, steps] : golden.withoutKernel())
      if (reason.find("'" + asked +
                      "' is asked for, which the kernel keeps to itself") !=
          std::string::npos)
        return true;
    return false;
  };
  CHECK(asksFor(all));
  outputs.run(13);
  CHECK(outputs.error() < kF32Bound);
  CHECK_FALSE(asksFor(outputs));
  CHECK(outputs.engine.output("logits").data.size() ==
        all.engine.output("logits").data.size());
}

TEST_CASE("rows are quantized between a sum and a gather") {
  auto ranks = GENERATE(2, 3, 8);
  auto group = GENERATE(0, 32);
  auto byRows = GENERATE(true, false);
  auto taps = GENERATE(true, false);
  CAPTURE(ranks, group, byRows, taps);
  constexpr std::int64_t kWidth = 64, kTokens = 9;
  Bench bench(ranks, kTokens, 0, "bf16");
  bench.b.require("quantized_rows");
  std::string table = bench.table("x", randomValue({64, kWidth}, 3)), a = "a",
              w = bench.table("w", randomValue({kWidth}, 4));
  bench.weight(a, randomValue({kWidth, kWidth}, 2));
  std::string aw =
      bench.b.weight(a, {kWidth, kWidth}, {nullptr, bench.b.block(kWidth)});
  bench.begin();
  std::string whole = bench.source(table, kWidth),
              mine = bench.buffer({"tokens", kWidth},
                                  {nullptr, bench.b.block(kWidth)}),
              partial =
                  bench.buffer({"tokens", kWidth}, {nullptr, nullptr}, true);
  bench.b.step("slice", {{"input", whole}, {"output", mine}},
               {{"dim", 1}, {"range", "n64/tp"}});
  bench.b.step("linear",
               {{"input", mine}, {"weight", aw}, {"output", partial}});
  Json rows = byRows ? bench.b.block("tokens") : Json();
  auto inside = [&](const std::string &dtype, std::int64_t width) {
    return bench.b.buffer({"tokens", width}, {rows, nullptr}, false, dtype,
                          "register");
  };
  std::int64_t columns = group ? kWidth / group : 1;
  std::string sum = inside("", kWidth), normed = inside("", kWidth),
              values = inside("fp8_e4m3", kWidth),
              scales = inside("f32", columns);
  std::string all = bench.buffer({"tokens", kWidth}, {nullptr, nullptr}),
              y = byRows ? inside("", kWidth) : all;
  Json by = {{"group", "tp"}, {"dim", 0}, {"range", "tokens/tp"}},
       quantized = {{"format", "fp8_e4m3"}};
  if (group)
    quantized["group_size"] = group;
  std::vector<Json> body = {
      bench.b.bodyStep(byRows ? "reduce_scatter" : "all_reduce",
                       {{"input", partial}, {"output", sum}},
                       byRows ? by : Json{{"group", "tp"}}),
      bench.b.bodyStep("norm",
                       {{"input", sum}, {"weight", w}, {"output", normed}},
                       {{"norm", "rms"}, {"eps", 1e-5}}, {"normed"}),
      bench.b.bodyStep(
          "quantize",
          {{"input", normed}, {"values", values}, {"scales", scales}},
          quantized, {"values", "scales"}),
      bench.b.bodyStep("dequantize",
                       {{"values", values}, {"scales", scales}, {"output", y}},
                       Json::object(), {"y"})};
  if (byRows)
    body.push_back(
        bench.b.bodyStep("all_gather", {{"input", y}, {"output", all}}, by));
  bench.b.fused({partial, w}, {all}, body);
  bench.b.output("all", all);
  Json plan = bench.b.finish();
  REQUIRE(findings(plan) == "");
  TestEngine kernels(plan, LAYLINE_PRECISION_BF16, simt("weak,seed=2"), taps),
      exact(plan, LAYLINE_PRECISION_F32, "cpu");
  bench.run(kernels);
  bench.run(exact);
  std::string name =
      byRows ? "row_collective bf16 x" + std::to_string(ranks) +
                   " owed->everyone rms fp8:"
             : "one_shot bf16 x" + std::to_string(ranks) + " rms fp8:";
  CHECK(count(kernelUses(kernels), name + (group ? "group" : "row")) == 1);
  // E4M3 has 3 bits of fraction: half a step is 1/16 of a number.
  std::vector<double> found = kernels.output("all").data,
                      rowsBefore = exact.tap("normed").data;
  CHECK(error(found, rowsBefore) < 0x1p-4 + kBF16Bound);
  if (!taps)
    return;
  // Everything that has a name, and each value from the one before it: to half
  // a step of E4M3 (3 bits of fraction) beyond bfloat16's rounding of the rows
  // that were quantized (8 bits).
  CHECK(names(kernels) == names(exact));
  std::vector<double> normedRows = kernels.tap("normed").data,
                      payload = kernels.tap("values").data,
                      scaleOf = kernels.tap("scales").data;
  CHECK(error(normedRows, rowsBefore) < kBF16Bound);
  auto width = static_cast<std::size_t>(kWidth / columns);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    double scale = scaleOf[i / width], row = normedRows[i];
    REQUIRE(std::abs(payload[i]) <= 448);
    REQUIRE(std::abs(payload[i] * scale - row) <=
            std::abs(row) * (0x1p-4 + 0x1p-8) + scale * 0x1p-10);
    REQUIRE(std::abs(found[i] - payload[i] * scale) <=
            std::abs(found[i]) * 0x1p-8);
  }
}
