// A plan that contradicts itself is refused with a message that says where and
// what. Every case changes one thing in a good plan.
#include "LlamaPlan.h"
#include "TestEngine.h"

#include <catch2/catch.hpp>

#include <functional>

using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

Json good() { return llamaPlan(4, Boundaries::Fused, 6); }
Json &large(Json &plan) { return plan["variants"][1]; }
Json &small(Json &plan) { return plan["variants"][0]; }

/// The n-th step of a kind, also inside fused steps.
Json &step(Json &variant, const std::string &kind, int n = 0) {
  for (Json &one : variant["steps"]) {
    if (one["kind"] == kind && n-- == 0)
      return one;
    if (one.contains("body"))
      for (Json &inner : one["body"])
        if (inner["kind"] == kind && n-- == 0)
          return inner;
  }
  throw std::out_of_range(kind);
}

Json &buffer(Json &variant, const Json &id) {
  for (Json &one : variant["buffers"])
    if (one["id"] == id)
      return one;
  throw std::out_of_range(id.dump());
}

Json &entry(Json &list, const std::string &id) {
  for (Json &one : list)
    if (one["id"] == id)
      return one;
  throw std::out_of_range(id);
}

struct Mutation {
  const char *what;
  std::function<void(Json &)> apply;
  const char *message;
};

} // namespace

TEST_CASE("good plans are good", "[plan]") {
  for (std::int64_t ranks : {1, 2, 3, 5, 8, 16})
    for (Boundaries form :
         {Boundaries::Whole, Boundaries::Rows, Boundaries::Fused}) {
      CHECK(findings(llamaPlan(ranks, form)) == "");
      CHECK(findings(llamaPlan(ranks, form, 9)) == "");
    }
}

TEST_CASE("keys that begin with x- are ignored everywhere", "[plan]") {
  Json plan = good();
  plan["x-note"] = {{"x", {1, 2}}};
  large(plan)["x-a"] = 1;
  step(large(plan), "linear")["x-b"] = nullptr;
  step(large(plan), "linear")["args"]["x-c"] = "b999";
  buffer(large(plan), "b40")["layout"]["x-d"] = "";
  CHECK(findings(plan) == "");
}

