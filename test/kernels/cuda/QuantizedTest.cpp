// Rows in FP8 with their scales, by the kernels of the catalogue on device
// cuda.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "KernelBench.h"
#include "Uses.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

using namespace layline::test;

namespace {

constexpr std::int64_t kWidth = 64;

/// Multiples of 1/8 below one: products and sums of them are exact.
Value eighths(const std::vector<std::int64_t> &shape, std::uint64_t seed) {
  Value value = randomValue(shape, seed);
  for (double &x : value.data)
    x = std::nearbyint(x * 8) / 8;
  return value;
}

enum class Form {
  Gathered, ///< reduce_scatter, norm, quantize, dequantize, all_gather
  Summed,   ///< all_reduce in place of the first, and no gather
  Moved     ///< own rows: quantize, dequantize, all_gather
};

/// Rows that are quantized in a fused step. Values and scales have names, and
/// leave the step where they are everyone's.
struct Rows {
  Rows(std::int64_t ranks, std::int64_t tokens, Form form, std::int64_t group)
      : bench(ranks, tokens, 0, "bf16") {
    bench.b.require("quantized_rows");
    const Json whole = {nullptr, nullptr}, shape = {"tokens", kWidth};
    std::string table = bench.table("x", eighths({64, kWidth}, 3)),
                w = bench.table("w", randomValue({kWidth}, 4));
    bench.weight("a", eighths({kWidth, kWidth}, 2));
    std::string a =
        bench.b.weight("a", {kWidth, kWidth}, {nullptr, bench.b.block(kWidth)});
    bench.begin();
    std::string x = bench.source(table, kWidth), owed;
    if (form != Form::Moved) {
      std::string part = bench.buffer(shape, {nullptr, bench.b.block(kWidth)});
      owed = bench.buffer(shape, whole, /*owes=*/true);
      bench.b.step("slice", {{"input", x}, {"output", part}},
                   {{"dim", 1}, {"range", "n64/tp"}});
      bench.b.step("linear",
                   {{"input", part}, {"weight", a}, {"output", owed}});
    }
    const bool isSummed = form == Form::Summed;
    Json rows = isSummed ? Json() : bench.b.block("tokens");
    auto inside = [&](const std::string &dtype, std::int64_t width) {
      return bench.b.buffer({"tokens", width}, {rows, nullptr}, false, dtype,
                            "register");
    };
    const std::int64_t columns = group ? kWidth / group : 1;
    std::string values = isSummed ? bench.b.typed("fp8_e4m3", shape, whole)
                                  : inside("fp8_e4m3", kWidth),
                scales = isSummed
                             ? bench.b.typed("f32", {"tokens", columns}, whole)
                             : inside("f32", columns),
                all = bench.buffer(shape, whole),
                y = isSummed ? all : inside("", kWidth);
    Json by = {{"group", "tp"}, {"dim", 0}, {"range", "tokens/tp"}},
         quantized = {{"format", "fp8_e4m3"}};
    if (group)
      quantized["group_size"] = group;
    std::vector<Json> body;
    std::string before = owed;
    if (form == Form::Moved) {
      before = bench.rows(x, kWidth);
    } else {
      std::string sum = inside("", kWidth), normed = inside("", kWidth);
      body.push_back(
          bench.b.bodyStep(isSummed ? "all_reduce" : "reduce_scatter",
                           {{"input", owed}, {"output", sum}},
                           isSummed ? Json{{"group", "tp"}} : by));
      body.push_back(bench.b.bodyStep(
          "norm", {{"input", sum}, {"weight", w}, {"output", normed}},
          {{"norm", "rms"}, {"eps", 1e-5}}));
      before = normed;
    }
    body.push_back(bench.b.bodyStep(
        "quantize", {{"input", before}, {"values", values}, {"scales", scales}},
        quantized, {"values", "scales"}));
    body.push_back(bench.b.bodyStep(
        "dequantize", {{"values", values}, {"scales", scales}, {"output", y}}));
    if (!isSummed)
      body.push_back(
          bench.b.bodyStep("all_gather", {{"input", y}, {"output", all}}, by));
    Json inputs = Json::array({form == Form::Moved ? before : owed}),
         outputs = Json::array({all});
    if (form != Form::Moved)
      inputs.push_back(w);
    if (isSummed) {
      outputs = {all, values, scales};
      bench.b.output("values", values);
      bench.b.output("scales", scales);
    }
    bench.b.fused(inputs, outputs, body);
    bench.b.output("all", all);
    plan = bench.b.finish();
  }

