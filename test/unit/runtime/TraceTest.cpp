// The record of what ran when, as a viewer reads it.
#include "KernelBench.h"
#include "LlamaPlan.h"
#include "TestEngine.h"
#include "layline/hooks.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <fstream>
#include <map>
#include <tuple>

using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

const std::string kModel = LAYLINE_GOLDEN_DIR "/llama/model.safetensors";
constexpr std::int64_t kRanks = 2;

struct Recorded {
  Json plan = llamaPlan(kRanks, Boundaries::Fused);
  TestEngine engine{plan, LAYLINE_PRECISION_F32};
  std::string path = "trace-test.json";

  Recorded() { engine.weights(kModel); }
  ~Recorded() { std::remove(path.c_str()); }
  void run(std::int64_t tokens, std::int64_t past) {
    engine.input("input_ids", count(tokens));
    engine.input("positions", count(tokens, past));
    engine.run(tokens);
  }
  Json written() {
    engine.check(layline_trace_write(engine.get(), path.c_str()));
    return Json::parse(std::ifstream(path));
  }
};

} // namespace

TEST_CASE("a trace has every step of every rank", "[trace]") {
  Recorded recorded;
  layline_engine *engine = recorded.engine.get();
  recorded.run(5, 0); // before begin: not in it
  recorded.engine.check(layline_caches_reset(engine));
  recorded.engine.check(layline_trace_begin(engine));
  recorded.run(5, 0);
  recorded.run(1, 5);
  recorded.engine.check(layline_trace_end(engine));
  recorded.run(1, 6); // behind end
  Json trace = recorded.written();

  const Json &steps = recorded.plan["variants"][0]["steps"];
  std::map<std::string, int> names;
  std::map<std::int64_t, std::vector<Json>> byRank;
  for (const Json &event : trace["traceEvents"]) {
    if (event["ph"] == "M")
      ++names[event["name"].get<std::string>() + " " +
              event["args"]["name"].get<std::string>()];
    else
      byRank[event["pid"]].push_back(event);
  }
  CHECK(names.at("process_name rank 0") == 1);
  CHECK(names.at("process_name rank 1") == 1);
  CHECK(names.at("thread_name compute") == kRanks);
  REQUIRE(byRank.size() == kRanks);
  for (const auto &[rank, events] : byRank) {
    REQUIRE(events.size() == 2 * steps.size());
    double last = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Json &event = events[i], &args = event["args"];
      CHECK(event["ph"] == "X");
      CHECK(args["step"] == steps[i % steps.size()]["id"]);
      CHECK(event["cat"] == steps[i % steps.size()]["kind"]);
      CHECK(args["run"] == i / steps.size());
      CHECK(args["tokens"] == (i < steps.size() ? 5 : 1));
      CHECK(args["past"] == (i < steps.size() ? 0 : 5));
      CHECK(event["ts"].get<double>() >= last);
      CHECK(event["dur"].get<double>() >= 0);
      last = event["ts"].get<double>();
    }
  }
}

TEST_CASE("a trace counts the bytes of a step's operands", "[trace]") {
  Recorded recorded;
  recorded.engine.check(layline_trace_begin(recorded.engine.get()));
  recorded.run(5, 0);
  recorded.run(2, 5);
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>>
      bytes; // of rank 0, by kind: {read, written}
  Json trace = recorded.written();
  for (const Json &event : trace["traceEvents"])
    if (event["ph"] == "X" && event["pid"] == 0)
      bytes[event["cat"]].push_back(
          {event["args"]["bytes_read"], event["args"]["bytes_written"]});
  // Ids, and the rows they name.
  CHECK(bytes["embedding"][0] ==
        std::pair<std::int64_t, std::int64_t>(5 * 8 + 5 * 64 * 4, 5 * 64 * 4));
  // q_proj: 5 rows of 64, half of 128 rows of weights.
  CHECK(bytes["linear"][0] == std::pair<std::int64_t, std::int64_t>(
                                  (5 * 64 + 64 * 64) * 4, 5 * 64 * 4));
  // Positions, then one KV head of 16: the new rows, of the second run too.
  CHECK(bytes["cache_append"].front().second == 5 * 8);
  CHECK(bytes["cache_append"].back().second == 2 * 16 * 4);
  // 4 heads, 5 + 2 rows of keys and values, positions of both.
  CHECK(bytes["attention"].back() ==
        std::pair<std::int64_t, std::int64_t>(
            2 * 64 * 4 + 2 * 7 * 16 * 4 + 2 * 8 + 7 * 8, 2 * 64 * 4));
}

