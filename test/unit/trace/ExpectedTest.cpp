//===- ExpectedTest.cpp - what a plan says must run -----------------------===//
#include "TraceTests.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

using namespace layline::trace;

static std::vector<ExpectedProgram> expectPlan(const std::string &name) {
  return expectPrograms(readSource("test/plans/" + name + "/plan.json"), name);
}

static const ExpectedStep &find(const ExpectedProgram &program,
                                const std::string &place, Work work) {
  auto at = std::find_if(program.steps.begin(), program.steps.end(),
                         [&](const ExpectedStep &step) {
                           return step.place == place && step.work == work;
                         });
  REQUIRE(at != program.steps.end());
  return *at;
}

TEST_CASE("Sizes are one rank's", "[trace]") {
  ExpectedProgram program = expectB200().front();
  CHECK(program.layers == 36);
  CHECK(program.steps.front().work == Work::StepInputs);
  CHECK(program.steps.back().work == Work::Sampling);
  const ExpectedStep &query = find(program, "layer.5.q_proj", Work::Product);
  CHECK(query.inFeatures == 2880);
  CHECK(query.outFeatures == 512);
  const ExpectedStep &key = find(program, "layer.5.k_proj", Work::Product);
  CHECK(key.outFeatures == 64);
  CHECK(key.siblings == query.siblings);
  CHECK(find(program, "layer.5.o_proj", Work::Product).siblings == -1);
  const ExpectedStep &sum = find(program, "layer.5.experts", Work::AllReduce);
  CHECK(sum.columns == 2880);
  CHECK(sum.ranks == 8);
  CHECK(sum.elementBytes == 2);
  CHECK(find(program, "logits", Work::AllGather).gathersColumns);
}

TEST_CASE("A boundary goes from the sum to the norm that reads it", "[trace]") {
  ExpectedProgram program = expectB200().front();
  const ExpectedStep &norm = find(program, "layer.6.input_norm", Work::Norm);
  CHECK(norm.boundary == "layer.5.experts");
  CHECK(norm.layer == 6);
  CHECK(find(program, "layer.0.input_norm", Work::Norm).boundary ==
        "embedding");
  CHECK(find(program, "final_norm", Work::Norm).boundary == "layer.35.experts");
  CHECK(find(program, "layer.5.q_proj", Work::Product).boundary.empty());
}

TEST_CASE("Orders of one program have the same steps", "[trace]") {
  for (const char *name :
       {"v1.2/deepseek_v3-tp4", "v1.2/deepseek_v32-tp2-cp2", "v1.2/gemma2-tp3",
        "v1.2/gpt_neox-tp2", "v1.2/olmo2-tp8", "v1.0/qwen3_moe-tp3",
        "v1.1/llama-tp2-cp2"}) {
    CAPTURE(name);
    std::vector<ExpectedProgram> programs = expectPlan(name);
    for (const ExpectedProgram &program : programs) {
      std::multiset<std::string> own, plan;
      for (const ExpectedStep &step : program.steps)
        own.insert(step.id);
      for (const ExpectedProgram &other : programs)
        if (other.variant == program.variant && other.order == "plan")
          for (const ExpectedStep &step : other.steps)
            plan.insert(step.id);
      CHECK(own == plan);
    }
  }
}

TEST_CASE("Engines run products of one value and rotations together",
          "[trace]") {
  std::vector<ExpectedProgram> programs = expectPlan("v1.2/deepseek_v3-tp4");
  auto isGrouped = [](const ExpectedProgram &program) {
    return program.order == "products together";
  };
  auto grouped = std::find_if(programs.begin(), programs.end(), isGrouped);
  REQUIRE(grouped != programs.end());
  const std::vector<ExpectedStep> &steps = grouped->steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].place == "layer.1.q_a_proj")
      CHECK(steps[i + 1].place == "layer.1.kv_a_proj");
    if (steps[i].place == "layer.1.q_rope" && steps[i].work == Work::Rope)
      CHECK(steps[i + 1].place == "layer.1.k_rope");
  }
  bool hasSharedFirst =
      std::any_of(programs.begin(), programs.end(), [](const auto &program) {
        return program.order == "products together, shared experts first";
      });
  CHECK(hasSharedFirst);
}

TEST_CASE("A plan that the loader refuses is refused", "[trace]") {
  CHECK_THROWS_WITH(expectPrograms("{}", "plan.json"),
                    Catch::Contains("plan.json"));
  CHECK_THROWS_AS(expectPrograms("no JSON", "plan.json"), TraceError);
}
