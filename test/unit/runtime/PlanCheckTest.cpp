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

namespace {

Json zigzag() { return llamaPlan(2, Boundaries::Rows, 1, {2, "zigzag", 0}); }
Json cyclic() { return llamaPlan(2, Boundaries::Fused, 1, {2, "cyclic", 3}); }

void refuses(const std::function<Json()> &plan,
             const std::vector<Mutation> &mutations) {
  REQUIRE(findings(plan()) == "");
  for (const Mutation &mutation : mutations) {
    Json changed = plan();
    mutation.apply(changed);
    CAPTURE(mutation.what);
    CHECK_THAT(findings(changed), Contains(mutation.message));
  }
}

Json &range(Json &plan, const std::string &id) {
  return entry(plan["ranges"], id);
}
Json &segment(Json &plan, const std::string &id, int n = 0) {
  return range(plan, id)["segments"][n];
}

/// Of the buffer that an argument names.
Json &layout(Json &plan, const std::string &kind, int n, const char *arg) {
  return buffer(small(plan), step(small(plan), kind, n)["args"][arg])["layout"];
}

/// Holds all rows of what an argument names, and has the room for them.
void holdAllRows(Json &plan, const std::string &kind, int n, const char *arg) {
  layout(plan, kind, n, arg)["dims"][0] = nullptr;
  for (Json &one : small(plan)["buffers"])
    if (one.contains("bytes"))
      one["bytes"] = one["bytes"].get<int>() * 2;
  for (Json &one : small(plan)["arenas"])
    one["bytes"] = 1 << 30;
}

/// Another way to deal out `extent` over cp.
std::string addZigzag(Json &plan, int extent) {
  PlanBuilder builder(2);
  builder.addContextAxis(2);
  std::string id = builder.zigzag(extent)["range"];
  plan["ranges"].push_back(builder.finish()["ranges"][0]);
  return id;
}

const char *const kZigzag = "tokens/cp:zigzag";
const char *const kNested = "tokens/cp:zigzag/tp";
const char *const kCyclic = "tokens/cp:cyclic3";

} // namespace

TEST_CASE("good context-parallel plans are good", "[plan]") {
  for (std::int64_t tp : {1, 2, 3})
    for (std::int64_t cp : {2, 3, 4})
      for (const char *kind : {"block", "zigzag", "cyclic"})
        for (Boundaries form :
             {Boundaries::Whole, Boundaries::Rows, Boundaries::Fused}) {
          CAPTURE(tp, cp, kind);
          CHECK(findings(llamaPlan(tp, form, 5, {cp, kind, 2})) == "");
        }
}

