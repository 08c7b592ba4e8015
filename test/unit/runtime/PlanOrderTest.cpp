// What streams, events and flags order, and the memory that follows from it.
#include "LlamaPlan.h"
#include "TestEngine.h"

#include <catch2/catch.hpp>

using namespace layline::test;
using Catch::Matchers::Contains;

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

namespace {

/// s0 makes x, s1 and s2 sum it over tp on two streams; "e0" says that x is
/// there.
Json sumsOnTwoStreams(std::int64_t ranks) {
  PlanBuilder builder(ranks, 4);
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
  REQUIRE(findings(plan) == "");
  Json &steps = plan["variants"][0]["steps"];
  steps[1]["stream"] = "comm";
  steps[0]["signals"] = steps[1]["waits"] = {"e0"};
  return plan;
}

void addFlag(Json &plan, const std::string &id) {
  Json flag = plan["flags"][0];
  flag["id"] = id;
  plan["flags"].push_back(flag);
}

} // namespace

TEST_CASE("one flag is not used by two streams at once", "[plan]") {
  std::string found = findings(sumsOnTwoStreams(2));
  CHECK_THAT(
      found,
      Contains("may run at the same time as step 's1', which uses the same "
               "flag 'f.tp'"));
  // Of the group it is the same finding.
  CHECK_THAT(found, !Contains("of the same group"));
}

TEST_CASE("one group is not used by two streams at once, by whichever flags",
          "[plan]") {
  Json plan = sumsOnTwoStreams(2);
  addFlag(plan, "f.other");
  Json &steps = plan["variants"][0]["steps"];
  steps[2]["flag"] = "f.other";
  CHECK_THAT(findings(plan),
             Contains("step 's2' (all_reduce): is on stream 'compute' and may "
                      "run at the same time as step 's1' on stream 'comm', a "
                      "collective of the same group 'tp'; an event between "
                      "the two is expected"));
  // On one stream they follow one another, and behind an event too.
  Json onOne = plan;
  onOne["variants"][0]["steps"][1]["stream"] = "compute";
  CHECK(findings(onOne) == "");
  steps[1]["signals"] = steps[2]["waits"] = {"e1"};
  CHECK(findings(plan) == "");
}

TEST_CASE("collectives of one rank wait for nobody", "[plan]") {
  Json plan = sumsOnTwoStreams(1);
  addFlag(plan, "f.other");
  plan["variants"][0]["steps"][2]["flag"] = "f.other";
  CHECK(findings(plan) == "");
}

namespace {

/// s1 sends x over `first` and s2 over `second`, on two streams; of 2 ranks tp
/// and `context` ranks cp, "all" is both.
Json sentOnTwoStreams(const std::string &first, const std::string &second,
                      std::int64_t context = 2) {
  PlanBuilder builder(2, 4);
  builder.addContextAxis(context);
  std::string table = builder.weight("t", {4, 2}, {nullptr, nullptr});
  builder.variant("v", 1, 4);
  std::string ids = builder.input("input_ids");
  Json shape = {"tokens", 2}, dims = {nullptr, nullptr};
  std::string x = builder.buffer(shape, dims);
  builder.step("embedding", {{"ids", ids}, {"weight", table}, {"output", x}});
  for (const std::string &group : {first, second}) {
    std::string copy = builder.buffer(shape, dims);
    builder.step("broadcast", {{"input", x}, {"output", copy}},
                 {{"group", "tp"}, {"root", 0}});
    builder.output(group, copy);
  }
  Json plan = builder.finish();
  plan["groups"].push_back(
      {{"id", "all"}, {"axes", {"tp", "cp"}}, {"ranks", 2 * context}});
  addFlag(plan, "f.all");
  plan["flags"].back()["group"] = "all";
  plan["flags"].back()["key"] = Json::array();
  Json &steps = plan["variants"][0]["steps"];
  for (auto [i, group] : {std::pair(1, first), std::pair(2, second)}) {
    steps[i]["attrs"]["group"] = group;
    steps[i]["flag"] = "f." + group;
  }
  steps[1]["stream"] = "comm";
  steps[0]["signals"] = steps[1]["waits"] = {"e0"};
  return plan;
}

} // namespace

TEST_CASE("groups that share ranks are not used by two streams at once",
          "[plan]") {
  // Of one axis each; one inside the other.
  auto [first, second, ranks] =
      GENERATE(std::tuple("tp", "cp",
                          "rank 0 meets ranks 0, 2 there and ranks 0, 1 here"),
               std::tuple("cp", "all",
                          "rank 0 meets ranks 0, 1 there and ranks 0, 1, 2, 3 "
                          "here"),
               std::tuple("all", "tp",
                          "rank 0 meets ranks 0, 1, 2, 3 there and ranks 0, 2 "
                          "here"));
  CAPTURE(first, second);
  Json plan = sentOnTwoStreams(first, second);
  CHECK_THAT(findings(plan),
             Contains("step 's2' (broadcast): is on stream 'compute' and may "
                      "run at the same time as step 's1' on stream 'comm', a "
                      "collective of group '" +
                      std::string(first) + "', while this is of '" + second +
                      "': " + ranks +
                      ", and ranks may begin the two in different orders; an "
                      "event between the two is expected"));
  Json &steps = plan["variants"][0]["steps"];
  // On one stream they follow one another, and behind an event too; the event
  // of what stands before both says nothing of them.
  Json onOne = plan, before = plan;
  onOne["variants"][0]["steps"][1]["stream"] = "compute";
  CHECK(findings(onOne) == "");
  before["variants"][0]["steps"][2]["waits"] = {"e0"};
  CHECK_THAT(findings(before), Contains("may run at the same time"));
  steps[1]["signals"] = steps[2]["waits"] = {"e1"};
  CHECK(findings(plan) == "");
}

TEST_CASE("a group of one rank is ordered with no other", "[plan]") {
  CHECK(findings(sentOnTwoStreams("cp", "tp", 1)) == "");
  CHECK(findings(sentOnTwoStreams("tp", "cp", 1)) == "");
  CHECK_THAT(findings(sentOnTwoStreams("tp", "all", 1)),
             Contains("may run at the same time"));
}
