// Fused steps as the kernels of the catalogue on device cuda: on one card and
// on several, in the emulator's modes, and step by step where there is no
// kernel.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "layline/simt.h"

#include <catch2/catch.hpp>

using namespace layline::test;
namespace simt = layline::simt;

namespace {

constexpr double kTolerance = 5e-6;

const std::string kBoundary =
    "reduce_scatter+add+norm+all_gather: row_collective f32 x";

const std::string kFewRows = "all_reduce+add+norm: one_shot f32 x";

} // namespace

TEST_CASE("a plan's boundaries are launched as kernels, on cards alike",
          "[fused]") {
  auto [count, plan, model] =
      GENERATE(std::tuple(1, "v1.0/llama-tp4", "llama"),
               std::tuple(2, "v1.0/llama-tp4", "llama"),
               std::tuple(4, "v1.0/llama-tp4", "llama"),
               std::tuple(3, "v1.0/qwen3_moe-tp3", "qwen3_moe"),
               std::tuple(1, "v1.1/llama-tp2-cp2", "llama"),
               std::tuple(3, "v1.1/llama-tp2-cp2", "llama"));
  CAPTURE(count, plan);
  FakeGpu gpu(cards(count, 1));
  {
    GoldenRun run("cuda", plan, model);
    // Rows for every rank, then for few of them: other programs, larger and
    // smaller grids, the same workspaces.
    for (auto [begin, tokens] :
         {std::pair(0, 9), std::pair(9, 1), std::pair(10, 2)}) {
      run.run(begin, tokens);
      CHECK(error(run.logits(), run.recorded("logits", begin, tokens)) <
            kTolerance);
      // Few rows are summed by every rank, in one exchange.
      INFO(Catch::Detail::stringify(run.uses()));
      CHECK(usesWith(run.uses(), tokens > 2 ? kBoundary : kFewRows) == 1);
    }
  }
  std::size_t fused = 0;
  for (const SeenLaunch &launch : gpu.launches())
    if (isFused(launch.kernel) && waitsForRanks(launch.kernel)) {
      ++fused;
      CHECK(launch.cooperative);
      CHECK(launch.remoteDomain);
    }
  CHECK(fused > 0);
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("ranks of a card are one launch, whatever their groups", "[fused]") {
  FakeGpu gpu(cards(1, 1));
  GoldenRun run("cuda", "v1.1/llama-tp2-cp2", "llama");
  run.run(0, 5);
  for (const SeenLaunch &launch : gpu.launches())
    if (launch.kernel.find("_x2_") != std::string::npos)
      CHECK(launch.grid[1] == 4);
}

TEST_CASE("fused kernels in the emulator's modes", "[fused]") {
  struct Mode {
    const char *name;
    void (*set)(simt::Options &);
  };
  auto mode = GENERATE(
      Mode{"weak",
           [](simt::Options &options) {
             options.storeBuffers = true;
             options.randomDispatch = true;
           }},
      Mode{"race", [](simt::Options &options) { options.raceCheck = true; }},
      Mode{"starve",
           [](simt::Options &options) { options.starvePerTenThousand = 20; }},
      Mode{"residency", [](simt::Options &options) {
             // One block of each rank is left after the margin.
             options.residentThreads = 512 * 24;
             options.randomDispatch = true;
           }});
  int count = GENERATE(1, 2);
  CAPTURE(mode.name, count);
  FakeCards fake = cards(count, 3);
  mode.set(fake.emulator);
  FakeGpu gpu(fake);
  GoldenRun run("cuda", "v1.0/llama-tp4", "llama");
  for (auto [begin, tokens] : {std::pair(0, 5), std::pair(5, 1)}) {
    run.run(begin, tokens);
    CHECK(error(run.logits(), run.recorded("logits", begin, tokens)) <
          kTolerance);
  }
  CHECK(usesWith(run.uses(), kFewRows) == 1);
  INFO(gpu.emulatorError());
  CHECK(gpu.emulatorError().empty());
}

TEST_CASE("what an image lacks runs step by step, to the same values",
          "[fused]") {
  FakeCards fake = cards(2, 1);
  fake.lacks = isFused;
  FakeGpu gpu(fake);
  GoldenRun run("cuda", "v1.0/llama-tp4", "llama");
  run.run(0, 5);
  CHECK(error(run.logits(), run.recorded("logits", 0, 5)) < kTolerance);
  std::vector<std::string> uses = run.uses();
  CHECK(usesWith(uses, "reduce_scatter+add+norm+all_gather:  (no kernel is "
                       "row_collective f32 x4 owed->everyone rms)") == 1);
  CHECK(usesWith(uses, "reduce_scatter: layline_group_barrier+layline_move "
                       "(no kernel is ") == 1);
  for (const SeenLaunch &launch : gpu.launches())
    CHECK_FALSE(isFused(launch.kernel));
}

TEST_CASE("a card without room for blocks that wait runs step by step",
          "[fused]") {
  FakeCards fake = cards(1, 1);
  fake.emulator.residentThreads = 512 * 19; // 3 blocks for 4 ranks
  fake.multiprocessors = 1;
  FakeGpu gpu(fake);
  GoldenRun run("cuda", "v1.0/llama-tp4", "llama");
  run.run(0, 3);
  CHECK(error(run.logits(), run.recorded("logits", 0, 3)) < kTolerance);
  CHECK(usesWith(run.uses(), "its blocks wait for one another, and a card has "
                             "no room for those of 4 ranks on ") > 0);
  CHECK(usesWith(run.uses(), kBoundary) == 0);
}

TEST_CASE("cards that do not reach one another bring values together by NCCL",
          "[fused]") {
  FakeCards fake = cards(4, 1);
  fake.peers = false;
  FakeGpu gpu(fake);
  {
    GoldenRun run("cuda", "v1.0/llama-tp4", "llama");
    for (auto [begin, tokens] : {std::pair(0, 5), std::pair(5, 1)}) {
      run.run(begin, tokens);
      CHECK(error(run.logits(), run.recorded("logits", begin, tokens)) <
            kTolerance);
      std::vector<std::string> uses = run.uses();
      INFO(Catch::Detail::stringify(uses));
      CHECK(usesWith(uses, ": nccl+layline_move") > 0);
      CHECK(usesWith(uses, "(the cards of its ranks do not reach one another's "
                           "memory)") > 0);
      CHECK(usesWith(uses, kBoundary) + usesWith(uses, kFewRows) == 0);
    }
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("rows go to their experts and come back by NCCL") {
  FakeCards fake = cards(3, 1);
  fake.peers = false;
  FakeGpu gpu(fake);
  {
    GoldenRun run("cuda", "v1.2/qwen3_moe-tp3-ep3", "qwen3_moe");
    for (auto [begin, tokens] : {std::pair(0, 5), std::pair(5, 1)}) {
      run.run(begin, tokens);
      CHECK(error(run.logits(), run.recorded("logits", begin, tokens)) <
            kTolerance);
      CHECK(usesWith(run.uses(), "dispatch: nccl+layline_dispatch") == 1);
      CHECK(usesWith(run.uses(), "combine: nccl+layline_combine") == 1);
    }
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("a kernel gives on device cuda the bits of device simt", "[fused]") {
  auto precision = GENERATE(LAYLINE_PRECISION_F32, LAYLINE_PRECISION_BF16);
  int count = GENERATE(1, 2);
  CAPTURE(precision, count);
  REQUIRE(layline_simt_enable("plain", nullptr) == LAYLINE_OK);
  FakeGpu gpu(cards(count, 1));
  // The first boundary's rows are those of the embedding on both, bit for bit;
  // behind it come products, whose sums are in another order.
  GoldenRun cuda("cuda", "v1.0/llama-tp4", "llama", precision, true),
      emulated("simt", "v1.0/llama-tp4", "llama", precision, true);
  cuda.run(0, 5);
  emulated.run(0, 5);
  std::string first;
  for (const std::string &use : cuda.uses())
    if (first.empty() && use.find("reduce_scatter+norm") == 0)
      first = use;
  INFO(first);
  REQUIRE(first.find(": row_collective") != std::string::npos);
  CHECK(usesWith(emulated.uses(), first) == 1);
  std::size_t compared = 0;
  for (const std::string &name : cuda.tapNames())
    if (name == "layer.0.input_norm" || name == "embedding") {
      ++compared;
      CAPTURE(name);
      CHECK(cuda.tap(name) == emulated.tap(name));
    }
  INFO(Catch::Detail::stringify(cuda.tapNames()));
  CHECK(compared > 0);
}

TEST_CASE("a rank that is late is told, and the next run is right", "[fused]") {
  auto [plan, model, kind, tokens] =
      GENERATE(std::tuple("v1.0/llama-tp4", "llama", "the entry of member", 5),
               std::tuple("v1.2/gpt_neox-tp2", "gpt_neox", "", 1));
  CAPTURE(plan);
  FakeCards fake = cards(2, 1);
  fake.emulator.expireSpins = true;
  FakeGpu gpu(fake);
  GoldenRun run("cuda", plan, model);
  run.run(0, tokens);
  for (int time = 0; time < 2; ++time) {
    run.setPast(0);
    gpu.delay(1, 20000);
    CHECK_THROWS_WITH(
        run.run(0, tokens),
        Catch::Contains("rank 0, block ") && Catch::Contains(kind) &&
            Catch::Contains(": waited 300 s for ") &&
            Catch::Contains(" of member ") &&
            Catch::Contains(" was expected, ") && Catch::Contains(" was seen"));
    run.setPast(0);
    run.run(0, tokens);
    CHECK(error(run.logits(), run.recorded("logits", 0, tokens)) < kTolerance);
  }
  CHECK(gpu.emulatorError().empty());
}
