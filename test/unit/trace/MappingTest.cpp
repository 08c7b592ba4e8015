//===- MappingTest.cpp - a recorded run on its plan -----------------------===//
#include "TraceTests.h"
#include "layline/Trace/Communication.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

using namespace layline::trace;

static Mapping mapB200(const DeviceTrace &trace) {
  return mapTrace(trace, KernelFamilies::builtIn(), expectB200());
}

TEST_CASE("B200: every event is where it was counted by hand", "[trace]") {
  DeviceTrace trace = readB200();
  Mapping mapping = mapB200(trace);
  std::vector<KnownPlace> known = knownPlacesB200();
  REQUIRE(known.size() == trace.events.size());
  for (size_t i = 0; i < known.size(); ++i) {
    CAPTURE(i, trace.nameOf(trace.events[i]), mapping.explain(i));
    REQUIRE(mapping.assignments[i].isAssigned());
    const ExpectedStep &step = *mapping.mainStepOf(i);
    CHECK(step.layer == known[i].layer);
    CHECK(step.module == known[i].module);
    CHECK(step.place == known[i].place);
    CHECK(mapping.assignments[i].certainty != Certainty::Low);
  }
  CHECK(mapping.deviations.empty());
  CHECK(mapping.misfit() == 0);
}

TEST_CASE("B200: one pass of 36 layers, a period of a layer", "[trace]") {
  DeviceTrace trace = readB200();
  Mapping mapping = mapB200(trace);
  REQUIRE(mapping.passes.size() == 1);
  const ForwardPass &pass = mapping.passes.front();
  CHECK(pass.layersSeen == 36);
  CHECK(pass.hasBegin);
  CHECK(pass.hasEnd);
  CHECK(pass.tokens == 888);
  REQUIRE(pass.batch);
  CHECK(pass.batch->prefillTokens == 888);
  CHECK(pass.batch->decodeRequests == 0);
  CHECK(mapping.period.events == kB200Layer);
  CHECK(mapping.period.repeats == kB200Layers);
}

TEST_CASE("B200: all-reduces, norms and copies", "[trace]") {
  DeviceTrace trace = readB200();
  Mapping mapping = mapB200(trace);
  std::map<std::string, int> allReduces;
  std::map<std::pair<std::string, int64_t>, int> copies;
  int fused = 0, plain = 0, ropes = 0;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const ExpectedStep &step = *mapping.mainStepOf(i);
    Family family = mapping.familyOf(i);
    if (family == Family::AllReduce) {
      ++allReduces[step.place.substr(step.place.rfind('.') + 1)];
      // Its norm is the second event behind it: the next layer's, where the
      // experts' sum is paid.
      const ExpectedStep &norm = *mapping.mainStepOf(i + 2);
      CHECK(norm.work == Work::Norm);
      CHECK(norm.boundary == step.place);
      if (step.place.find("experts") != std::string::npos && step.layer < 35)
        CHECK(norm.layer == step.layer + 1);
    }
    fused += family == Family::AddNorm;
    plain += family == Family::Norm;
    if (family == Family::MemcpyDtoD) {
      CHECK(step.work == Work::AllReduce);
      ++copies[{step.place, step.layer}];
    }
    if (family == Family::Rope) {
      ++ropes;
      CHECK(mapping.firstStepOf(i)->place.find("q_rope") != std::string::npos);
      CHECK(mapping.stepOf(i)->place.find("k_rope") != std::string::npos);
    }
  }
  CHECK(allReduces == std::map<std::string, int>{
                          {"embedding", 1}, {"o_proj", 36}, {"experts", 36}});
  CHECK(fused == 72);
  CHECK(plain == 1);
  CHECK(ropes == 36);
  CHECK(copies.size() == 73);
  for (const auto &[place, count] : copies)
    CHECK(count == 2);
}

