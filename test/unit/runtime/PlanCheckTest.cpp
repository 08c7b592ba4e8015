// A plan that contradicts itself is refused with a message that says where and
// what. Every case changes one thing in a good plan.
#include "LlamaPlan.h"
#include "PlanEdits.h"
#include "TestEngine.h"

#include <catch2/catch.hpp>

using namespace layline::test;
using Catch::Matchers::Contains;

TEST_CASE("good plans are good", "[plan]") {
  for (std::int64_t ranks : {1, 2, 3, 5, 8, 16})
    for (Boundaries form :
         {Boundaries::Whole, Boundaries::Rows, Boundaries::Fused}) {
      CHECK(findings(llamaPlan(ranks, form)) == "");
      CHECK(findings(llamaPlan(ranks, form, 9)) == "");
    }
}

TEST_CASE("keys that begin with x- are ignored everywhere", "[plan]") {
  Json plan = goodPlan();
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
      {"a window beyond its period",
       [](Json &p) {
         p["requires"].push_back("periodic_rows");
         p["weights"][2]["rows"] = {10, 30};
         p["weights"][2]["period"] = 16;
       },
       "weight 'w2': takes a window of every 16 rows"},
      {"a period that does not divide",
       [](Json &p) {
         p["requires"].push_back("periodic_rows");
         p["weights"][2]["rows"] = {0, 4};
         p["weights"][2]["period"] = 7;
       },
       "a window inside a period that divides its rows is expected"},
      {"a period that makes another shape",
       [](Json &p) {
         p["requires"].push_back("periodic_rows");
         p["weights"][2]["rows"] = {0, 4};
         p["weights"][2]["period"] = 8;
       },
       "weight 'w2': has shape "},
      {"a period without its feature",
       [](Json &p) {
         p["weights"][2]["rows"] = {0, 4};
         p["weights"][2]["period"] = 8;
       },
       "weight 'w2' has a period; 'requires' does not list the feature "
       "'periodic_rows'"},
      {"a softcap without its feature",
       [](Json &p) { step(small(p), "attention")["attrs"]["softcap"] = 5.0; },
       "has this 'softcap'; 'requires' does not list the feature 'softcap'"},
      {"a softcap of nothing",
       [](Json &p) {
         p["requires"].push_back("softcap");
         step(small(p), "attention")["attrs"]["softcap"] = 0;
       },
       "softcap"},
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
  REQUIRE(findings(goodPlan()) == "");
  for (const Mutation &mutation : mutations) {
    Json plan = goodPlan();
    mutation.apply(plan);
    CAPTURE(mutation.what);
    std::string report = findings(plan);
    CHECK_THAT(report, Contains(mutation.message));
    CHECK(report.rfind("'plan': ", 0) == 0);
  }
}
