//===- CompletionTest.cpp - readiness, lifetimes and slots of a plan ------===//
#include "KVModels.h"
#include "PlanEquality.h"

#include "kv/CheckCompletion.h"
#include "kv/CheckPlan.h"
#include "kv/CompletePlan.h"
#include "kv/ParsePlan.h"
#include "layline/KV/PlanJSON.h"
#include "plan/Error.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace layline::kv;
using Catch::Matchers::Contains;
using layline::runtime::Error;
using nlohmann::json;

namespace {

constexpr unsigned kMain = static_cast<unsigned>(Report::Main);
constexpr unsigned kIndex = static_cast<unsigned>(Report::Index);
constexpr unsigned kState = static_cast<unsigned>(Report::State);
constexpr unsigned kAuxiliary = static_cast<unsigned>(Report::Auxiliary);

/// The message of reading a changed plan.
std::string readChanged(const json &document) {
  try {
    parsePlan(document.dump(), "kv.json");
  } catch (const Error &error) {
    return error.what();
  }
  return "accepted";
}

} // namespace

TEST_CASE("completion: responders report what they send, and are named") {
  Plan plan = makePlan(makeSmall(), "tp2,cp2,pp2,page4", "tp4,page4");
  // Both stages and both cp ranks, of the tp rank with the head.
  REQUIRE(plan.readiness.targets.size() == 4);
  CHECK(plan.readiness.targets[0].size() == 4);
  CHECK(plan.readiness.keys[5] == "pp1.dp0.cp0.tp1");
  CHECK(plan.readiness.targets[3][2] == Responder{5, kMain | kAuxiliary, 2});

  Model model = makeSmallLatents(2, true);
  model.states = {{"conv", 8, 1, countLayers(2)}};
  Plan compat =
      makePlan(model, "tp1,cp2,page4", "tp1,page4", Profile::SGLangCompat);
  // Index pages and states go from cp rank 0 alone, behind the last chunk.
  CHECK(compat.readiness.targets[0] ==
        std::vector<Responder>{{0, kMain | kIndex | kState | kAuxiliary, 3},
                               {1, kMain | kAuxiliary, 2}});
}

TEST_CASE("completion: one that sends nothing has the auxiliary report") {
  // Its windows do not reach rank 1's stage: nothing of it is sent.
  Plan plan = makePlan(makeSmall(), "tp1,page4", "tp1,page4");
  plan.source.ranks.push_back(plan.source.ranks[0]);
  plan.source.ranks[1].dp = 1;
  plan.responders[0] = {0, 1};
  completePlan(plan, kDefaultLanes);
  CHECK(plan.readiness.targets[0][1] == Responder{1, kAuxiliary, 1});
  CHECK(findCompletionFault(plan) == "");
  plan.readiness.targets[0].pop_back();
  CHECK_THAT(findCompletionFault(plan),
             Contains("readiness.targets[0]: has no source rank 1, which "
                      "responders[0] has: the request would be ready without "
                      "it"));
}

TEST_CASE("completion: every buffer has a lifetime") {
  Model model = makeSmallLatents(4, true);
  Plan owned = makePlan(model, "tp1,cp2,layersplit,interleave,page4",
                        "tp1,page4", Profile::SGLangCompat);
  std::vector<std::string> names;
  for (const Lifetime &lifetime : owned.lifetimes)
    if (lifetime.store == Store::BroadcastScratch)
      names.push_back(lifetime.name);
  CHECK(names == std::vector<std::string>{"latent", "index"});
  Plan both = makePlan(makeSmall(), "tp4,page4", "tp2,page4");
  CHECK(std::count_if(both.lifetimes.begin(), both.lifetimes.end(),
                      [](const Lifetime &lifetime) {
                        return lifetime.store == Store::TargetSlots;
                      }) == 1);
  CHECK(ownsLayers(owned.source));
  CHECK_FALSE(ownsLayers(owned.target));
  // Stages differ too, and own nothing.
  CHECK_FALSE(ownsLayers(makePlan(makeSmall(), "tp1,pp1+1", "tp1").source));
}