TEST_CASE("a plan changed in one place is refused", "[plan]") {
  static const std::vector<Mutation> mutations = {
      // Schema and versions.
      {"unknown key", [](Json &p) { p["extra"] = 1; }, "extra"},
      {"unknown key deep inside",
       [](Json &p) { large(p)["steps"][3]["speed"] = 1; },
       "variants[1].steps[3]"},
      {"missing key", [](Json &p) { p.erase("ranges"); }, "ranges"},
      {"wrong type", [](Json &p) { large(p)["tokens"]["max"] = "64"; },
       "variants[1].tokens.max"},
      {"a fraction for an integer",
       [](Json &p) { large(p)["tokens"]["max"] = 64.5; },
       "variants[1].tokens.max"},
      {"a negative size", [](Json &p) { p["mesh"][0]["size"] = -4; },
       "mesh[0].size"},
      {"a huge number",
       [](Json &p) { p["symbols"][0]["max"] = 18446744073709551615ULL; },
       "symbols[0].max"},
      {"another document", [](Json &p) { p["schema"] = "other"; },
       "'layline.launch_plan' is expected"},
      {"a newer major version", [](Json &p) { p["version"]["major"] = 2; },
       "version.major: is 2; this reader knows 1"},
      {"an unknown feature",
       [](Json &p) { p["requires"].push_back("paged_cache"); },
       "needs the feature 'paged_cache'"},
      {"an unknown kind",
       [](Json &p) { step(large(p), "linear")["kind"] = "convolution"; },
       "kind"},
      // Ids.
      {"a buffer defined twice",
       [](Json &p) { large(p)["buffers"].push_back(large(p)["buffers"][3]); },
       "is defined twice"},
      {"a step defined twice",
       [](Json &p) { large(p)["steps"][2]["id"] = large(p)["steps"][1]["id"]; },
       "is defined twice"},
      {"a name used twice",
       [](Json &p) {
         step(large(p), "norm", 1)["names"] = {"layer.0.input_norm"};
       },
       "step name 'layer.0.input_norm' is defined twice"},
      {"an unknown buffer",
       [](Json &p) { step(large(p), "linear")["args"]["input"] = "b999"; },
       "names the buffer 'b999', which is not defined"},
      {"an unknown weight",
       [](Json &p) { step(large(p), "linear")["args"]["weight"] = "b1"; },
       "names the weight 'b1'"},
      {"an unknown range",
       [](Json &p) { step(large(p), "slice")["attrs"]["range"] = "nowhere"; },
       "'nowhere'"},
      {"an unknown argument",
       [](Json &p) { step(large(p), "linear")["args"]["scales"] = "w1"; },
       "a 'linear' step has no argument 'scales'"},
      {"a missing argument",
       [](Json &p) { step(large(p), "linear")["args"].erase("weight"); },
       "a 'linear' step needs the argument 'weight'"},
      {"an attribute of another kind",
       [](Json &p) { step(large(p), "norm")["attrs"]["factor"] = 1.0; },
       "a 'norm' step has no attribute 'factor'"},
      {"a missing attribute",
       [](Json &p) { step(large(p), "norm")["attrs"].erase("eps"); },
       "a 'norm' step needs the attribute 'eps'"},
      // Expressions.
      {"an unknown operator",
       [](Json &p) {
         p["ranges"][0]["segments"][0]["size"] = {"pow", 2, 3};
       },
       "unknown operator 'pow'"},
      {"an unknown symbol",
       [](Json &p) { p["ranges"][0]["segments"][0]["size"] = "rank.ep"; },
       "'rank.ep'"},
      {"overflow",
       [](Json &p) {
         p["ranges"][0]["segments"][0]["size"] = {"mul", 4611686018427387904,
                                                  4};
       },
       "overflows"},
      {"division by zero",
       [](Json &p) {
         p["ranges"][0]["segments"][0]["size"] = {"mod", "rank.tp", 0};
       },
       "divides by a number that is not positive"},
      {"a global shape that depends on the rank",
       [](Json &p) {
         buffer(large(p), "b40")["shape"][0] = {"size", "tokens/tp"};
       },
       "depends on the rank"},
      // Ranges and variants.
      {"a range with a hole",
       [](Json &p) { entry(p["ranges"], "n8/tp")["segments"][0]["size"] = 1; },
       "range 'n8/tp': gives rank 0"},
      {"a range with an overlap",
       [](Json &p) { entry(p["ranges"], "n8/tp")["segments"][0]["begin"] = 0; },
       "range 'n8/tp': gives rank 1"},
      {"rows that are wrong only when uneven",
       [](Json &p) {
         entry(p["ranges"], "tokens/tp")["segments"][0] = {
             {"begin", {"mul", "rank.tp", {"ceildiv", "tokens", 4}}},
             {"size", {"ceildiv", "tokens", 4}}};
       },
       "range 'tokens/tp': gives rank 1"},
      {"KV heads that are not those read",
       [](Json &p) {
         entry(p["ranges"], "kv2of8/tp")["segments"][0]["begin"] = 0;
       },
       "what it reads is [1, 2)"},
      {"a variant that ends early",
       [](Json &p) { small(p)["tokens"]["max"] = 4; },
       "no variant runs 5 tokens"},
      {"variants that overlap", [](Json &p) { small(p)["tokens"]["max"] = 6; },
       "variant 'large' begins at 6 tokens; the one before ends at 6"},
      {"a variant missing", [](Json &p) { p["variants"].erase(1); },
       "no variant runs 6 tokens"},
      {"a variant beyond the symbol",
       [](Json &p) { p["symbols"][0]["max"] = 63; },
       "ends at 64 tokens; the symbol's max is 63"},
      {"variants with different outputs",
       [](Json &p) { small(p)["outputs"][0]["id"] = "probabilities"; },
       "other outputs"},
      // Weights and layouts.
      {"rows beyond the stored tensor",
       [](Json &p) {
         p["weights"][2]["rows"] = {100, 300};
       },
       "weight 'w2': takes rows [100, 300)"},
      {"a shape that is not the stored one",
       [](Json &p) { p["weights"][2]["shape"][0] = 64; },
       "weight 'w2': has shape [64, 64]"},
      {"wrong bytes", [](Json &p) { p["weights"][2]["bytes_per_rank"] = 1; },
       "bytes_per_rank 1"},
      {"a range of another extent",
       [](Json &p) { p["weights"][2]["layout"]["dims"][0]["unit"] = 8; },
       "whose extent x unit is 64"},
      {"an axis used twice",
       [](Json &p) {
         p["weights"][2]["layout"]["dims"][1] = {{"range", "n32/tp"},
                                                 {"unit", 2}};
       },
       "uses axis 'tp' twice"},
      {"a buffer that is too small",
       [](Json &p) {
         buffer(large(p), step(large(p), "linear")["args"]["output"])["bytes"] =
             8;
       },
       "has 8 bytes; 6 tokens need"},
      {"a buffer beyond its arena",
       [](Json &p) {
         buffer(large(p),
                step(large(p), "linear")["args"]["output"])["offset"] = 1 << 30;
       },
       "of arena 'float', which has"},
      // Contracts.
      {"a norm over an owed value",
       [](Json &p) {
         step(large(p), "norm")["args"]["input"] =
             step(large(p), "embedding")["args"]["output"];
       },
       "which owes a sum over [tp]; reduce it first"},
      {"an addition of a partial and a whole value",
       [](Json &p) {
         step(small(p), "add")["args"]["inputs"][1] =
             step(small(p), "all_reduce", 1)["args"]["input"];
       },
       "they must owe the same"},
      {"an addition of rows and a whole value",
       [](Json &p) {
         step(large(p), "add")["args"]["inputs"][0] =
             step(large(p), "slice")["args"]["input"];
       },
       "do not hold the same part"},
      {"a sum nobody owes",
       [](Json &p) {
         Json &reduce = step(small(p), "all_reduce", 1);
         reduce["args"]["input"] = step(small(p), "norm")["args"]["output"];
       },
       "owes []"},
      {"an output that still owes",
       [](Json &p) {
         buffer(large(p),
                large(p)["outputs"][0]["buffer"])["layout"]["owes"] = {"tp"};
       },
       "outputs owe nothing"},
      {"a linear whose parts do not meet",
       [](Json &p) {
         step(large(p), "linear", 3)["args"]["weight"] =
             step(large(p), "linear", 6)["args"]["weight"];
       },
       "they must be equal"},
      {"a split the kind does not make",
       [](Json &p) { step(large(p), "all_gather")["attrs"]["dim"] = 1; },
       "all_gather"},
      {"another kernel body", [](Json &p) { p["kernels"][0]["ops"].erase(1); },
       "is not that of kernel 'k0'"},
      {"a table of another width",
       [](Json &p) { p["tables"][0]["inv_freq"].erase(0); },
       "has 7 frequencies; 8 are expected"},
      {"a view that is no view",
       [](Json &p) {
         step(large(p), "rope")["args"]["input"]["shape"][2] = 17;
       },
       "view of shape"},
      {"a view through a head",
       [](Json &p) {
         step(large(p), "rope", 1)["args"]["input"]["shape"] = {"tokens", 1,
                                                                32};
       },
       "is split by 'kv2of8/tp'; it must be held whole"},
      // Order.
      {"an event nobody signals",
       [](Json &p) { large(p)["steps"][5]["waits"] = {"e1"}; },
       "waits for event 'e1', which no earlier step signals"},
      {"an event signalled later",
       [](Json &p) {
         large(p)["steps"][5]["waits"] = {"e1"};
         large(p)["steps"][6]["signals"] = {"e1"};
       },
       "no earlier step signals"},
      {"another stream without an event",
       [](Json &p) { step(large(p), "all_reduce")["stream"] = "comm"; },
       "waits for no event"},
      {"a collective without a flag",
       [](Json &p) { step(large(p), "all_reduce").erase("flag"); },
       "has no flag"},
      {"a use that 'after' does not list",
       [](Json &p) { step(large(p), "norm")["after"] = Json::array(); },
       "does not list it in 'after'"},
      {"a step after a later one",
       [](Json &p) {
         step(large(p), "norm")["after"].push_back(
             large(p)["steps"].back()["id"]);
       },
       "stands later in the list"},
      // Lifetimes.
      {"a read before any write",
       [](Json &p) {
         Json &reader = step(large(p), "linear");
         Json late = step(large(p), "all_gather")["args"]["output"];
         reader["args"]["input"] = late;
         buffer(large(p), late)["live"][0] = reader["id"];
       },
       "before any step has written it"},
      {"a cache read before it is appended to",
       [](Json &p) {
         Json &steps = large(p)["steps"];
         for (std::size_t i = 0; i < steps.size(); ++i)
           if (steps[i]["kind"] == "cache_append" &&
               steps[i]["args"]["cache"] == "layer.0.value") {
             std::swap(steps[i], steps[i + 1]);
             return;
           }
       },
       "before this step's rows are appended"},
      {"a cache that is never appended to",
       [](Json &p) {
         Json &steps = large(p)["steps"];
         steps.erase(0);
       },
       "reads cache 'positions' before"},
      {"a use outside the life",
       [](Json &p) {
         Json &b = buffer(large(p), step(large(p), "linear")["args"]["output"]);
         b["live"][1] = b["live"][0];
       },
       "outside its life"},
      {"two live buffers in one place",
       [](Json &p) {
         Json &b =
             buffer(large(p), step(large(p), "linear", 1)["args"]["output"]);
         b["offset"] = buffer(
             large(p), step(large(p), "linear")["args"]["output"])["offset"];
       },
       "are in one place of arena 'float' while both live"},
      {"a register used by another step",
       [](Json &p) {
         Json &norm = step(large(p), "norm", 0);
         buffer(large(p), norm["args"]["output"])["class"] = "register";
         buffer(large(p), norm["args"]["output"])["arena"] = "register";
       },
       "register"},
  };
  REQUIRE(findings(good()) == "");
  for (const Mutation &mutation : mutations) {
    Json plan = good();
    mutation.apply(plan);
    CAPTURE(mutation.what);
    std::string report = findings(plan);
    CHECK_THAT(report, Contains(mutation.message));
    CHECK(report.rfind("'plan': ", 0) == 0);
  }
}

