// Ranges, layouts over them and keys of flags: one thing changed in a good
// plan is refused.
#include "LlamaPlan.h"
#include "PlanEdits.h"
#include "TestEngine.h"

#include <catch2/catch.hpp>

using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

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
      zigzagPlan,
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
      cyclicPlan,
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
      zigzagPlan,
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
  refuses(zigzagPlan,
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
  Json plan = zigzagPlan();
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