TEST_CASE("slots: one target each, lanes in turn, limits of the plan") {
  PlanOptions options;
  options.lanes = 3;
  options.slotBytes = 64;
  options.maxDescriptors = 7;
  Plan plan = planMigration(makeSmall(), parseSideSpec("tp1,page4"),
                            parseSideSpec("tp4,page4"), options);
  REQUIRE(plan.relay.slots.size() == 4);
  for (int i = 0; i < 4; ++i)
    CHECK(plan.relay.slots[i] == RelaySlot{true, 0, i, i % 3, 64, 7, {i}});
  SlotLimits limits = getSlotLimits(plan, 2);
  CHECK(limits.bytes == 64);
  CHECK(limits.maxDescriptors == 7);
  CHECK(limits.lane == 2);
  options.slotBytes = 3;
  CHECK_THROWS_WITH(planMigration(makeSmall(), parseSideSpec("tp1,page4"),
                                  parseSideSpec("tp4,page4"), options),
                    Contains("plane 'k' is packed in blocks of 4 bytes, which "
                             "do not fit into a slot of 3"));
  options.lanes = 0;
  CHECK_THROWS_WITH(planMigration(makeSmall(), parseSideSpec("tp1"),
                                  parseSideSpec("tp4"), options),
                    Contains("lanes of relay slots: found 0"));
}

TEST_CASE("slots: a binding's rounds keep to their own") {
  PlanOptions options;
  options.slotBytes = 64;
  Plan plan = planMigration(makeSmall(), parseSideSpec("tp1,page4"),
                            parseSideSpec("tp4,page4"), options);
  plan.relay.slots[1].bytes = 12;
  plan.relay.slots[1].maxDescriptors = 1;
  SlotLimits limits = getSlotLimits(plan, 1);
  CHECK(limits.bytes == 12);
  CHECK(limits.maxDescriptors == 1);
  CHECK(getSlotLimits(plan, 0).bytes == 64);
}