TEST_CASE("ranges that are not what they say are refused", "[plan]") {
  refuses(
      zigzag,
      {{"a feature that is used and not listed",
        [](Json &p) { p["requires"].erase(2); },
        "range 'tokens/cp:zigzag': is of kind 'zigzag'; 'requires' does not "
        "list the feature 'segmented_ranges'"},
       {"one segment missing",
        [](Json &p) { range(p, kZigzag)["segments"].erase(1); },
        "segments: has 1 segments; zigzag has 2"},
       {"one segment too many",
        [](Json &p) {
          range(p, "n8/tp")["segments"].push_back(segment(p, "n8/tp"));
        },
        "segments: has 2 segments; block has 1"},
       {"segments in the other order",
        [](Json &p) {
          std::swap(segment(p, kZigzag, 0), segment(p, kZigzag, 1));
        },
        "range 'tokens/cp:zigzag': gives rank 0 on axis 'cp' in segment 0"},
       {"one segment twice",
        [](Json &p) { segment(p, kZigzag, 1) = segment(p, kZigzag, 0); },
        "in segment 1 [0, 1) of 1 for 1 tokens; of zigzag it is [1, 1)"},
       {"segments that are wrong only when uneven",
        [](Json &p) {
          segment(p, kZigzag, 0) = {
              {"begin", {"mul", "rank.cp", {"floordiv", "tokens", 4}}},
              {"size", {"floordiv", "tokens", 4}}};
        },
        "[0, 0) of 1 for 1 tokens; of zigzag it is [0, 1)"},
       {"a stride in a kind without",
        [](Json &p) { segment(p, kZigzag)["stride"] = 4; },
        "has a 'stride'; the range is zigzag"},
       {"an interleave in a kind without",
        [](Json &p) { range(p, kZigzag)["interleave"] = 4; },
        "interleave: belongs to kind 'cyclic' only"},
       {"a kind without its interleave",
        [](Json &p) { range(p, kZigzag)["kind"] = "cyclic"; },
        "has no 'interleave'"},
       {"an unknown kind",
        [](Json &p) { range(p, kZigzag)["kind"] = "diagonal"; },
        "ranges[0].kind"},
       {"within a range that is not there",
        [](Json &p) { range(p, kNested)["within"] = "rows"; },
        "names the range 'rows', which is not defined"},
       {"within a later range",
        [](Json &p) { std::swap(p["ranges"][0], p["ranges"][1]); },
        "names range 'tokens/cp:zigzag', which does not stand earlier"},
       {"within itself", [](Json &p) { range(p, kNested)["within"] = kNested; },
        "which does not stand earlier in the list"},
       {"within a range over the same axis",
        [](Json &p) { range(p, kNested)["axis"] = "cp"; },
        "over axis 'cp' in range 'tokens/cp:zigzag', which is over that axis"},
       {"within KV heads",
        [](Json &p) {
          Json nested = range(p, kNested);
          nested["id"] = "heads";
          nested["axis"] = "cp";
          nested["within"] = "kv2of8/tp";
          nested["extent"] = {"size", "kv2of8/tp"};
          p["ranges"].push_back(nested);
        },
        "KV heads are where their query heads are"},
       {"an extent that is not the size of the range around it",
        [](Json &p) { range(p, kNested)["extent"] = "tokens"; },
        "extent: of a range within 'tokens/cp:zigzag' must be [\"size\", "
        "\"tokens/cp:zigzag\"]"},
       {"an extent that is the size of no range around it",
        [](Json &p) {
          range(p, kZigzag)["extent"] = {"size", "n8/tp"};
        },
        "extent: may use 'tokens' only"},
       {"the size of a range elsewhere",
        [](Json &p) {
          segment(p, kNested)["size"] = {"size", "n8/tp"};
        },
        "may use 'tokens', 'rank.<axis>' and the size of range "
        "'tokens/cp:zigzag' only"},
       {"another axis",
        [](Json &p) { segment(p, kNested)["size"] = "rank.cp"; },
        "uses the rank on axis 'cp'; the range is over axis 'tp'"},
       {"a part that ends beyond all numbers",
        [](Json &p) {
          segment(p, kZigzag) = {{"begin", 9223372036854775807}, {"size", 1}};
        },
        "end of a part overflows"},
       {"parts whose sum is beyond all numbers",
        [](Json &p) {
          for (int n : {0, 1})
            segment(p, kZigzag, n) = {{"begin", 0},
                                      {"size", 9223372036854775807}};
        },
        "size of a part overflows"},
       {"nested parts that are wrong only when uneven",
        [](Json &p) {
          Json rows = {"ceildiv", {"size", kZigzag}, 2};
          segment(p, kNested) = {{"begin", {"mul", "rank.tp", rows}},
                                 {"size", rows}};
        },
        "range 'tokens/cp:zigzag/tp': gives rank 1 on axis 'tp' within rank 0 "
        "on axis 'cp' [1, 2) of 1 for 1 tokens; the block is [1, 1)"},
       {"nested parts that fit one rank around them only",
        [](Json &p) {
          // The size on cp rank 0, for all.
          Json size = {"add",
                       {"floordiv", {"add", "tokens", 3}, 4},
                       {"floordiv", "tokens", 4}};
          Json rest = {"mod", size, 2}, half = {"floordiv", size, 2};
          segment(p, kNested)["size"] = {
              "add", half, {"min", 1, {"max", 0, {"sub", rest, "rank.tp"}}}};
        },
        "on axis 'tp' within rank 1 on axis 'cp'"}});
  refuses(
      cyclic,
      {{"a feature that is used and not listed",
        [](Json &p) { p["requires"].erase(2); },
        "range 'tokens/cp:cyclic3': is of kind 'cyclic'; 'requires'"},
       {"no stride", [](Json &p) { segment(p, kCyclic).erase("stride"); },
        "has no 'stride'; the range is cyclic"},
       {"another stride", [](Json &p) { segment(p, kCyclic)["stride"] = 3; },
        "stride: is 3; 2 ranks x interleave 3 = 6 is expected"},
       {"another block", [](Json &p) { segment(p, kCyclic)["block"] = 1; },
        "block: is 1; the interleave 3 is expected"},
       {"another interleave",
        [](Json &p) { range(p, kCyclic)["interleave"] = 4; },
        "block: is 3; the interleave 4 is expected"},
       {"a huge interleave",
        [](Json &p) { range(p, kCyclic)["interleave"] = 9223372036854775807; },
        "overflows"},
       {"every rank's items begin at 0",
        [](Json &p) { segment(p, kCyclic)["begin"] = 0; },
        "range 'tokens/cp:cyclic3': gives rank 1 on axis 'cp' 1 items "
        "from 0 on in runs of 3 that are 6 apart of 4 for 4 tokens; of "
        "cyclic it is 1 items from 3 on"},
       {"a last period that is forgotten",
        [](Json &p) {
          segment(p, kCyclic)["size"] = {"mul", {"floordiv", "tokens", 6}, 3};
        },
        "gives rank 0 on axis 'cp' 0 items"}});
  // What 1.0 has needs no feature: a block over the second axis.
  Json block = llamaPlan(2, Boundaries::Whole, 1, {2, "block", 0});
  block["requires"].erase(2);
  CHECK_THAT(findings(block), Contains("range 'tokens/cp/tp': is within "
                                       "'tokens/cp'; 'requires' does not"));
  for (std::size_t i = 0; i < block["ranges"].size(); ++i)
    if (block["ranges"][i].contains("within"))
      block["ranges"].erase(i--);
  CHECK(findings(block) == "");
}

