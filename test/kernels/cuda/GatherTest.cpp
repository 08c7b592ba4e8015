// all_gathers of what kernels of rows do not compute with, as kernels that move
// bytes on device cuda.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "Uses.h"
#include "plans/StepPlans.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace layline::test;

TEST_CASE("ids, rows of 8 bits and narrow rows are gathered as bytes",
          "[fused]") {
  auto [count, ranks] =
      GENERATE(std::pair(1, 3), std::pair(2, 3), std::pair(4, 4));
  auto precision = GENERATE(LAYLINE_PRECISION_F32, LAYLINE_PRECISION_BF16);
  CAPTURE(count, ranks, precision);
  const bool isBF16 = precision == LAYLINE_PRECISION_BF16;
  constexpr std::int64_t kWidth = 64;
  Bench bench(ranks, 7, 0, isBF16 ? "bf16" : "f32");
  bench.b.require("quantized_rows");
  std::string table = bench.table("x", randomValue({64, kWidth}, 3));
  bench.begin();
  Json whole = {nullptr, nullptr}, block = bench.b.block("tokens");
  std::string values = bench.b.typed("fp8_e4m3", {"tokens", kWidth}, whole),
              scales = bench.b.typed("f32", {"tokens", 1}, whole);
  bench.b.step("quantize",
               {{"input", bench.source(table, kWidth)},
                {"values", values},
                {"scales", scales}},
               {{"format", "fp8_e4m3"}});
  bench.b.output("values", addGather(bench, values, "fp8_e4m3",
                                     {"tokens", kWidth}, block));
  bench.b.output("scales",
                 addGather(bench, scales, "f32", {"tokens", 1}, block));
  bench.b.output("ids", addGather(bench, bench.ids, "i64",
                                  Json::array({"tokens"}), block));
  Json plan = bench.b.finish();
  REQUIRE(findings(plan) == "");
  FakeGpu gpu(checkedCards(count));
  {
    TestEngine cuda(plan, precision, "cuda"), cpu(plan, precision, "cpu");
    bench.run(cuda);
    bench.run(cpu);
    for (const char *id : {"values", "scales"}) {
      CAPTURE(id);
      CHECK(cuda.output(id).data == cpu.output(id).data);
    }
    CHECK(cuda.integers("ids") == cpu.integers("ids"));
    std::map<std::string, int> steps = stepsBy(cuda.get());
    std::string name = "gather_rows x" + std::to_string(ranks);
    CHECK(steps[name + " own->everyone"] == 1);
    CHECK(steps[name + " own->everyone by_word"] == 2);
  }
  std::ptrdiff_t launches = std::count_if(
      gpu.launches().begin(), gpu.launches().end(), [](const auto &launch) {
        return launch.cooperative &&
               launch.kernel.rfind("layline_fused_gather_rows_x", 0) == 0;
      });
  CHECK(launches >= 3 * count);
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("rows in float32, which no kernel of rows of a card gathers, are "
          "bytes",
          "[fused]") {
  // Rows of 64 floats between the layers, 3 ranks.
  FakeGpu gpu(checkedCards(3));
  GoldenRun run("cuda", "v1.2/gemma2-tp3", "gemma2");
  for (auto [begin, tokens] : {std::pair(0, 9), std::pair(9, 1)}) {
    run.run(begin, tokens);
    CHECK(error(run.logits(), run.recorded("logits", begin, tokens)) < 5e-6);
  }
  run.setPast(0);
  run.run(0, 9);
  std::vector<std::string> uses = run.uses();
  INFO(Catch::Detail::stringify(uses));
  CHECK(std::count(uses.begin(), uses.end(),
                   "all_gather: gather_rows x3 own->everyone") == 1);
  CHECK(gpu.emulatorError().empty());
}

TEST_CASE("narrow rows are gathered by words, wherever words may begin",
          "[fused]") {
  // Rows of 6 elements are 12 bytes, of 8 they are vectors.
  auto [width, shift, use] = GENERATE(
      std::tuple(6, 4, "gather_rows x3 own->everyone by_word"),
      std::tuple(6, 2, "a value does not begin at a multiple of 4 bytes"),
      std::tuple(8, 16, "row_collective bf16 x3 own->everyone"),
      std::tuple(8, 4, "a value does not begin at a multiple of 16 bytes"));
  CAPTURE(width, shift);
  Bench bench(3, 7, 0, "bf16");
  std::string table = bench.table("x", randomValue({64, width}, 3));
  bench.begin();
  bench.b.output("all", addGather(bench, bench.source(table, width), "bf16",
                                  {"tokens", width}, bench.b.block("tokens")));
  Json plan = bench.b.finish();
  shiftValues(plan, "bf16", shift);
  REQUIRE(findings(plan) == "");
  FakeGpu gpu(checkedCards(3));
  TestEngine cuda(plan, LAYLINE_PRECISION_BF16, "cuda"),
      cpu(plan, LAYLINE_PRECISION_BF16, "cpu");
  bench.run(cuda);
  bench.run(cpu);
  CHECK(cuda.output("all").data == cpu.output("all").data);
  std::vector<std::string> uses = usesOf(cuda.get());
  INFO(Catch::Detail::stringify(uses));
  CHECK(usesWith(uses, use) == 1);
  CHECK(gpu.emulatorError().empty());
}
