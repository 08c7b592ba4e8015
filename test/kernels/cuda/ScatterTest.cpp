// Rows into the device's own caches by the kernel of the catalogue.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "plans/StepPlans.h"

#include <catch2/catch.hpp>

#include <string>
#include <tuple>
#include <vector>

using namespace layline::test;

TEST_CASE("rows are scattered into the device's own caches", "[fused]") {
  auto precision = GENERATE(LAYLINE_PRECISION_F32, LAYLINE_PRECISION_BF16);
  auto [count, plan, model] =
      GENERATE(std::tuple(1, "v1.0/llama-tp4", "llama"),
               std::tuple(4, "v1.1/llama-tp2-cp2", "llama"),
               std::tuple(2, "v1.2/deepseek_v3-tp4", "deepseek_v3"));
  CAPTURE(precision, count, plan);
  const bool isBF16 = precision == LAYLINE_PRECISION_BF16;
  FakeGpu gpu(checkedCards(count));
  GoldenRun cuda("cuda", plan, model, precision),
      cpu("cpu", plan, model, precision);
  // Programs are for a token count, whatever the past.
  for (auto [begin, tokens] :
       {std::pair(0, 5), std::pair(5, 1), std::pair(6, 1), std::pair(7, 5)}) {
    CAPTURE(begin);
    cuda.run(begin, tokens);
    cpu.run(begin, tokens);
    CHECK(error(cuda.logits(), cpu.logits()) < (isBF16 ? 0.03 : 5e-6));
  }
  std::vector<std::string> uses = cuda.uses();
  INFO(Catch::Detail::stringify(uses));
  // Of positions too, rows of 8 bytes.
  CHECK(usesWith(uses, "cache_append: ") == 1);
  CHECK(usesWith(uses, "cache_append: scatter_pages") == 1);
  CHECK(gpu.emulatorError().empty());
}

TEST_CASE("rows of whole words are scattered, wherever words may begin",
          "[fused]") {
  const std::string kernel = "scatter_pages", step = "layline_append_rows (";
  // Elements of a row; bytes from the value's place on.
  auto [precision, width, shift, use] = GENERATE_COPY(
      std::tuple(LAYLINE_PRECISION_BF16, 2, 0, kernel),
      std::tuple(LAYLINE_PRECISION_BF16, 6, 0, kernel),
      std::tuple(LAYLINE_PRECISION_BF16, 8, 0, kernel),
      std::tuple(LAYLINE_PRECISION_BF16, 8, 4, kernel),
      std::tuple(LAYLINE_PRECISION_F32, 1, 4, kernel),
      std::tuple(LAYLINE_PRECISION_F32, 5, 0, kernel),
      std::tuple(LAYLINE_PRECISION_BF16, 1, 0,
                 step + "rows of 2 bytes, kernels move multiples of 4)"),
      std::tuple(LAYLINE_PRECISION_BF16, 7, 0,
                 step + "rows of 14 bytes, kernels move multiples of 4)"),
      std::tuple(LAYLINE_PRECISION_BF16, 8, 2,
                 step + "a value does not begin at a multiple of 4 bytes)"),
      std::tuple(LAYLINE_PRECISION_BF16, 8, 6,
                 step + "a value does not begin at a multiple of 4 bytes)"));
  CAPTURE(precision, width, shift);
  constexpr std::int64_t kTokens = 5;
  const std::string dtype =
      precision == LAYLINE_PRECISION_BF16 ? "bf16" : "f32";
  Bench bench(2, kTokens, 0, dtype);
  bench.b.cache("kept", 0, "latent", {width}, {nullptr, nullptr});
  std::string table = bench.table("x", randomValue({64, width}, 3));
  bench.begin();
  std::string x = bench.source(table, width);
  bench.b.step("cache_append", {{"input", x}, {"cache", "kept"}});
  bench.b.output("x", x);
  Json plan = bench.b.finish();
  shiftValues(plan, dtype, shift);
  REQUIRE(findings(plan) == "");
  FakeGpu gpu(checkedCards(2));
  TestEngine cuda(plan, precision, "cuda"), cpu(plan, precision, "cpu");
  std::vector<double> rows[2];
  for (int e : {0, 1}) {
    TestEngine &engine = e ? cpu : cuda;
    // Behind one another: the second run's begin where the first's end.
    bench.run(engine);
    bench.run(engine);
    rows[e].resize(static_cast<std::size_t>(2 * kTokens * width));
    engine.check(layline_cache_read(engine.get(), "kept", LAYLINE_F64,
                                    rows[e].data(),
                                    static_cast<std::int64_t>(rows[e].size())));
  }
  CHECK(rows[0] == rows[1]);
  std::vector<std::string> uses = usesOf(cuda.get());
  INFO(Catch::Detail::stringify(uses));
  CHECK(usesWith(uses, "cache_append: " + use) == 1);
  CHECK(usesWith(uses, "cache_append: ") == 1);
  CHECK(gpu.emulatorError().empty());
}
