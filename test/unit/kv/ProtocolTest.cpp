//===- ProtocolTest.cpp - no request is ready without its bytes -----------===//
#include "layline/KV/Protocol.h"
#include "layline/KV/Planner.h"

#include <catch2/catch.hpp>

#include <numeric>

using namespace layline::kv;

namespace {

Model makeHeads() {
  Model model;
  model.name = "heads";
  model.layers = 2;
  model.dtype = "bf16";
  model.kvHeads = 4;
  model.headDim = 4;
  model.kvLayers = {0, 1};
  return model;
}

Plan makePlan(const char *from, const char *to) {
  return planMigration(makeHeads(), parseSideSpec(from), parseSideSpec(to), {});
}

const ProtocolFaults kAll{0.05, 0.1, 0.1, 0.02, 0.1, 0.1};

} // namespace

TEST_CASE("without faults every request becomes ready") {
  for (auto [from, to] :
       {std::pair("tp1,cp4", "tp4"), std::pair("tp4", "tp2"),
        std::pair("pp2,tp2", "tp4"), std::pair("cp2,cpstore", "tp1")}) {
    ProtocolResult result = simulateProtocol(makePlan(from, to), {});
    INFO(from << " -> " << to << ": " << result.fault);
    REQUIRE(result.fault.empty());
    REQUIRE(result.ready == 200);
    REQUIRE(result.stuck == 0);
  }
}

TEST_CASE("a request ends, and is ready only with all its bytes") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ProtocolOptions options;
    options.seed = seed;
    options.faults = kAll;
    ProtocolResult result =
        simulateProtocol(makePlan("tp1,cp4", "tp4"), options);
    INFO("seed " << seed << ": " << result.fault);
    REQUIRE(result.fault.empty());
    REQUIRE(result.stuck == 0);
    REQUIRE(result.ready + result.failed == options.requests);
    // What is asked for happens.
    REQUIRE(result.dropped > 0);
    REQUIRE(result.repeated > 0);
    REQUIRE(result.late > 0);
    REQUIRE(result.failedWrites > 0);
    REQUIRE(result.aborted > 0);
    REQUIRE(result.freedEarly > 0);
    REQUIRE(result.heldPages > 0);
    REQUIRE(result.ready > 0);
  }
}

TEST_CASE("each rule is needed: without it a request is wrong") {
  std::vector<std::pair<const char *, ProtocolRules>> rules(7);
  rules[0].first = "waits for all";
  rules[0].second.waitsForAll = false;
  rules[1].first = "counts senders";
  rules[1].second.countsSenders = false;
  rules[2].first = "reports arrival";
  rules[2].second.reportsArrival = false;
  rules[3].first = "failure stays";
  rules[3].second.failureStays = false;
  rules[4].first = "pins target pages";
  rules[4].second.pinsTargetPages = false;
  rules[5].first = "pins source pages";
  rules[5].second.pinsSourcePages = false;
  rules[6].first = "names the request";
  rules[6].second.namesRequest = false;
  for (const auto &[name, rule] : rules)
    DYNAMIC_SECTION(name) {
      bool isCaught = false;
      for (std::uint64_t seed = 1; seed <= 20 && !isCaught; ++seed) {
        ProtocolOptions options;
        options.seed = seed;
        options.faults = kAll;
        options.rules = rule;
        isCaught = !simulateProtocol(makePlan("tp1,cp4", "tp4"), options)
                        .fault.empty();
      }
      REQUIRE(isCaught);
    }
}