TEST_CASE("layouts of segmented ranges that do not fit are refused", "[plan]") {
  refuses(
      zigzag,
      {{"a sum owed over an axis around the rows",
        [](Json &p) { layout(p, "norm", 1, "input")["owes"] = {"cp"}; },
        "uses axis 'cp' twice"},
       {"a sum owed over the rows' own axis",
        [](Json &p) { layout(p, "norm", 1, "input")["owes"] = {"tp"}; },
        "uses axis 'tp' twice"},
       {"columns over an axis of the rows",
        [](Json &p) {
          layout(p, "norm", 1, "input")["dims"][1] = {{"range", "n8/tp"},
                                                      {"unit", 8}};
        },
        "uses axis 'tp' twice"},
       {"rows in units",
        [](Json &p) { layout(p, "norm", 1, "input")["dims"][0]["unit"] = 2; },
        "by range 'tokens/cp:zigzag/tp', whose extent x unit is"},
       {"parts gathered in one go",
        [](Json &p) { holdAllRows(p, "all_gather", 2, "output"); },
        "is held whole; range 'tokens/cp:zigzag/tp' deals out what is split "
        "by 'tokens/cp:zigzag'"},
       {"a gather that claims less than it does",
        [](Json &p) {
          layout(p, "all_gather", 0, "output")["dims"][0] = {{"range", kZigzag},
                                                             {"unit", 1}};
        },
        "is split by 'tokens/cp:zigzag'; it must be held whole"},
       {"rows cut in one go",
        [](Json &p) { holdAllRows(p, "slice", 1, "input"); },
        "is held whole; range 'tokens/cp:zigzag/tp' deals out"},
       {"rows summed in one go",
        [](Json &p) { holdAllRows(p, "reduce_scatter", 0, "input"); },
        "deals out what is split by 'tokens/cp:zigzag'"},
       {"a gather by the other group",
        [](Json &p) {
          step(small(p), "all_gather", 2)["attrs"]["group"] = "cp";
        },
        "group 'cp' is over [cp], range 'tokens/cp:zigzag/tp' over [tp]"},
       {"a gather by the range around",
        [](Json &p) {
          step(small(p), "all_gather", 2)["attrs"]["range"] = kZigzag;
          step(small(p), "all_gather", 2)["attrs"]["group"] = "cp";
        },
        "is split by 'tokens/cp:zigzag/tp'; range 'tokens/cp:zigzag' is "
        "expected"},
       {"keys that are cached as they are split",
        [](Json &p) {
          Json &append = step(small(p), "cache_append", 1);
          append["args"]["input"]["buffer"] =
              step(small(p), "all_gather", 0)["args"]["input"];
        },
        "is split by 'tokens/cp:zigzag'; it must be held whole"},
       {"a vocabulary of several segments",
        [](Json &p) {
          p["weights"][0]["layout"]["dims"][0]["range"] = addZigzag(p, 128);
        },
        "is split by 'n128/cp:zigzag' of kind 'zigzag'; parts of one run are "
        "expected"},
       {"heads of several segments",
        [](Json &p) {
          holdAllRows(p, "attention", 0, "query");
          layout(p, "attention", 0, "query")["dims"] = {
              nullptr, {{"range", addZigzag(p, 8)}, {"unit", 1}}, nullptr};
        },
        "is split by 'n8/cp:zigzag' of kind 'zigzag'; parts of one run"}});
}

