// Steps as kernels that the cards' switch sums and replicates for: where they
// are, where they are not and why.
#include "FakeGpu.h"
#include "GoldenRun.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace layline::test;

namespace {

/// 8 bits of mantissa, and a few roundings from layer to layer.
constexpr double kTolerance = 5e-2;

FakeCards switched(int count, unsigned seed = 1) {
  FakeCards fake = cards(count, seed);
  fake.multicast = true;
  return fake;
}

std::unique_ptr<GoldenRun> golden(const std::string &plan,
                                  const std::string &model, bool bySwitch,
                                  layline_precision precision) {
  return std::make_unique<GoldenRun>("cuda", plan, model, precision,
                                     /*taps=*/false, nullptr,
                                     GoldenRun::More{"threads", 0, bySwitch});
}

/// Few rows are one_shot's, which sends addends and sums none on the way.
constexpr int kRows = 9;

std::vector<double> logitsOf(GoldenRun &run) {
  run.run(0, kRows);
  return run.logits();
}

const std::string kBoundary = "reduce_scatter+add+norm+all_gather: "
                              "row_collective bf16 x4 ";

} // namespace

TEST_CASE("boundaries are summed and replicated by the switch", "[fused]") {
  // Orders of its sums are drawn anew each time: all ranks read one sum.
  FakeCards fake = switched(4);
  fake.emulator.randomReductionOrder = GENERATE(false, true);
  fake.emulator.raceCheck = fake.emulator.randomReductionOrder;
  std::vector<double> unicast, multicast;
  {
    FakeGpu gpu(fake);
    unicast = logitsOf(
        *golden("v1.0/llama-tp4", "llama", false, LAYLINE_PRECISION_BF16));
    for (const SeenLaunch &launch : gpu.launches())
      CHECK(launch.kernel.find("Multicast") == std::string::npos);
  }
  {
    FakeGpu gpu(fake);
    {
      auto run =
          golden("v1.0/llama-tp4", "llama", true, LAYLINE_PRECISION_BF16);
      multicast = logitsOf(*run);
      INFO(Catch::Detail::stringify(run->uses()));
      CHECK(usesWith(run->uses(),
                     kBoundary + "owed(multicast)->everyone(multicast) rms") ==
            1);
      CHECK(usesWith(run->uses(), "not by the switch") == 0);
      // Replicas are compared bit for bit when they are read.
      run->run(kRows, 1);
      run->logits();
    }
    CHECK(std::any_of(gpu.launches().begin(), gpu.launches().end(),
                      [](const SeenLaunch &launch) {
                        return isFused(launch.kernel) && launch.cooperative &&
                               launch.kernel.find(
                                   "OwedMulticast_EveryoneMulticast_Rms") !=
                                   std::string::npos;
                      }));
    CHECK(gpu.live().at("binding") == 0);
    CHECK(gpu.liveCount() == 0);
    INFO(gpu.emulatorError());
    CHECK(gpu.emulatorError().empty());
  }
  CHECK(error(multicast, unicast) < kTolerance);
}

TEST_CASE("rows in FP8 are gathered by the switch", "[fused]") {
  FakeGpu gpu(switched(4));
  auto plain = golden("quantized/qwen3_moe-tp4-fp8", "qwen3_moe", false,
                      LAYLINE_PRECISION_BF16);
  std::vector<double> unicast = logitsOf(*plain);
  plain.reset();
  auto run = golden("quantized/qwen3_moe-tp4-fp8", "qwen3_moe", true,
                    LAYLINE_PRECISION_BF16);
  CHECK(error(logitsOf(*run), unicast) < kTolerance);
  std::vector<std::string> uses = run->uses();
  INFO(Catch::Detail::stringify(uses));
  CHECK(std::any_of(uses.begin(), uses.end(), [](const std::string &use) {
    return use.find("quantize") != std::string::npos &&
           use.find("everyone(multicast)") != std::string::npos;
  }));
  CHECK(gpu.emulatorError().empty());
}

TEST_CASE("why a step is not by the switch is said", "[fused]") {
  FakeCards fake = switched(4);
  std::string plan = "v1.0/llama-tp4", why;
  layline_precision precision = LAYLINE_PRECISION_BF16;
  SECTION("cards without it") {
    fake.multicast = false;
    why = "card 0 (emulated) has no multicast";
  }
  SECTION("a driver that refuses") {
    fake.multicastRefused = true;
    why = "cuMulticastCreate does not support these cards";
  }
  SECTION("several ranks on a card") {
    fake.count = 2;
    why = "members share a card";
  }
  SECTION("a group of some of the ranks") {
    plan = "v1.1/llama-tp2-cp2";
    why = "its group has 2 of the 4 ranks that the switch would reach";
  }
  SECTION("a type without kernels for it") {
    precision = LAYLINE_PRECISION_F32;
    why = "no kernel is row_collective f32 x4 owed(multicast)->";
  }
  FakeGpu gpu(fake);
  {
    auto run = golden(plan, "llama", true, precision);
    CHECK(error(logitsOf(*run), run->recorded("logits", 0, kRows)) <
          (precision == LAYLINE_PRECISION_F32 ? 5e-6 : kTolerance));
    std::vector<std::string> uses = run->uses();
    INFO(Catch::Detail::stringify(uses));
    CHECK(usesWith(uses, "(not by the switch: ") > 0);
    CHECK(std::any_of(uses.begin(), uses.end(), [&](const std::string &use) {
      return use.find(why) != std::string::npos;
    }));
    for (const SeenLaunch &launch : gpu.launches())
      CHECK(launch.kernel.find("Multicast") == std::string::npos);
  }
  CHECK(gpu.liveCount() == 0);
}