TEST_CASE("completion: the reader says what is wrong, and why") {
  const json heads =
      json::parse(toJSON(makePlan(makeSmall(), "tp1,cp4,page4", "tp4,page4")));
  const json owned = json::parse(toJSON(
      makePlan(makeSmallLatents(4, true), "tp1,cp2,layersplit,interleave,page4",
               "tp1,page4", Profile::SGLangCompat)));
  Model twelve = makeHeads("twelve", 2, 12);
  twelve.headDim = 2;
  // 2 of 6 heads to 2 of 4: apart on both sides.
  const json both =
      json::parse(toJSON(makePlan(twelve, "tp2,page4", "tp3,page4")));
  struct Case {
    const char *message;
    const json *plan;
    const char *path;
    json value;
  };
  const Case cases[] = {
      {"readiness.ready_when: is 'any': a request would be ready with bytes "
       "missing; 'all' is expected",
       &heads, "/readiness/ready_when", "any"},
      {"readiness.counted_by: is 'report': one that comes twice would stand "
       "for another; 'sender' is expected",
       &heads, "/readiness/counted_by", "report"},
      {"readiness.reported_at: is 'posted': the bytes may still be under way, "
       "or fail; 'arrived' is expected",
       &heads, "/readiness/reported_at", "posted"},
      {"readiness.names: is 'room': a late report would be taken for one of "
       "the next request there; 'request' is expected",
       &heads, "/readiness/names", "room"},
      {"readiness.failure: is 'until_next_report': a later report would hide "
       "it; 'sticky' is expected",
       &heads, "/readiness/failure", "until_next_report"},
      {"readiness.names: is 'nobody'; one of 'request', 'room' is expected",
       &heads, "/readiness/names", "nobody"},
      {"readiness.keys[2]: is 'pp0.dp0.cp1.tp0', the key of source rank 1 too: "
       "reports of one would count for the other; a key for each sender is "
       "expected",
       &heads, "/readiness/keys/2", "pp0.dp0.cp1.tp0"},
      {"readiness.keys: has 0 keys; one for each of 4 source ranks is expected",
       &heads, "/readiness/keys", json::array()},
      {"readiness.targets[1]: has no source rank 1, which responders[1] has: "
       "the request would be ready without it",
       &heads, "/readiness/targets/1/1/source", 2},
      {"readiness.targets[1][1].source: is 0; responders[1] has 1 there",
       &heads, "/readiness/targets/1/1/source", 0},
      {"readiness.targets[0][1].completions: is 1; 1 transfers and what is "
       "auxiliary, 2, are expected",
       &heads, "/readiness/targets/0/1/completions", 1},
      {"readiness.targets[0][0].reports: source rank 0 reports main, "
       "auxiliary; what it sends to target rank 0 is main, index, auxiliary",
       &owned,
       "/readiness/targets/0/0/reports",
       {"main", "auxiliary"}},
      {"readiness.targets[0][0].reports[1]: is 'main'; each report once, in "
       "the order main, index, state, auxiliary, is expected",
       &heads,
       "/readiness/targets/0/0/reports",
       {"auxiliary", "main"}},
      {"lifetimes[0].until: source_pages 'kv': is 'posted', but writes read "
       "them until they have arrived; 'arrived' is expected",
       &heads, "/lifetimes/0/until", "posted"},
      {"lifetimes[0].after_failure: source_pages 'kv': is 'failed': writes may "
       "still be under way when a request has failed; 'quiet' is expected",
       &heads, "/lifetimes/0/after_failure", "failed"},
      {"lifetimes[1].until: target_pages 'kv': is 'arrived', but they are read "
       "until the request has been decoded; 'consumed' is expected",
       &heads, "/lifetimes/1/until", "arrived"},
      {"lifetimes[1].from: target_pages 'kv': is 'posted': something else "
       "could have the memory when the first write is posted; 'taken' is "
       "expected",
       &heads, "/lifetimes/1/from", "posted"},
      {"lifetimes[2].reuse: source_slots: is 'any_request'; 'next_round' is "
       "expected",
       &heads, "/lifetimes/2/reuse", "any_request"},
      {"lifetimes[2].until: broadcast_scratch 'latent': is 'arrived', but "
       "attention reads it behind the broadcast; 'consumed' is expected",
       &owned, "/lifetimes/2/until", "arrived"},
      {"lifetimes: transfers[0] reads plane 'k', but source_pages 'kv' are "
       "pinned by none",
       &heads, "/lifetimes/0/name", "other"},
      {"lifetimes: layers of the source have owners, and are broadcast, but "
       "broadcast_scratch 'index' are pinned by none",
       &owned, "/lifetimes/3/name", "x"},
      {"lifetimes[1]: is a second one of what lifetimes[0] is of", &heads,
       "/lifetimes/1", heads["lifetimes"][0]},
      {"relay.slots[0].transfers[0]: transfer 4 goes to target rank 1, those "
       "of this slot to target rank 0: a slot is free again when one target "
       "has it; one target is expected",
       &heads,
       "/relay/slots/0/transfers",
       {4}},
      {"relay.slots[0].bytes: is 3; transfer 0 has blocks of 4 bytes of plane "
       "'k', which a slot must hold",
       &heads, "/relay/slots/0/bytes", 3},
      {"relay.slots[0].max_descriptors: is 2049; a batch may have 2048, so 1 "
       "to that many are expected",
       &heads, "/relay/slots/0/max_descriptors", 2049},
      {"relay.slots[1].lane: is 4; there are 4 lanes", &heads,
       "/relay/slots/1/lane", 4},
      {"relay.lanes: is 0; 1 to 4096 are expected", &heads, "/relay/lanes", 0},
      {"relay.slots[0].at: is 'somewhere'; one of 'source', 'target' is "
       "expected",
       &heads, "/relay/slots/0/at", "somewhere"},
      {"transfers[0].packing: packs at the source, but no slot of relay.slots "
       "there is for it",
       &heads, "/relay/slots", json::array()},
      {"relay.slots[0].transfers[0]: transfer 0 packs 'source', so that it has "
       "no slot at the target",
       &heads, "/relay/slots/0/at", "target"},
      {"transfers[1]: its slots are in lanes 3 and 1; one lane is expected",
       &both, "/relay/slots/1/lane", 3},
      {"relay.slots[2].transfers[0]: transfer 2 is sent by source rank 1, "
       "those of this slot by 0",
       &both,
       "/relay/slots/2/transfers",
       {2}},
  };
  for (const Case &test : cases) {
    json changed = *test.plan;
    changed[json::json_pointer(test.path)] = test.value;
    CHECK(readChanged(changed) == "'kv.json': " + std::string(test.message));
  }
  for (const json *plan : {&heads, &owned, &both})
    CHECK(readChanged(*plan) == "accepted");
  json less = both;
  less["relay"]["slots"].erase(2);
  CHECK_THAT(readChanged(less),
             Contains("transfers[1].packing: packs at the target, but no slot "
                      "of relay.slots there is for it"));
  json order = heads;
  std::swap(order["relay"]["slots"][0], order["relay"]["slots"][1]);
  CHECK_THAT(readChanged(order),
             Contains("relay.slots[1]: stands behind relay.slots[0]; one for "
                      "each pair and end"));
}

TEST_CASE("completion: of a file of version 1.0 it is found") {
  Plan plan = makePlan(makeSmall(), "tp1,cp4,page4", "tp4,page4");
  json first = json::parse(toJSON(plan));
  for (const char *key : {"readiness", "lifetimes", "relay", "digests"})
    first.erase(key);
  CHECK_THAT(readChanged(first), Contains("has no 'readiness'"));
  first["version"] = "1.0";
  CHECK_THAT(readChanged(first),
             Contains("features[0]: needs the feature 'readiness'"));
  first["features"] = json::array();
  CHECK(parsePlan(first.dump(), "kv.json") == plan);
  json less = json::parse(toJSON(plan));
  less["features"].erase(3);
  CHECK_THAT(readChanged(less),
             Contains("features: has no 'layout_digests', which version 1.1 "
                      "has"));
}