TEST_CASE("a product over its own input is refused", "[plan]") {
  PlanBuilder builder(1, 4);
  std::string table = builder.weight("t", {4, 4}, {nullptr, nullptr});
  builder.variant("v", 1, 4);
  std::string ids = builder.input("input_ids");
  std::string x = builder.buffer({"tokens", 4}, {nullptr, nullptr});
  builder.step("embedding", {{"ids", ids}, {"weight", table}, {"output", x}});
  builder.step("linear", {{"input", x}, {"weight", table}, {"output", x}});
  builder.output("x", x);
  CHECK_THAT(findings(builder.finish()),
             Contains("writes 'b1' while it reads it"));
}

TEST_CASE("streams that events order share memory, others do not", "[plan]") {
  // All collectives on their own stream, as a compiler would put them: each
  // waits for what came before, and what comes after waits for it.
  Json plan = llamaPlan(2, Boundaries::Rows);
  Json &variant = plan["variants"][0];
  int events = 0;
  Json *previous = nullptr;
  for (Json &one : variant["steps"]) {
    bool isCollective = one.contains("flag");
    one["stream"] = isCollective ? "comm" : "compute";
    if (previous && (*previous)["stream"] != one["stream"]) {
      std::string event = "e" + std::to_string(events++);
      (*previous)["signals"] = {event};
      one["waits"] = {event};
    }
    previous = &one;
  }
  REQUIRE(events > 10);
  CHECK(findings(plan) == "");
  // Any one wait is needed.
  int needed = 0, waits = 0;
  for (std::size_t i = 0; i < variant["steps"].size(); ++i) {
    Json changed = plan;
    if (!changed["variants"][0]["steps"][i].contains("waits"))
      continue;
    changed["variants"][0]["steps"][i].erase("waits");
    ++waits;
    needed += findings(changed).empty() ? 0 : 1;
  }
  CHECK(needed == waits);
}

