// Models end to end: every value that the plan names against the float64
// reference, in groups that divide the rows and that do not. Outputs and taps
// are compared between ranks bit for bit where they are read.
#include "GoldenRun.h"
#include "LlamaPlan.h"

#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::test;

TEST_CASE("llama's fused boundaries run as kernels of 2, 3, 4 and 8 ranks") {
  auto ranks = GENERATE(2, 3, 4, 8);
  CAPTURE(ranks);
  GoldenRun golden("llama", llamaPlan(ranks, Boundaries::Fused),
                   LAYLINE_PRECISION_F32, Asked::Outputs);
  std::string twoShot =
      "row_collective f32 x" + std::to_string(ranks) + " owed->everyone rms";
  // 1 and 5 rows leave ranks without one.
  for (std::int64_t tokens : {1, 5, 24}) {
    CAPTURE(tokens);
    golden.run(tokens);
    CHECK(golden.error() < kF32Bound);
    // Behind attention and MLP of both layers.
    CHECK(count(golden.kernels(), twoShot) == 4);
  }
}

TEST_CASE("plain collectives are kernels too") {
  auto boundaries = GENERATE(Boundaries::Whole, Boundaries::Rows);
  GoldenRun golden("llama", llamaPlan(3, boundaries), LAYLINE_PRECISION_F32);
  golden.run(24);
  CHECK(golden.error() < kF32Bound);
  auto kernels = golden.kernels();
  if (boundaries == Boundaries::Whole) {
    CHECK(count(kernels, "one_shot f32 x3") +
              count(kernels, "row_collective f32 x3 owed->everyone") >=
          4);
  } else {
    CHECK(count(kernels, "row_collective f32 x3 owed->own") >= 4);
    CHECK(count(kernels, "row_collective f32 x3 own->everyone") >= 4);
  }
  CHECK(count(kernels, "row_collective f32 x1 own->own rms") >= 4);
}

TEST_CASE("frozen plans compute the reference, whole and by rows") {
  auto [plan, model] = GENERATE(std::pair("v1.0/llama-tp4", "llama"),
                                std::pair("v1.0/qwen3_moe-tp3", "qwen3_moe"),
                                std::pair("v1.1/llama-tp2-cp2", "llama"),
                                std::pair("v1.2/gemma2-tp3", "gemma2"),
                                std::pair("v1.2/gpt_neox-tp2", "gpt_neox"),
                                std::pair("v1.2/olmo2-tp8", "olmo2"));
  CAPTURE(plan);
  GoldenRun golden(model, frozenPlan(plan), LAYLINE_PRECISION_F32);
  for (std::int64_t tokens : {1, 13}) {
    CAPTURE(tokens);
    golden.run(tokens);
    CHECK(golden.error() < kF32Bound);
    CHECK(golden.compared() > 5);
  }
}

TEST_CASE("bfloat16 lies in device memory as such") {
  auto [plan, model] = GENERATE(std::pair("v1.0/llama-tp4", "llama"),
                                std::pair("v1.2/gemma2-tp3", "gemma2"));
  CAPTURE(plan);
  GoldenRun golden(model, inBF16(frozenPlan(plan)), LAYLINE_PRECISION_BF16);
  for (std::int64_t tokens : {2, 13}) {
    CAPTURE(tokens);
    golden.run(tokens);
    double error = golden.error();
    CHECK(error < kBF16Bound);
    CHECK(error > kF32Bound); // it is rounded
    CHECK_FALSE(golden.kernels().empty());
    for (const auto &use : golden.kernels())
      CHECK(use.first.find("f32") == std::string::npos);
  }
}

TEST_CASE("no schedule makes a difference, no access races") {
  auto mode = GENERATE("plain,seed=7", "weak,seed=3", "race", "starve,seed=2",
                       "residency,seed=5");
  CAPTURE(mode);
  Json plan = llamaPlan(3, Boundaries::Fused, 6);
  GoldenRun plain("llama", plan, LAYLINE_PRECISION_F32);
  GoldenRun hard("llama", plan, LAYLINE_PRECISION_F32, Asked::All, mode);
  for (std::int64_t tokens : {7, 2}) {
    CAPTURE(tokens);
    plain.run(tokens);
    hard.run(tokens);
    CHECK(hard.engine.output("logits").data ==
          plain.engine.output("logits").data);
  }
}

TEST_CASE("what no kernel computes is refused") {
  Json plan = llamaPlan(2, Boundaries::Fused);
  CHECK_THROWS_WITH(GoldenRun("llama", plan, LAYLINE_PRECISION_F64),
                    Catch::Contains("found precision f64") &&
                        Catch::Contains("'cpu' has it"));
  CHECK_THROWS_WITH(
      GoldenRun("llama", plan, LAYLINE_PRECISION_F32, Asked::All, "slow"),
      Catch::Contains("found 'slow', expected plain, weak"));
  CHECK_THROWS_WITH(
      GoldenRun("llama", plan, LAYLINE_PRECISION_F32, Asked::All, "seed=x"),
      Catch::Contains("found 'seed=x'"));
}
