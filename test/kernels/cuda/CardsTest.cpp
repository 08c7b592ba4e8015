// Ranks over several cards: they meet before and after every collective; where
// they cannot reach one another, NCCL is asked for.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "devices/cuda/Nccl.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace layline::test;

namespace {

constexpr double kTolerance = 5e-6;

} // namespace

TEST_CASE("golden models over several cards", "[golden]") {
  auto [count, plan, model] =
      GENERATE(std::tuple(2, "v1.0/llama-tp4", "llama"),
               std::tuple(4, "v1.0/llama-tp4", "llama"),
               std::tuple(3, "v1.0/qwen3_moe-tp3", "qwen3_moe"),
               std::tuple(2, "v1.1/llama-tp2-cp2", "llama"),
               std::tuple(3, "v1.2/gemma2-tp3", "gemma2"),
               std::tuple(3, "v1.2/qwen3_moe-tp3-ep3", "qwen3_moe"),
               std::tuple(2, "v1.2/deepseek_v3-tp4", "deepseek_v3"),
               std::tuple(4, "v1.2/deepseek_v32-tp2-cp2", "deepseek_v32"));
  unsigned seed = GENERATE(0U, 1U);
  CAPTURE(count, plan, seed);
  FakeGpu gpu(cards(count, seed));
  {
    GoldenRun run("cuda", plan, model);
    for (int begin : {0, 3, 4}) {
      int tokens = begin == 0 ? 3 : 1;
      run.run(begin, tokens);
      INFO(gpu.emulatorError());
      CHECK(error(run.logits(), run.recorded("logits", begin, tokens)) <
            kTolerance);
    }
    // Every launch whose blocks wait for ranks is cooperative and in its own
    // memory domain.
    std::size_t meetings = 0;
    for (const SeenLaunch &launch : gpu.launches()) {
      bool isMeeting = waitsForRanks(launch.kernel);
      meetings += isMeeting;
      CHECK(launch.cooperative == isMeeting);
      CHECK(launch.remoteDomain == isMeeting);
    }
    CHECK(meetings > 0);
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("no race and no missing order between cards", "[golden]") {
  FakeCards fake = cards(2, 5);
  fake.emulator.raceCheck = true;
  FakeGpu gpu(fake);
  auto [plan, model] =
      GENERATE(std::pair("v1.0/phi3-tp2", "phi3"),
               std::pair("v1.2/qwen3_moe-tp3-ep3", "qwen3_moe"));
  GoldenRun run("cuda", plan, model);
  run.run(0, 3);
  run.run(3, 1);
  INFO(gpu.emulatorError());
  CHECK(gpu.emulatorError().empty());
  CHECK(error(run.logits(), run.recorded("logits", 3, 1)) < kTolerance);
}

TEST_CASE("cards that do not reach one another want NCCL") {
  FakeCards fake = cards(2, 0);
  fake.peers = false;
  FakeGpu gpu(fake);
  SECTION("several ranks on a card") {
    CHECK_THROWS_WITH(
        GoldenRun("cuda", "v1.0/llama-tp4", "llama"),
        Catch::Contains(
            "group 'tp': its ranks cannot reach one another's memory, and NCCL "
            "wants a card for each; card 0 (emulated) has several: ranks 0 and "
            "1"));
  }
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("cards of an island map one another's memory, NCCL is between them",
          "[golden]") {
  FakeCards fake = cards(4, 1);
  fake.island = 2;
  FakeGpu gpu(fake);
  {
    // tp is of an island's cards, cp is over both islands.
    GoldenRun run("cuda", "v1.1/llama-tp2-cp2", "llama");
    for (int begin : {0, 3}) {
      int tokens = begin == 0 ? 3 : 1;
      run.run(begin, tokens);
      CHECK(error(run.logits(), run.recorded("logits", begin, tokens)) <
            kTolerance);
    }
    std::vector<std::string> uses = run.uses();
    CHECK(std::any_of(uses.begin(), uses.end(), [](const std::string &use) {
      return use.find(": nccl+") != std::string::npos;
    }));
    std::size_t meetings = 0;
    for (const SeenLaunch &launch : gpu.launches())
      meetings += launch.cooperative;
    CHECK(meetings > 0);
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("whichever call fails, a device leaves nothing behind", "[golden]") {
  // By kernels over both cards, or by NCCL.
  FakeCards fake = cards(2);
  fake.island = GENERATE(0, 1);
  FakeGpu gpu(fake);
  std::size_t total = 0;
  {
    GoldenRun run("cuda", "v1.0/phi3-tp2", "phi3");
    run.run(0, 2);
    total = gpu.calls().size();
  }
  CHECK(gpu.liveCount() == 0);
  // 30 of them, over the whole of it: each makes a device anew.
  std::size_t failed = 0, tried = 0;
  for (std::size_t at = 0; at < total; at += total / 30 + 1, ++tried) {
    gpu.failAt(at, kErrorInvalidValue);
    try {
      GoldenRun run("cuda", "v1.0/phi3-tp2", "phi3");
      run.run(0, 2);
    } catch (const std::runtime_error &) {
      ++failed;
    }
    gpu.failAt(~std::size_t(0), 0);
    INFO("call " << at);
    REQUIRE(gpu.liveCount() == 0);
  }
  // Some of the counted calls release, and cannot fail.
  CHECK(failed > tried / 2);
}
