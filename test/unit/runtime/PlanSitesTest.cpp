// Sites, kernels, planes and what a step writes: one thing changed in a good
// plan is refused.
#include "PlanBuilder.h"
#include "PlanEdits.h"
#include "TestEngine.h"

#include <catch2/catch.hpp>

using namespace layline::test;
using Catch::Matchers::Contains;

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
    Json plan = cyclicPlan();
    small(plan)["sites"] = site(step(small(plan), kind)["id"]);
    CAPTURE(kind);
    CHECK(findings(plan) == "");
  }
  for (auto [what, of] : {std::pair("size", kCyclic), {"begin", "n8/tp"}}) {
    Json plan = cyclicPlan();
    small(plan)["sites"] = cost(what, of);
    CHECK(findings(plan) == "");
  }
  refuses(
      cyclicPlan,
      {{"a site of no step", [&](Json &p) { small(p)["sites"] = site("s999"); },
        "sites[0].step: names the step 's999', which is not defined"},
       {"a site of a step that pays nothing",
        [&](Json &p) {
          small(p)["sites"] = site(step(small(p), "embedding")["id"]);
        },
        "(embedding), which pays no sum; an all_reduce, a reduce_scatter, a "
        "combine or a fused step with one is expected"},
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
  Json plan = cyclicPlan();
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
