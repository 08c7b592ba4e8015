// Plans through device 'cuda': its kernels on the emulator, or on a card.
#include "GoldenRun.h"
#include "Gpu.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

using namespace layline::test;

namespace {

/// test/golden/README.md: of float32 runs.
constexpr double kTolerance = 5e-6;

struct Case {
  const char *plan, *model;
};

} // namespace

TEST_CASE("golden models, all ranks on one card", "[golden]") {
  auto [plan, model] = GENERATE(
      Case{"v1.0/llama-tp4", "llama"}, Case{"v1.0/phi3-tp2", "phi3"},
      Case{"v1.0/qwen2-tp5", "qwen2"}, Case{"v1.0/qwen3_moe-tp3", "qwen3_moe"},
      Case{"v1.1/llama-tp2-cp2", "llama"}, Case{"v1.1/qwen2-tp1-cp3", "qwen2"},
      Case{"v1.1/qwen3_moe-tp3-cp2", "qwen3_moe"},
      Case{"v1.2/gemma2-tp3", "gemma2"}, Case{"v1.2/gpt_neox-tp2", "gpt_neox"},
      Case{"v1.2/gpt_oss-tp3", "gpt_oss"}, Case{"v1.2/olmo2-tp8", "olmo2"},
      Case{"v1.2/qwen3_moe-tp3-ep3", "qwen3_moe"},
      Case{"v1.2/deepseek_v3-tp4", "deepseek_v3"},
      Case{"v1.2/deepseek_v32-tp2-cp2", "deepseek_v32"});
  // Few rows, so that ranks without any are among them, and more than ranks.
  auto tokens = GENERATE(2, 7);
  CAPTURE(plan, tokens);
  auto gpu = makeGpu();
  {
    GoldenRun run("cuda", plan, model);
    run.run(0, tokens);
    CHECK(error(run.logits(), run.recorded("logits", 0, tokens)) < kTolerance);
  }
  CHECK(gpu->fault().empty());
  CHECK(gpu->liveCount() == 0);
}

TEST_CASE("a sequence in pieces, by graphs that are launched again",
          "[golden]") {
  auto gpu = makeGpu();
  // An indexer's choice is of more keys with each piece.
  auto [plan, model] =
      GENERATE(Case{"v1.0/llama-tp4", "llama"},
               Case{"v1.2/deepseek_v3-tp4", "deepseek_v3"},
               Case{"v1.2/deepseek_v32-tp2-cp2", "deepseek_v32"});
  CAPTURE(plan);
  GoldenRun run("cuda", plan, model);
  for (int time = 0; time < 2; ++time) {
    run.setPast(0);
    for (auto [begin, count] :
         {std::pair(0, 5), std::pair(5, 1), std::pair(6, 1), std::pair(7, 5)}) {
      CAPTURE(time, begin);
      run.run(begin, count);
      CHECK(error(run.logits(), run.recorded("logits", begin, count)) <
            kTolerance);
    }
  }
}

TEST_CASE("every named value is that of device cpu", "[golden]") {
  auto [plan, model] =
      GENERATE(Case{"v1.0/qwen3_moe-tp3", "qwen3_moe"},
               Case{"v1.2/gemma2-tp3", "gemma2"},
               Case{"v1.2/qwen3_moe-tp3-ep3", "qwen3_moe"},
               Case{"v1.2/deepseek_v3-tp4", "deepseek_v3"},
               Case{"v1.2/deepseek_v32-tp2-cp2", "deepseek_v32"});
  auto gpu = makeGpu();
  GoldenRun cuda("cuda", plan, model, LAYLINE_PRECISION_F32, true);
  GoldenRun cpu("cpu", plan, model, LAYLINE_PRECISION_F32, true);
  cuda.run(0, 4);
  cpu.run(0, 4);
  REQUIRE(cuda.tapNames() == cpu.tapNames());
  CHECK(cuda.tapNames().size() > 10);
  for (const std::string &name : cuda.tapNames()) {
    CAPTURE(name);
    CHECK(error(cuda.tap(name), cpu.tap(name)) < kTolerance);
  }
}