namespace {

/// s1 reads x on another stream; s2 writes z, or x again, without waiting for
/// it.
Json readerOnAnotherStream(bool writesAgain) {
  PlanBuilder builder(1, 4);
  std::string table = builder.weight("t", {4, 64}, {nullptr, nullptr});
  builder.variant("v", 1, 4);
  std::string ids = builder.input("input_ids");
  Json shape = {"tokens", 64}, dims = {nullptr, nullptr};
  std::string x = builder.buffer(shape, dims), y = builder.buffer(shape, dims),
              z = writesAgain ? x : builder.buffer(shape, dims),
              sum = builder.buffer(shape, dims);
  builder.step("embedding", {{"ids", ids}, {"weight", table}, {"output", x}});
  builder.step("activation", {{"input", x}, {"output", y}},
               {{"function", "silu"}});
  builder.step("embedding", {{"ids", ids}, {"weight", table}, {"output", z}});
  builder.step("add", {{"inputs", {y, z}}, {"output", sum}});
  builder.output("sum", sum);
  Json plan = builder.finish();
  Json &steps = plan["variants"][0]["steps"];
  steps[1]["stream"] = "comm";
  steps[0]["signals"] = steps[1]["waits"] = {"e0"};
  steps[1]["signals"] = steps[3]["waits"] = {"e1"};
  return plan;
}

} // namespace

