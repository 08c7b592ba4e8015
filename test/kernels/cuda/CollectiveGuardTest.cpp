// One collective of a group at a time: a plan that has two of them on two
// streams runs where an event orders them, and is refused where none does.
#include "devices/cuda/CollectiveGuard.h"
#include "FakeGpu.h"
#include "KernelBench.h"

#include <catch2/catch.hpp>

using namespace layline::test;

namespace {

/// Two sums over tp, the second on a stream of its own and by a flag of its
/// own: plans may have that, of devices whose flags are a plan's.
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
  }

  Bench bench;
  Json plan;
  Json *product, *first, *second;
};

} // namespace

TEST_CASE("two collectives of a group on two streams", "[launch]") {
  auto ranks = GENERATE(2, 4);
  auto count = GENERATE(1, 2);
  auto isOrdered = GENERATE(false, true);
  CAPTURE(ranks, count, isOrdered);
  FakeCards cards;
  cards.count = count;
  FakeGpu gpu(cards);
  {
    TwoStreams two(ranks);
    if (isOrdered) {
      (*two.first)["signals"] = {"e.sum"};
      (*two.second)["waits"].push_back("e.sum");
    }
    REQUIRE(findings(two.plan) == "");
    TestEngine cuda(two.plan, LAYLINE_PRECISION_F32, "cuda", false);
    std::string name = (*two.second)["id"], before = (*two.first)["id"];
    for (int time = 0; time < 2; ++time) {
      if (!isOrdered) {
        CHECK_THROWS_WITH(
            two.bench.run(cuda),
            Catch::Contains("step '" + name + "' (all_reduce") &&
                Catch::Contains("on stream 1 of communicator \"tp\" while "
                                "launch ") &&
                Catch::Contains("step '" + before +
                                "' on stream 0, is under way; expected that "
                                "the stream waits for it"));
        continue;
      }
      two.bench.run(cuda);
      CHECK(cuda.output("a").data == cuda.output("b").data);
    }
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("what a run is given is not broadcast over cards", "[launch]") {
  auto count = GENERATE(1, 2);
  CAPTURE(count);
  FakeCards cards;
  cards.count = count;
  FakeGpu gpu(cards);
  {
    // Ids of 40 bytes, which are no whole vectors: a kernel reads the root's
    // own.
    Bench bench(2, 5, 0, "f32");
    std::string table = bench.table("x", randomValue({64, 16}, 1));
    bench.begin();
    bench.b.output("x", bench.source(table, 16));
    std::string all = bench.b.typed("i64", {"tokens"}, {nullptr});
    bench.b.step("broadcast",
                 {{"input", bench.b.input("input_ids")}, {"output", all}},
                 {{"group", "tp"}, {"root", 1}});
    bench.b.output("ids", all);
    Json plan = bench.b.finish();
    REQUIRE(findings(plan) == "");
    TestEngine cuda(plan, LAYLINE_PRECISION_F32, "cuda", false);
    if (count == 1)
      bench.run(cuda);
    else
      CHECK_THROWS_WITH(bench.run(cuda),
                        Catch::Contains("(broadcast): found its input '") &&
                            Catch::Contains("ranks on one card"));
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}
