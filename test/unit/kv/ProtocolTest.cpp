//===- ProtocolTest.cpp - no request is ready without its bytes -----------===//
#include "layline/KV/Protocol.h"

#include "KVModels.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <stdexcept>
#include <tuple>

using namespace layline::kv;

namespace {

Plan makePlan(const char *from, const char *to) {
  return layline::kv::makePlan(makeSmall(), from, to);
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

namespace {

/// Some seed shows a request that is ready without its bytes, or loses them.
bool isWrong(const Plan &plan, const ProtocolFaults &faults = kAll) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ProtocolOptions options;
    options.seed = seed;
    options.faults = faults;
    if (!simulateProtocol(plan, options).fault.empty())
      return true;
  }
  return false;
}

/// No slots, whose rounds wait for one another: more is under way at once.
Plan makeUnpacked(const char *from, const char *to) {
  PlanOptions options;
  options.packBelow = 0;
  return planMigration(makeSmall(), parseSideSpec(from), parseSideSpec(to),
                       options);
}

Lifetime &findLifetime(Plan &plan, Store store) {
  for (Lifetime &lifetime : plan.lifetimes)
    if (lifetime.store == store)
      return lifetime;
  throw std::runtime_error("no lifetime of this store");
}

} // namespace

// Each is refused by the reader too: PlanFileTest.cpp, "completion".
TEST_CASE("each rule of readiness is needed: without it a request is wrong") {
  Plan plan = makePlan("tp1,cp4", "tp4");
  SECTION("waits for all") { plan.readiness.when = Readiness::When::Any; }
  SECTION("counts senders") {
    plan.readiness.counting = Readiness::Counting::Reports;
  }
  SECTION("reports arrival") {
    plan.readiness.reporting = Readiness::Reporting::Posted;
  }
  SECTION("failure stays") {
    plan.readiness.failure = Readiness::Failure::UntilNextReport;
  }
  SECTION("names the request") {
    // Both reports of a late sender must come again, later than its room.
    ProtocolFaults repeats;
    repeats.repeat = 0.9;
    repeats.delay = 0.4;
    repeats.abort = 0.3;
    plan = makeUnpacked("tp1,cp2", "tp1");
    CHECK_FALSE(isWrong(plan, repeats));
    plan.readiness.naming = Readiness::Naming::Room;
    CHECK(isWrong(plan, repeats));
    return;
  }
  SECTION("a responder is left out") {
    for (std::vector<Responder> &responders : plan.readiness.targets)
      responders.pop_back();
  }
  SECTION("a completion is left out") {
    Model model = makeSmall();
    model.states = {{"conv", 8, 1, {0, 1}}};
    plan = planMigration(model, parseSideSpec("tp1,cp4"), parseSideSpec("tp4"),
                         {});
    CHECK_FALSE(isWrong(plan));
    for (std::vector<Responder> &responders : plan.readiness.targets)
      for (Responder &responder : responders)
        responder.completions = std::max(1, responder.completions - 2);
  }
  SECTION("two senders have one key") {
    plan.readiness.keys[2] = plan.readiness.keys[1];
  }
  CHECK(isWrong(plan));
}

TEST_CASE("each lifetime is needed: without it a request is wrong") {
  Plan plan = makePlan("tp1,cp4", "tp4");
  SECTION("pins target pages") {
    plan = makeUnpacked("tp1,cp4", "tp4");
    findLifetime(plan, Store::TargetPages).afterFailure = Moment::Failed;
  }
  SECTION("pins source pages") {
    findLifetime(plan, Store::SourcePages).until = Moment::Posted;
  }
  SECTION("pins source pages of a request that has failed") {
    // What a stopped sender still reads goes to pages that are pinned: it is
    // seen where nothing stops it.
    findLifetime(plan, Store::SourcePages).afterFailure = Moment::Failed;
    plan.readiness.failure = Readiness::Failure::UntilNextReport;
  }
  SECTION("pins source slots") {
    findLifetime(plan, Store::SourceSlots).until = Moment::Posted;
  }
  SECTION("pins source slots of a request that has failed") {
    findLifetime(plan, Store::SourceSlots).afterFailure = Moment::Failed;
  }
  CHECK(isWrong(plan));
}

TEST_CASE("a slot of the target is needed until it is unpacked") {
  Plan plan = makePlan("tp4", "tp1");
  REQUIRE(findLifetime(plan, Store::TargetSlots).until == Moment::Consumed);
  CHECK_FALSE(isWrong(plan));
  findLifetime(plan, Store::TargetSlots).until = Moment::Arrived;
  CHECK(isWrong(plan));
}
