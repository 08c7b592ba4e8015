// Collectives of what a run is given: over cards its members read one another's
// inputs, which lie in memory that all of them map.
#include "FakeGpu.h"
#include "KernelBench.h"
#include "Uses.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace layline::test;

namespace {

/// Outputs "root", "rows" and "x": a member's ids, all members' rows of
/// positions, and the embedding of all ids, which no other rank reads.
struct Shared {
  explicit Shared(std::int64_t ranks) : bench(ranks, 7, 0, "f32") {
    table = bench.table("x", randomValue({64, 16}, 1));
    bench.begin();
    bench.b.output("x", bench.source(table, 16));
    std::string ids = bench.b.typed("i64", {"tokens"}, {nullptr}),
                rows = bench.b.typed("i64", {"tokens"}, {nullptr});
    bench.b.step("broadcast", {{"input", bench.ids}, {"output", ids}},
                 {{"group", "tp"}, {"root", ranks - 1}});
    bench.b.step(
        "all_gather",
        {{"input", bench.b.input("positions", block())}, {"output", rows}},
        {{"group", "tp"}, {"dim", 0}, {"range", block()["range"]}});
    bench.b.output("root", ids);
    bench.b.output("rows", rows);
    plan = bench.b.finish();
  }
  Json block() { return bench.b.block("tokens"); }

  Bench bench;
  std::string table;
  Json plan;
};

} // namespace

TEST_CASE("what a run is given is broadcast and gathered over cards",
          "[launch]") {
  auto [count, ranks] = GENERATE(std::pair(1, 2), std::pair(2, 2),
                                 std::pair(2, 4), std::pair(4, 4));
  bool hasKernels = GENERATE(true, false);
  CAPTURE(count, ranks, hasKernels);
  FakeCards fake = checkedCards(count);
  if (!hasKernels)
    fake.lacks = isFused;
  FakeGpu gpu(fake);
  {
    Shared shared(ranks);
    REQUIRE(findings(shared.plan) == "");
    TestEngine cuda(shared.plan, LAYLINE_PRECISION_F32, "cuda", false),
        cpu(shared.plan, LAYLINE_PRECISION_F32, "cpu", false);
    Value table = randomValue({64, 16}, 1);
    cuda.weight("x", table);
    cpu.weight("x", table);
    // The first program is run by its graph again, with other values; fewer
    // rows than ranks, and more.
    std::int64_t from = 0;
    for (std::int64_t tokens : {7, 7, 1, 23, 7}) {
      CAPTURE(tokens);
      std::vector<std::int64_t> ids = layline::test::count(tokens);
      std::reverse(ids.begin(), ids.end());
      for (TestEngine *engine : {&cuda, &cpu}) {
        engine->check(layline_past_set(engine->get(), 0));
        engine->input("input_ids", ids);
        engine->input("positions", layline::test::count(tokens, from));
        engine->run(tokens);
      }
      CHECK(cuda.integers("root") == ids);
      CHECK(cuda.integers("rows") == layline::test::count(tokens, from));
      CHECK(cuda.integers("root") == cpu.integers("root"));
      CHECK(cuda.integers("rows") == cpu.integers("rows"));
      CHECK(cuda.output("x").data == cpu.output("x").data);
      from += 100;
    }
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("inputs that no other card reads stay where the parameters are",
          "[launch]") {
  auto [count, ranks] = GENERATE(std::pair(1, 2), std::pair(2, 2));
  bool isShared = GENERATE(true, false);
  CAPTURE(count, ranks, isShared);
  FakeGpu gpu(checkedCards(count));
  Bench bench(ranks, 7, 0, "f32");
  std::string table = bench.table("x", randomValue({64, 16}, 1));
  bench.begin();
  std::string x = bench.source(table, 16), y = x;
  if (isShared) {
    y = bench.b.typed("i64", {"tokens"}, {nullptr});
    bench.b.step("broadcast", {{"input", bench.ids}, {"output", y}},
                 {{"group", "tp"}, {"root", 0}});
  }
  bench.b.output("y", y);
  TestEngine cuda(bench.b.finish(), LAYLINE_PRECISION_F32, "cuda", false);
  bench.run(cuda);
  // One for each rank, and only where the group is over cards.
  CHECK(gpu.callsOf("cuMemcpyDtoDAsync") ==
        (isShared && count > 1 ? std::size_t(ranks) : 0U));
  CHECK(gpu.emulatorError().empty());
}