TEST_CASE("B200: the first all-reduce waits, the experts' are padded",
          "[trace]") {
  DeviceTrace trace = readB200();
  Mapping mapping = mapB200(trace);
  std::vector<CollectiveUse> uses = findCollectives({&mapping}, nullptr);
  REQUIRE(uses.size() == 74);
  const CollectiveUse &first = uses.front();
  CHECK(first.place == "embedding");
  CHECK(first.duration == 223200);
  CHECK(first.basis == TransferBasis::SameCalls);
  // What the 36 calls of the same size take.
  CHECK(first.transfer() > 24000);
  CHECK(first.transfer() < 26000);
  CHECK(first.wait + first.transfer() == first.duration);
  int64_t padding = 0;
  for (const CollectiveUse &use : uses) {
    if (&use != &first)
      CHECK(use.wait == 0);
    if (use.work != Work::AllReduce)
      continue;
    bool isExperts = use.place.find("experts") != std::string::npos;
    CHECK(use.movedColumns == (isExperts ? 3072 : 2880));
    CHECK(use.neededColumns == 2880);
    CHECK(use.rows == 888);
    padding += use.paddingBytes();
  }
  CHECK(padding == 36 * int64_t(888) * (3072 - 2880) * 2);
}

TEST_CASE("Graph replay: layers and period without any link to the host",
          "[trace]") {
  DeviceTrace trace = readB200();
  for (DeviceEvent &event : trace.events) {
    event.op = -1;
    event.launch = -1;
  }
  trace.operators.clear();
  trace.annotations.clear();
  Mapping mapping = mapB200(trace);
  std::vector<KnownPlace> known = knownPlacesB200();
  for (size_t i = 0; i < known.size(); ++i) {
    CAPTURE(i, mapping.explain(i));
    CHECK(mapping.mainStepOf(i)->place == known[i].place);
  }
  CHECK(mapping.passes.front().tokens == -1);
}

TEST_CASE("Lost kernels whose neighbours mislead", "[trace]") {
  constexpr size_t kLayer = kB200Before + 23 * kB200Layer;
  struct Loss {
    const char *what;
    size_t begin; ///< the recording's first event
    std::vector<size_t> lost;
  };
  const std::vector<Loss> losses = {
      // A rotation does queries and keys, though what lies before the recording
      // would cost as much without the queries'.
      {"begins with a rotation", kB200Before + 2 * kB200Layer + 1, {}},
      // The router's product is the first that is left behind the attention.
      {"o_proj, its sum and norm", 0, {kLayer + 6, kLayer + 8, kLayer + 10}},
      // Rows are picked for logits that were lost.
      {"logits", 0, {927, 928}},
  };
  std::vector<KnownPlace> known = knownPlacesB200();
  for (const Loss &loss : losses) {
    DeviceTrace trace = readB200();
    std::vector<DeviceEvent> left;
    std::vector<size_t> origins;
    for (size_t i = loss.begin; i < trace.events.size(); ++i)
      if (std::count(loss.lost.begin(), loss.lost.end(), i) == 0) {
        left.push_back(trace.events[i]);
        left.back().op = -1; // order alone
        origins.push_back(i);
      }
    trace.events = left;
    Mapping mapping = mapB200(trace);
    for (size_t i = 0; i < origins.size(); ++i) {
      CAPTURE(loss.what, origins[i], mapping.explain(i));
      REQUIRE(mapping.mainStepOf(i));
      CHECK(mapping.mainStepOf(i)->place == known[origins[i]].place);
      CHECK(mapping.mainStepOf(i)->module == known[origins[i]].module);
    }
  }
}

TEST_CASE("A shared expert's add is not the residual's", "[trace]") {
  // experts, shared products, add, all-reduce, add with norm.
  std::vector<ExpectedProgram> programs = expectPrograms(
      readSource("test/plans/v1.2/deepseek_v3-tp4/plan.json"), "plan");
  int shared = 0;
  for (const ExpectedStep &step : programs.front().steps)
    if (step.work == Work::Add) {
      bool isShared = step.place.find("routed_shared_sum") != std::string::npos;
      CHECK(step.module == (isShared ? "shared_experts" : "residual"));
      CHECK(step.boundary.empty() == isShared);
      shared += isShared;
    }
  CHECK(shared > 0);
}