TEST_CASE("flags that instances of a group would share are refused", "[plan]") {
  refuses(zigzag,
          {{"a flag without a key", [](Json &p) { p["flags"][0].erase("key"); },
            "flag 'f.tp' of group 'tp': its key [] misses axis 'cp', over "
            "which the group has instances: ranks 0 and 1 are in two of them "
            "and would signal one flag"},
           {"another flag without a key",
            [](Json &p) { p["flags"][1]["key"] = Json::array(); },
            "flag 'f.cp' of group 'cp': its key [] misses axis 'tp', over "
            "which the group has instances: ranks 0 and 2 are"},
           {"a key of the group's own axis",
            [](Json &p) {
              p["flags"][0]["key"] = {"tp", "cp"};
            },
            "its key has axis 'tp', which the group is over"},
           {"a key that names an axis twice",
            [](Json &p) {
              p["flags"][0]["key"] = {"cp", "cp"};
            },
            "its key is [cp, cp]; every axis once"},
           {"a key of no axis", [](Json &p) { p["flags"][0]["key"] = {"ep"}; },
            "names the axis 'ep', which is not defined"}});
  // 1.0 did not say which instance a flag belongs to.
  Json plan = zigzag();
  plan["flags"][0].erase("key");
  plan["version"]["minor"] = 0;
  CHECK(findings(plan) == "");
  // An axis of one rank makes no instances.
  plan = llamaPlan(1, Boundaries::Rows, 1, {4, "zigzag", 0});
  plan["flags"][1].erase("key");
  CHECK(findings(plan) == "");
  plan["flags"][0].erase("key");
  CHECK_THAT(findings(plan), Contains("'f.tp'"));
}