TEST_CASE("a model in bfloat16 is kept in it", "[golden]") {
  // Device cpu emulates it by rounding at the same places; what differs is the
  // rounding inside of fused steps and the order of sums: some units of 2^-8.
  auto gpu = makeGpu();
  auto [plan, model] =
      GENERATE(Case{"v1.0/llama-tp4", "llama"},
               Case{"v1.2/qwen3_moe-tp3-ep3", "qwen3_moe"},
               Case{"v1.2/deepseek_v3-tp4", "deepseek_v3"},
               Case{"v1.2/deepseek_v32-tp2-cp2", "deepseek_v32"});
  CAPTURE(plan);
  GoldenRun cuda("cuda", plan, model, LAYLINE_PRECISION_BF16);
  GoldenRun cpu("cpu", plan, model, LAYLINE_PRECISION_BF16);
  cuda.run(0, 6);
  cpu.run(0, 6);
  double apart = error(cuda.logits(), cpu.logits());
  // It is rounded: the recorded values are those of float32.
  CHECK(error(cuda.logits(), cuda.recorded("logits", 0, 6)) > kTolerance);
  CHECK(apart < 0.03);
}

TEST_CASE("a model by the cards' switch, where they have one", "[golden]") {
  auto gpu = makeGpu(4);
  GoldenRun run("cuda", "v1.0/llama-tp4", "llama", LAYLINE_PRECISION_BF16,
                /*taps=*/false, nullptr, GoldenRun::More{"threads", 0, true});
  GoldenRun cpu("cpu", "v1.0/llama-tp4", "llama", LAYLINE_PRECISION_BF16);
  run.run(0, 20);
  cpu.run(0, 20);
  CHECK(error(run.logits(), cpu.logits()) < 0.03);
  // Fewer cards, or such that have none: each step says so.
  std::vector<std::string> uses = run.uses();
  INFO(Catch::Detail::stringify(uses));
  CHECK(usesWith(uses, "(multicast)") + usesWith(uses, "not by the switch") >
        0);
}

TEST_CASE("what the device cannot do is told before anything runs") {
  auto gpu = makeGpu();
  auto plan = nlohmann::json::parse(
      std::ifstream(LAYLINE_PLANS_DIR "/v1.2/deepseek_v3-tp4/plan.json"));
  for (auto &step : plan["variants"][0]["steps"])
    if (step["kind"] == "add")
      step["args"]["inputs"] =
          std::vector<std::string>(9, step["args"]["inputs"][0]);
  layline_options options;
  layline_options_init(&options);
  options.device = "cuda";
  layline_engine *engine = nullptr;
  REQUIRE(layline_engine_create(&options, &engine) == LAYLINE_OK);
  std::string text = plan.dump();
  CHECK(layline_plan_load_memory(engine, text.data(), text.size(), "plan") ==
        LAYLINE_REFUSED_FEATURE);
  CHECK_THAT(layline_engine_error(engine),
             Catch::StartsWith("device 'cuda' cannot run step ") &&
                 Catch::EndsWith("9 inputs; at most 8 are expected"));
  layline_engine_destroy(engine);
  CHECK_THROWS_WITH(
      GoldenRun("cuda", "v1.0/llama-tp4", "llama", LAYLINE_PRECISION_F64),
      "device 'cuda' computes in float32; precision f64 is the cpu's");
  CHECK(gpu->liveCount() == 0);
}

TEST_CASE("wrong data is told with step and rank, and the engine goes on") {
  auto gpu = makeGpu();
  GoldenRun run("cuda", "v1.0/llama-tp4", "llama");
  std::vector<std::int64_t> ids = {1, 1000000}, positions = {0, 1};
  run.check(layline_input_bind(run.get(), "input_ids", ids.data(), 2));
  run.check(layline_input_bind(run.get(), "positions", positions.data(), 2));
  CHECK_THROWS_WITH(run.check(layline_run(run.get(), 2)),
                    Catch::Contains("(embedding") &&
                        Catch::Contains("token id 1000000 of row 1 is outside "
                                        "the vocabulary"));
  run.run(0, 3);
  CHECK(error(run.logits(), run.recorded("logits", 0, 3)) < kTolerance);
}