TEST_CASE("in bf16 a trace counts the bytes of the plan's types", "[trace]") {
  auto [precision, half, table, payload] =
      GENERATE(std::tuple(LAYLINE_PRECISION_BF16, 2, 2, 1),
               std::tuple(LAYLINE_PRECISION_F32, 4, 4, 4));
  constexpr std::int64_t kTokens = 5, kWidth = 64;
  CAPTURE(precision);
  Bench bench(1, kTokens, 0, "bf16");
  bench.b.require("quantized_rows");
  bench.b.cache("kept", 0, "latent", {kWidth}, {nullptr, nullptr});
  std::string weight = bench.table("x", randomValue({64, kWidth}, 3));
  bench.begin();
  Json whole = {nullptr, nullptr};
  std::string x = bench.source(weight, kWidth),
              values = bench.b.typed("fp8_e4m3", {"tokens", kWidth}, whole),
              scales = bench.b.typed("f32", {"tokens", 1}, whole);
  bench.b.step("cache_append", {{"input", x}, {"cache", "kept"}});
  bench.b.step("quantize",
               {{"input", x}, {"values", values}, {"scales", scales}},
               {{"format", "fp8_e4m3"}});
  bench.b.output("values", values);
  bench.b.output("scales", scales);
  Json plan = bench.b.finish();
  REQUIRE(findings(plan) == "");
  TestEngine engine(plan, precision);
  engine.check(layline_trace_begin(engine.get()));
  bench.run(engine);
  const char *path = "trace-test-types.json";
  engine.check(layline_trace_write(engine.get(), path));
  Json trace = Json::parse(std::ifstream(path));
  std::remove(path);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> bytes;
  for (const Json &event : trace["traceEvents"])
    if (event["ph"] == "X")
      bytes[event["cat"]] = {event["args"]["bytes_read"],
                             event["args"]["bytes_written"]};
  using Bytes = std::pair<std::int64_t, std::int64_t>;
  constexpr std::int64_t kCount = kTokens * kWidth;
  CHECK(bytes["embedding"] ==
        Bytes(kTokens * 8 + kCount * table, kCount * half));
  CHECK(bytes["cache_append"] == Bytes(kCount * half, kCount * half));
  // Scales are f32 in both.
  CHECK(bytes["quantize"] ==
        Bytes(kCount * half, kCount * payload + kTokens * 4));
}

TEST_CASE("a trace ends with what failed, and says when there is none",
          "[trace]") {
  Recorded recorded;
  layline_engine *engine = recorded.engine.get();
  CHECK(layline_trace_write(engine, "none.json") == LAYLINE_NOT_BOUND);
  CHECK_THAT(layline_engine_error(engine), Contains("no trace was begun"));
  recorded.engine.check(layline_trace_begin(engine));
  recorded.engine.input("input_ids", {999999, 1});
  recorded.engine.input("positions", count(2));
  CHECK(layline_run(engine, 2) == LAYLINE_RUN_FAILURE);
  recorded.run(2, 0);
  std::map<std::int64_t, std::size_t> steps; // by run
  Json trace = recorded.written();
  for (const Json &event : trace["traceEvents"])
    if (event["ph"] == "X")
      ++steps[event["args"]["run"]];
  // The embedding fails on both ranks: what came before it is there.
  const Json &all = recorded.plan["variants"][0]["steps"];
  std::size_t before = 0;
  while (all.at(before)["kind"] != "embedding")
    ++before;
  CHECK(steps[0] == kRanks * before);
  CHECK(steps[1] == kRanks * all.size());
  CHECK(layline_trace_write(engine, "/nowhere/trace.json") ==
        LAYLINE_UNREADABLE_FILE);
  CHECK_THAT(layline_engine_error(engine),
             Contains("'/nowhere/trace.json': cannot be written"));
}