TEST_CASE("sites, kernels and planes", "[plan]") {
  auto site = [](const Json &step) {
    return Json::array({{{"id", "x"},
                         {"status", "applied"},
                         {"was", Json::array({"all_reduce"})},
                         {"step", step}}});
  };
  auto cost = [](const char *what, const char *of) {
    Json one = {{"id", "x"},
                {"status", "applied"},
                {"was", Json::array({"all_reduce"})}};
    one["bytes"] = {{"before", {{"ring", {what, of}}}},
                    {"after", Json::object()}};
    return Json::array({one});
  };
  // Steps that pay a sum: alone, in a fused step, the fused step.
  for (const char *kind : {"all_reduce", "reduce_scatter", "fused"}) {
    Json plan = cyclic();
    small(plan)["sites"] = site(step(small(plan), kind)["id"]);
    CAPTURE(kind);
    CHECK(findings(plan) == "");
  }
  for (auto [what, of] : {std::pair("size", kCyclic), {"begin", "n8/tp"}}) {
    Json plan = cyclic();
    small(plan)["sites"] = cost(what, of);
    CHECK(findings(plan) == "");
  }
  refuses(
      cyclic,
      {{"a site of no step", [&](Json &p) { small(p)["sites"] = site("s999"); },
        "sites[0].step: names the step 's999', which is not defined"},
       {"a site of a step that pays nothing",
        [&](Json &p) {
          small(p)["sites"] = site(step(small(p), "embedding")["id"]);
        },
        "(embedding), which pays no sum; an all_reduce, a reduce_scatter or a "
        "fused step with one is expected"},
       {"a site of another step of the kernel",
        [&](Json &p) {
          small(p)["sites"] = site(step(small(p), "norm", 1)["id"]);
        },
        "(norm), which pays no sum"},
       {"a cost by the begin of a range that has none",
        [&](Json &p) { small(p)["sites"] = cost("begin", kCyclic); },
        "takes the begin of range 'tokens/cp:cyclic3'"},
       {"a cost by the begin of a nested range",
        [&](Json &p) {
          small(p)["sites"] = cost("begin", "tokens/cp:cyclic3/tp");
        },
        "takes the begin of range 'tokens/cp:cyclic3/tp'"},
       {"a kernel that does not wait for other ranks",
        [](Json &p) { p["kernels"][0]["cooperative"] = false; },
        "kernels[0].cooperative: is false; the kernel contains the collective "
        "'reduce_scatter'"},
       {"values from the cache of keys",
        [](Json &p) {
          step(small(p), "attention")["args"]["values"] = "layer.0.key";
        },
        "takes cache 'layer.0.key' of plane 'key' as 'values'; plane 'value' "
        "is expected"},
       {"keys from the cache of values",
        [](Json &p) {
          step(small(p), "attention")["args"]["keys"] = "layer.0.value";
        },
        "takes cache 'layer.0.value' of plane 'value' as 'keys'"},
       {"a proof without a digest",
        [](Json &p) {
          p["proof"] = {{"file", "proof.json"}};
        },
        "proof"},
       {"a newer minor version with a key that is not known",
        [](Json &p) {
          p["version"]["minor"] = 9;
          p["paging"] = 1;
        },
        "(the plan is of a newer minor version)"}});
  Json plan = cyclic();
  plan["proof"] = {{"digest", "sha256:0"}, {"file", "proof.json"}};
  CHECK(findings(plan) == "");
}

TEST_CASE("a kernel without a collective is of one rank", "[plan]") {
  PlanBuilder builder(2, 4);
  std::string table = builder.weight("t", {4, 2}, {nullptr, nullptr});
  builder.variant("v", 1, 4);
  std::string ids = builder.input("input_ids");
  std::string x = builder.buffer({"tokens", 2}, {nullptr, nullptr}),
              y = builder.buffer({"tokens", 2}, {nullptr, nullptr});
  builder.step("embedding", {{"ids", ids}, {"weight", table}, {"output", x}});
  builder.fused({x}, {y},
                {builder.bodyStep("activation", {{"input", x}, {"output", y}},
                                  {{"function", "silu"}})});
  builder.output("y", y);
  Json plan = builder.finish();
  REQUIRE(plan["kernels"][0]["cooperative"] == false);
  CHECK(findings(plan) == "");
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