  Bench bench;
  Json plan;
};

/// Rows of bfloat16, each a scale times a number of 4 bits: the same but for a
/// step where a rounding before one of them fell apart.
void checkRows(const std::vector<double> &found,
               const std::vector<double> &expected) {
  REQUIRE(found.size() == expected.size());
  std::size_t apart = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    REQUIRE(std::abs(found[i] - expected[i]) <= std::abs(expected[i]) * 0x1p-3);
    apart += std::abs(found[i] - expected[i]) > std::abs(expected[i]) * 0x1p-7;
  }
  CHECK(apart <= found.size() / 200);
}

} // namespace

TEST_CASE("rows are quantized on their way between cards", "[fused]") {
  auto [form, name] = GENERATE(
      std::tuple(Form::Gathered, "row_collective bf16 xP owed->everyone rms"),
      std::tuple(Form::Summed, "one_shot bf16 xP rms"),
      std::tuple(Form::Moved, "row_collective bf16 xP own->everyone"));
  auto [count, ranks, group] =
      GENERATE(std::tuple(1, 8, 0), std::tuple(2, 4, 32), std::tuple(4, 4, 0));
  bool taps = GENERATE(true, false);
  // Of one_shot cards have none by groups.
  if (form == Form::Summed && group)
    return;
  CAPTURE(name, count, ranks, group, taps);
  std::string kernel = name;
  kernel.replace(kernel.find('P'), 1, std::to_string(ranks));
  kernel += group ? " fp8:group" : " fp8:row";
  Rows rows(ranks, 9, form, group);
  REQUIRE(findings(rows.plan) == "");
  FakeGpu gpu(checkedCards(count));
  {
    TestEngine cuda(rows.plan, LAYLINE_PRECISION_BF16, "cuda", taps),
        cpu(rows.plan, LAYLINE_PRECISION_BF16, "cpu");
    rows.bench.run(cpu);
    // The second run finds what the first left.
    for (int time = 0; time < 2; ++time) {
      rows.bench.run(cuda);
      checkRows(cuda.output("all").data, cpu.output("all").data);
    }
    std::vector<std::string> uses = usesOf(cuda.get());
    INFO(Catch::Detail::stringify(uses));
    CHECK(usesWith(uses, ": " + kernel) == 1);
    if (form == Form::Summed)
      for (const char *id : {"values", "scales"})
        checkRows(cuda.output(id).data, cpu.output(id).data);
    if (taps) {
      REQUIRE(cuda.tapNames() == cpu.tapNames());
      for (const char *tap : {"values", "scales"})
        checkRows(cuda.tap(tap).data, cpu.tap(tap).data);
    }
  }
  INFO(gpu.emulatorError());
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("rows of a group that cards have no FP8 kernel for are quantized by "
          "themselves",
          "[fused]") {
  bool taps = GENERATE(true, false);
  CAPTURE(taps);
  Rows rows(3, 9, Form::Gathered, 32);
  FakeGpu gpu(cards(3));
  TestEngine cuda(rows.plan, LAYLINE_PRECISION_BF16, "cuda", taps),
      cpu(rows.plan, LAYLINE_PRECISION_BF16, "cpu");
  rows.bench.run(cuda);
  rows.bench.run(cpu);
  checkRows(cuda.output("all").data, cpu.output("all").data);
  std::vector<std::string> uses = usesOf(cuda.get());
  INFO(Catch::Detail::stringify(uses));
  CHECK(usesWith(uses,
                 "(no kernel is row_collective bf16 x3 owed->everyone rms "
                 "fp8:group)") == 1);
  CHECK(usesWith(uses, "quantize: layline_quantize (") == 1);
  CHECK(gpu.emulatorError().empty());
}

TEST_CASE("a rank quantizes its own rows", "[fused]") {
  auto group = GENERATE(0, 16, 64);
  int count = GENERATE(1, 2);
  CAPTURE(group, count);
  const std::int64_t columns = group ? kWidth / group : 1;
  Bench bench(2, 7, 0, "bf16");
  bench.b.require("quantized_rows");
  std::string table = bench.table("x", randomValue({64, kWidth}, 5));
  bench.begin();
  Json whole = {nullptr, nullptr}, attrs = {{"format", "fp8_e4m3"}};
  if (group)
    attrs["group_size"] = group;
  std::string values = bench.b.typed("fp8_e4m3", {"tokens", kWidth}, whole),
              scales = bench.b.typed("f32", {"tokens", columns}, whole);
  bench.b.step("quantize",
               {{"input", bench.source(table, kWidth)},
                {"values", values},
                {"scales", scales}},
               attrs);
  bench.b.output("values", values);
  bench.b.output("scales", scales);
  Json plan = bench.b.finish();
  REQUIRE(findings(plan) == "");
  FakeGpu gpu(cards(count));
  TestEngine cuda(plan, LAYLINE_PRECISION_BF16, "cuda"),
      cpu(plan, LAYLINE_PRECISION_BF16, "cpu");
  bench.run(cuda);
  bench.run(cpu);
  for (const char *id : {"values", "scales"})
    CHECK(cuda.output(id).data == cpu.output(id).data);
  CHECK(usesWith(usesOf(cuda.get()),
                 std::string("quantize: row_collective bf16 x1 own->own fp8:") +
                     (group ? "group" : "row")) == 1);
  CHECK(gpu.emulatorError().empty());
}

TEST_CASE("a golden model whose rows are sent in FP8", "[golden]") {
  // Of three ranks cards have no kernel that gathers FP8: other pieces.
  auto [count, ranks, name] =
      GENERATE(std::tuple(1, 4, "quantized/qwen3_moe-tp4-fp8"),
               std::tuple(2, 4, "quantized/qwen3_moe-tp4-fp8"),
               std::tuple(4, 4, "quantized/qwen3_moe-tp4-fp8"),
               std::tuple(3, 3, "quantized/qwen3_moe-tp3-fp8-group16"));
  CAPTURE(count, name);
  FakeGpu gpu(cards(count));
  GoldenRun cuda("cuda", name, "qwen3_moe", LAYLINE_PRECISION_BF16),
      cpu("cpu", name, "qwen3_moe", LAYLINE_PRECISION_BF16);
  for (auto [begin, tokens] : {std::pair(0, 6), std::pair(6, 1)}) {
    cuda.run(begin, tokens);
    cpu.run(begin, tokens);
    CHECK(error(cuda.logits(), cpu.logits()) < 0.03);
  }
  std::vector<std::string> uses = cuda.uses();
  INFO(Catch::Detail::stringify(uses));
  const int hasFP8 = ranks == 4 ? 1 : 0;
  CHECK(usesWith(uses, "+norm+quantize+dequantize+all_gather: row_collective "
                       "bf16 x4 owed->everyone rms fp8:row") == 2 * hasFP8);
  // Where the rows that are quantized leave the step.
  const std::string size = std::to_string(ranks);
  CHECK(usesWith(uses, "reduce_scatter+add+norm: row_collective bf16 x" + size +
                           " owed->own rms") == 1);
  CHECK(usesWith(uses, "quantize+dequantize+all_gather: row_collective bf16 x4 "
                       "own->everyone fp8:row") == hasFP8);
  CHECK(usesWith(uses, "quantize+dequantize: row_collective bf16 x1 own->own "
                       "fp8:group") == 1 - hasFP8);
  CHECK(gpu.emulatorError().empty());
}
