// One collective of a group at a time: a plan that has two of them on two
// streams runs where an event orders them; that none does is found when it is
// loaded, and once more before anything is enqueued.
#include "devices/cuda/CollectiveGuard.h"
#include "FakeGpu.h"
#include "KernelBench.h"
#include "plan/Load.h"

#include <catch2/catch.hpp>

using namespace layline::test;

namespace {

/// Two sums over tp, the second on a stream of its own and by a flag of its
/// own, behind an event of the first.
struct TwoStreams {
  explicit TwoStreams(std::int64_t ranks) : bench(ranks, 6, 0, "f32") {
    std::string table = bench.table("x", randomValue({64, 16}, 1));
    bench.weight("w", randomValue({16, 16}, 2));
    std::string w = bench.b.weight("w", {16, 16}, {nullptr, bench.b.block(16)});
    bench.begin();
    std::string x = bench.source(table, 16),
                part =
                    bench.buffer({"tokens", 16}, {nullptr, bench.b.block(16)});
    Json whole = {nullptr, nullptr};
    bench.b.step("slice", {{"input", x}, {"output", part}},
                 {{"dim", 1}, {"range", "n16/tp"}});
    std::string owed = bench.buffer({"tokens", 16}, whole, /*owes=*/true);
    bench.b.step("linear", {{"input", part}, {"weight", w}, {"output", owed}});
    for (const char *name : {"a", "b"}) {
      std::string sum = bench.buffer({"tokens", 16}, whole);
      bench.b.step("all_reduce", {{"input", owed}, {"output", sum}},
                   {{"group", "tp"}});
      bench.b.output(name, sum);
    }
    plan = bench.b.finish();
    Json &steps = plan["variants"][0]["steps"];
    std::size_t count = steps.size();
    Json other = plan["flags"][0];
    other["id"] = "f.other";
    plan["flags"].push_back(other);
    product = &steps[count - 3];
    first = &steps[count - 2];
    second = &steps[count - 1];
    (*second)["stream"] = "comm";
    (*second)["flag"] = "f.other";
    (*product)["signals"] = (*second)["waits"] = {"e.product"};
    (*first)["signals"] = {"e.sum"};
    (*second)["waits"].push_back("e.sum");
  }

  Bench bench;
  Json plan;
  Json *product, *first, *second;
};

} // namespace

TEST_CASE("two collectives of a group on two streams", "[launch]") {
  auto ranks = GENERATE(2, 4);
  auto count = GENERATE(1, 2);
  CAPTURE(ranks, count);
  FakeGpu gpu(cards(count));
  {
    TwoStreams two(ranks);
    REQUIRE(findings(two.plan) == "");
    TestEngine cuda(two.plan, LAYLINE_PRECISION_F32, "cuda", false);
    for (int time = 0; time < 2; ++time) {
      two.bench.run(cuda);
      CHECK(cuda.output("a").data == cuda.output("b").data);
    }
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("whatever a plan has been checked for, its collectives are begun in "
          "order",
          "[launch]") {
  TwoStreams two(2);
  layline::runtime::LoadedPlan loaded =
      layline::runtime::loadPlan(two.plan.dump(), "two streams");
  REQUIRE(loaded.findings.empty());
  layline::runtime::Variant &variant = loaded.plan.variants[0];
  CollectiveGuard guard(loaded.plan);
  for (int time = 0; time < 2; ++time) {
    guard.beginRun(variant);
    guard.endRun();
  }
  // Nothing says that the first is done.
  variant.steps.back().waits.pop_back();
  std::string name = (*two.second)["id"], before = (*two.first)["id"];
  for (int time = 0; time < 2; ++time)
    CHECK_THROWS_WITH(
        guard.beginRun(variant),
        Catch::Contains("step '" + name + "' (all_reduce") &&
            Catch::Contains("on stream 1 of communicator \"tp\" while "
                            "launch ") &&
            Catch::Contains("step '" + before +
                            "' on stream 0, is under way; expected that "
                            "the stream waits for it"));
}