TEST_CASE("memory is not used again before another stream has read it",
          "[plan]") {
  Json plan = readerOnAnotherStream(false);
  REQUIRE(plan["variants"][0]["buffers"][1]["offset"] ==
          plan["variants"][0]["buffers"][3]["offset"]);
  CHECK_THAT(findings(plan), Contains("buffers 'b1'") && Contains("and 'b3'") &&
                                 Contains("no event orders their streams"));
  plan["variants"][0]["steps"][2]["waits"] = {"e1"};
  CHECK(findings(plan) == "");

  plan = readerOnAnotherStream(true);
  CHECK_THAT(
      findings(plan),
      Contains("step 's2' (embedding): writes 'b1' and does not wait for "
               "step 's1', which uses it"));
  plan["variants"][0]["steps"][2]["waits"] = {"e1"};
  CHECK(findings(plan) == "");
}

TEST_CASE("one flag is not used by two streams at once", "[plan]") {
  PlanBuilder builder(2, 4);
  std::string table = builder.weight("t", {4, 2}, {builder.block(4), nullptr});
  builder.variant("v", 1, 4);
  std::string ids = builder.input("input_ids");
  Json shape = {"tokens", 2}, dims = {nullptr, nullptr};
  std::string x = builder.buffer(shape, dims, true);
  builder.step("embedding", {{"ids", ids}, {"weight", table}, {"output", x}});
  for (const char *name : {"a", "b"}) {
    std::string sum = builder.buffer(shape, dims);
    builder.step("all_reduce", {{"input", x}, {"output", sum}},
                 {{"group", "tp"}});
    builder.output(name, sum);
  }
  Json plan = builder.finish();
  CHECK(findings(plan) == "");
  Json &steps = plan["variants"][0]["steps"];
  steps[1]["stream"] = "comm";
  steps[0]["signals"] = steps[1]["waits"] = {"e0"};
  CHECK_THAT(
      findings(plan),
      Contains("may run at the same time as step 's1', which uses the same "
               "flag 'f.tp'"));
}

TEST_CASE("a plan cut short or with one byte changed never crashes", "[plan]") {
  PlanBuilder builder(2, 4);
  std::string table = builder.weight("t", {4, 2}, {nullptr, nullptr});
  builder.variant("v", 1, 4);
  std::string ids = builder.input("input_ids");
  std::string x = builder.buffer({"tokens", 2}, {nullptr, nullptr});
  builder.step("embedding", {{"ids", ids}, {"weight", table}, {"output", x}});
  builder.output("x", x);
  Json plan = builder.finish();
  REQUIRE(findings(plan) == "");
  std::string text = plan.dump();
  for (std::size_t length = 0; length < text.size(); ++length) {
    char *report = nullptr;
    layline_status status =
        layline_plan_check_memory(text.data(), length, "cut", &report);
    REQUIRE(status == LAYLINE_UNREADABLE_FILE);
    REQUIRE_THAT(report, Contains("'cut': not a JSON document"));
    layline_string_free(report);
  }
  for (std::size_t at = 0; at < text.size(); ++at)
    for (char byte : {'0', '9', '"', '[', '{', '-', 'x', '\0', '\xff'}) {
      std::string changed = text;
      changed[at] = byte;
      char *report = nullptr;
      layline_status status = layline_plan_check_memory(
          changed.data(), changed.size(), "changed", &report);
      REQUIRE(status != LAYLINE_INTERNAL);
      REQUIRE((status == LAYLINE_OK) == (*report == '\0'));
      layline_string_free(report);
    }
}

TEST_CASE("JSON beyond the grammar is refused", "[plan]") {
  auto check = [](const std::string &text) {
    char *report = nullptr;
    layline_plan_check_memory(text.data(), text.size(), "plan", &report);
    std::string result = report;
    layline_string_free(report);
    return result;
  };
  CHECK_THAT(check(R"({"a": 1, "a": 2})"), Contains("key 'a' stands twice"));
  CHECK_THAT(check(std::string(100000, '[')),
             Contains("nested deeper than 64"));
  CHECK_THAT(check("[1]"),
             Contains("document: is array; an object is expected"));
  CHECK_THAT(check(""), Contains("not a JSON document"));
}

TEST_CASE("a file that cannot be read is named", "[plan]") {
  char *report = nullptr;
  CHECK(layline_plan_check("/nowhere/plan.json", &report) ==
        LAYLINE_UNREADABLE_FILE);
  CHECK_THAT(report, Contains("'/nowhere/plan.json': cannot be opened"));
  layline_string_free(report);
  CHECK(layline_plan_check("/", &report) == LAYLINE_UNREADABLE_FILE);
  CHECK_THAT(report, Contains("is a directory"));
  layline_string_free(report);
}
