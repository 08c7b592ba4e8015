// Faults that engines had, planted in plans: each is refuted with a request and
// an item that shows it, and the bytes say the same.
#include <catch2/catch.hpp>

#include "../kv/KVModels.h"
#include "layline/KV/Simulation.h"
#include "layline/KVVerification/MigrationProof.h"

#include <algorithm>

using namespace layline::kv;
using Catch::Matchers::Contains;

namespace {

using Kind = TokenPart::Kind;
using Of = TokenPart::Of;

bool isWrong(const Plan &plan, const MigrationFault &fault) {
  SimulationOptions request;
  request.tokens = fault.tokens;
  request.room = fault.room;
  request.packs = false;
  for (std::int64_t end : {fault.chunk.begin, fault.chunk.end, fault.tokens})
    if (end > 0 &&
        (request.chunkEnds.empty() || end > request.chunkEnds.back()))
      request.chunkEnds.push_back(end);
  SimulationResult result = simulate(plan, request);
  return !result.fault.empty() || result.twice > 0;
}

/// Refuted by a request, in which the bytes are wrong.
MigrationFault refute(const Plan &plan) {
  MigrationProof proof = proveMigration(plan);
  INFO(proof.problem);
  CHECK(proof.verdict == MigrationProof::Verdict::Refuted);
  CHECK(proof.lines.empty());
  REQUIRE(proof.fault);
  CHECK(isWrong(plan, *proof.fault));
  return *proof.fault;
}

/// Refuted for every request.
std::string refuteAll(const Plan &plan) {
  MigrationProof proof = proveMigration(plan);
  CHECK(proof.verdict == MigrationProof::Verdict::Refuted);
  CHECK_FALSE(proof.fault);
  return proof.problem;
}

void checkGood(const Plan &plan) {
  MigrationProof proof = proveMigration(plan);
  INFO(proof.problem);
  REQUIRE(proof.isProved());
}

} // namespace

TEST_CASE("heads by modulo") {
  // 2 heads from 4 ranks to one: ranks 0 and 1 have head 0 (sgl#19086).
  Model model = makeSmall();
  model.kvHeads = 2;
  Plan plan = makePlan(model, "tp4", "tp1", Profile::SGLangCompat);
  checkGood(plan);
  for (Transfer &transfer : plan.transfers)
    for (Move &move : transfer.moves)
      move.targetHead = transfer.source % 2;
  CHECK_THAT(refuteAll(plan),
             Contains("source rank 1 (tp 1) to target rank 0: plane 'k': head "
                      "1 of the target is written from head 0; head 1 is "
                      "expected"));
}

TEST_CASE("a share is missing") {
  Plan plan = makePlan(makeSmall(), "tp1,cp4,page4", "tp4,page4",
                       Profile::SGLangCompat);
  checkGood(plan);
  for (Transfer &transfer : plan.transfers)
    if (transfer.target == 1 && transfer.source == 2)
      transfer.moves.clear();
  MigrationFault fault = refute(plan);
  // Part 2 of 4 has a page of three pages.
  CHECK(fault.target == 1);
  CHECK(fault.tokens == 9);
  CHECK(fault.token == 8);
  CHECK_THAT(proveMigration(plan).problem,
             Contains("target rank 1 (tp 1), plane 'k', layer 0, head 1, token "
                      "8 of 9, chunk [0, 9), room 0: never written; it resides "
                      "at source ranks 0, 1, 2, 3, one sender is expected"));
}

TEST_CASE("a share's index is used twice") {
  Plan plan =
      makePlan(makeSmall(), "tp1,cp4,page4", "tp1,page4", Profile::Optimised);
  checkGood(plan);
  Move *second = nullptr;
  for (Transfer &transfer : plan.transfers)
    for (Move &move : transfer.moves)
      if (transfer.source == 1 && move.planes.front() == 1)
        second = &move;
  REQUIRE(second);
  REQUIRE(second->share == TokenPart{Kind::Contiguous, 4, 1, 4, Of::Request});
  second->share.index = 2;
  MigrationFault fault = refute(plan);
  // Two pages are the least that part 1 has a page of.
  CHECK(fault.plane == 1);
  CHECK(fault.tokens == 5);
  CHECK(fault.token == 4);
  CHECK(fault.writers.empty());
  second->share = {};
  fault = refute(plan);
  CHECK(fault.tokens == 1);
  CHECK(fault.writers == std::vector<int>{0, 1});
}

TEST_CASE("owners of layers filter by token") {
  Plan plan =
      makePlan(makeSmallLatents(4, true), "tp1,cp2,layersplit,interleave,page4",
               "tp1,page4", Profile::SGLangCompat);
  checkGood(plan);
  for (Transfer &transfer : plan.transfers)
    for (Move &move : transfer.moves)
      if (!transfer.isWithLastChunk)
        move.share = {Kind::Contiguous, 2,
                      plan.source.ranks[transfer.source].cp, 4, Of::Request};
  MigrationFault fault = refute(plan);
  // Rank 0 owns layers 0 and 1 and would keep back half of their pages.
  CHECK(fault.layer == 0);
  CHECK(fault.tokens == 5);
  CHECK(fault.token == 4);
  CHECK_THAT(proveMigration(plan).problem,
             Contains("never written; it resides at source ranks 0, one"));
}

TEST_CASE("parts of the chunk mixed with parts of the request") {
  Plan plan = makePlan(makeSmall(), "tp1,cp2,page4", "tp1,page4",
                       Profile::SGLangCompat);
  checkGood(plan);
  for (Transfer &transfer : plan.transfers)
    if (transfer.source == 1)
      for (Move &move : transfer.moves)
        move.share.of = Of::Chunk;
  MigrationFault fault = refute(plan);
  // It takes a second chunk for the two to be different.
  CHECK((fault.chunk.begin > 0 || fault.chunk.end < fault.tokens));
  CHECK(fault.chunk.begin <= fault.token);
  CHECK(fault.token < fault.chunk.end);
}

TEST_CASE("a zigzag compute split taken for residency") {
  Plan plan = makePlan(makeSmall(), "tp1,cp4,cpstore,contiguous,page4",
                       "tp1,page4", Profile::Optimised);
  checkGood(plan);
  // What each rank has computed is sent, of what it keeps.
  for (Transfer &transfer : plan.transfers)
    for (Move &move : transfer.moves)
      move.share = {Kind::Zigzag, 4, plan.source.ranks[transfer.source].cp, 1,
                    Of::Request};
  MigrationFault fault = refute(plan);
  CHECK(fault.writers.empty());
  // 2 tokens: ranks 0 and 1 keep them, and compute them; 3: rank 2 keeps
  // token 2, which is the third of eight segments, rank 2's as well. With 5,
  // rank 0 keeps tokens 0 and 1 and computes 0 alone.
  CHECK(fault.tokens == 5);
  CHECK(fault.token == 1);
}

TEST_CASE("runs of layers that are off by one") {
  // Uneven stages, paired by position (vllm-ascend#15900).
  Model model = makeSmall();
  model.layers = 5;
  model.kvLayers = countLayers(5);
  Plan plan = makePlan(model, "tp1,pp2+3", "tp1", Profile::Optimised);
  checkGood(plan);
  SECTION("a layer earlier") {
    for (Transfer &transfer : plan.transfers)
      for (Move &move : transfer.moves)
        if (transfer.source == 1)
          --move.layers.front().target;
    CHECK_THAT(refuteAll(plan),
               Contains("source rank 1 (pp 1) to target rank 0: plane 'k': "
                        "layer 1 of the target is written from layer 2; layers "
                        "are paired by their numbers in the model, not by "
                        "position: layer 1 is expected"));
  }
  SECTION("V into K") {
    // Stage 1 sends its V where the target's K ends.
    for (Transfer &transfer : plan.transfers)
      for (Move &move : transfer.moves)
        if (transfer.source == 1 && move.planes.front() == 1)
          move.layers.front().target -= 5;
    CHECK_THAT(refuteAll(plan),
               Contains("plane 'v': buffer 2 of the target is none of its 5 "
                        "layers of this plane"));
  }
  SECTION("one layer less") {
    for (Transfer &transfer : plan.transfers)
      for (Move &move : transfer.moves)
        if (transfer.source == 1)
          --move.layers.front().count;
    MigrationFault fault = refute(plan);
    CHECK(fault.layer == 4);
    CHECK(fault.writers.empty());
  }
  SECTION("a layer that the sender does not have") {
    for (Transfer &transfer : plan.transfers)
      for (Move &move : transfer.moves)
        if (transfer.source == 0)
          ++move.layers.front().count;
    CHECK_THAT(refuteAll(plan),
               Contains("plane 'k': buffer 2 of the sender is none of its 2 "
                        "layers of this plane: what is sent must reside at the "
                        "sender"));
  }
}

TEST_CASE("a wrong interleave of dcp") {
  Plan plan = makePlan(makeSmallLatents(2, false), "tp2,dcp2,page4",
                       "tp4,dcp4,page4", Profile::Optimised);
  checkGood(plan);
  // The source's tokens lie in runs of 4, not one by one: target rank 0 asks
  // the even ranks alone, and token 4 is with the odd ones.
  for (Rank &rank : plan.source.ranks)
    rank.tokens.unit = 4;
  MigrationFault fault = refute(plan);
  CHECK(fault.target == 0);
  CHECK(fault.tokens == 5);
  CHECK(fault.token == 4);
  CHECK(fault.writers.empty());
}

TEST_CASE("main rows without their index") {
  Plan plan = makePlan(makeSmallLatents(2, true), "tp1,page4", "tp2,page4",
                       Profile::SGLangCompat);
  checkGood(plan);
  plan.transfers.erase(
      std::remove_if(plan.transfers.begin(), plan.transfers.end(),
                     [](const Transfer &t) { return t.isWithLastChunk; }),
      plan.transfers.end());
  MigrationFault fault = refute(plan);
  CHECK(plan.planes[fault.plane].name == "index_key");
  CHECK(fault.writers.empty());
}

TEST_CASE("a state before it is final") {
  Model model = makeSmall();
  model.states = {{"conv", 8, 1, countLayers(2)}};
  Plan plan = makePlan(model, "tp2", "tp2", Profile::Optimised);
  checkGood(plan);
  for (Transfer &transfer : plan.transfers)
    transfer.isWithLastChunk = false;
  MigrationFault fault = refute(plan);
  CHECK(plan.planes[fault.plane].isState);
  CHECK(fault.chunk.end < fault.tokens);
}

TEST_CASE("responders") {
  Plan plan = makePlan(makeSmall(), "tp1,cp4,page4", "tp1,page4",
                       Profile::SGLangCompat);
  checkGood(plan);
  CHECK(plan.responders[0] == std::vector<int>{0, 1, 2, 3});
  SECTION("one that may have nothing to send is left out") {
    plan.responders[0] = {0, 1, 3};
    CHECK_THAT(refuteAll(plan),
               Contains("target rank 0: does not wait for source rank 2 (cp "
                        "2), which sends to it: it would be ready with bytes "
                        "missing; 3 responders are found, 4 are expected"));
  }
  SECTION("one counts twice") {
    plan.responders[0] = {0, 1, 2, 2, 3};
    CHECK_THAT(refuteAll(plan),
               Contains("target rank 0: counts source rank 2 twice"));
  }
}

TEST_CASE("readiness, lifetimes and slots are part of the proof") {
  Plan plan =
      makePlan(makeSmall(), "tp1,cp2,page4", "tp4,page4", Profile::Optimised);
  checkGood(plan);
  SECTION("a responder that is not waited for") {
    plan.readiness.targets[2].pop_back();
    CHECK_THAT(refuteAll(plan),
               Contains("readiness.targets[2]: has no source rank 1"));
  }
  SECTION("two senders with one key") {
    plan.readiness.keys[1] = plan.readiness.keys[0];
    CHECK_THAT(refuteAll(plan), Contains("the key of source rank 0 too"));
  }
  SECTION("a failure that passes") {
    plan.readiness.failure = Readiness::Failure::UntilNextReport;
    CHECK_THAT(refuteAll(plan), Contains("readiness.failure"));
  }
  SECTION("pages that are free when a request has failed") {
    plan.lifetimes[1].afterFailure = Moment::Failed;
    CHECK_THAT(refuteAll(plan),
               Contains("lifetimes[1].after_failure: target_pages 'kv'"));
  }
  SECTION("a slot for two targets") {
    plan.relay.slots[0].transfers.push_back(7);
    CHECK_THAT(refuteAll(plan), Contains("one target is expected"));
  }
  SECTION("a slot that is too small") {
    plan.relay.slots[3].bytes = 1;
    CHECK_THAT(refuteAll(plan), Contains("relay.slots[3].bytes: is 1"));
  }
  SECTION("transfers out of order") {
    std::swap(plan.transfers[0], plan.transfers[7]);
    CHECK_THAT(refuteAll(plan),
               Contains("order by target, then source, is expected"));
  }
}

TEST_CASE("planes and pages") {
  Plan plan = makePlan(makeSmallLatents(2, true), "tp1,page4", "tp1,page4",
                       Profile::SGLangCompat);
  checkGood(plan);
  SECTION("planes overlap in a page") {
    plan.target.planes[2].offset -= 1;
    CHECK_THAT(refuteAll(plan),
               Contains("target: planes 'index_key' and 'index_scale' overlap "
                        "in bytes [15, 16) of a page"));
  }
  SECTION("tokens overlap in a page") {
    plan.target.planes[0].tokenStride -= 1;
    CHECK_THAT(refuteAll(plan), Contains("target: plane 'latent': tokens 11 "
                                         "bytes apart and heads 12 bytes "
                                         "apart overlap"));
  }
  SECTION("pages of other sizes are moved whole") {
    Plan other = makePlan(makeSmallLatents(2, true), "tp1,page4", "tp1,page8",
                          Profile::Optimised);
    for (Transfer &transfer : other.transfers)
      for (Move &move : transfer.moves)
        move.grain = Grain::Page;
    CHECK_THAT(refuteAll(other),
               Contains("moves whole pages, of 4 tokens at the source and 8 at "
                        "the target; equal pages are expected"));
  }
}

TEST_CASE("plans that make no sense are refuted, not run") {
  const Plan good =
      makePlan(makeSmall(), "tp1,cp2,page4", "tp2,page4", Profile::Optimised);
  checkGood(good);
  auto refuted = [&](auto change) {
    Plan plan = good;
    change(plan);
    return refuteAll(plan);
  };
  CHECK_THAT(refuted([](Plan &p) { p.transfers[0].source = 7; }),
             Contains("a transfer from source rank 7 to target rank"));
  CHECK_THAT(refuted([](Plan &p) { p.transfers[0].moves[0].planes = {5}; }),
             Contains("moves plane 5; there are 2"));
  CHECK_THAT(refuted([](Plan &p) { p.transfers[0].moves[0].share.parts = 0; }),
             Contains("share: part 0 of 0 in runs of 4"));
  CHECK_THAT(refuted([](Plan &p) {
               p.transfers[0].moves[0].share = {Kind::Cyclic, 1 << 20, 0, 64,
                                                Of::Request};
             }),
             Contains("repeat only after more than 4194304 tokens"));
  CHECK_THAT(refuted([](Plan &p) { p.source.planes.pop_back(); }),
             Contains("source: 1 planes; the plan has 2"));
  CHECK_THAT(refuted([](Plan &p) { p.target.planes[1].buffer = 9; }),
             Contains("plane 'v': is in buffer 9; there are 2"));
  CHECK_THAT(refuted([](Plan &p) { p.target.planes[1].heads = 4; }),
             Contains("a rank keeps 4 of 4 heads in 2 parts; 2 are expected"));
  CHECK_THAT(refuted([](Plan &p) { p.target.headParts = 3; }),
             Contains("4 heads in 3 parts"));
  CHECK_THAT(refuted([](Plan &p) { p.target.ranks[1].headIndex = 2; }),
             Contains("target rank 1 (tp 1): has part 2 of the heads"));
  CHECK_THAT(refuted([](Plan &p) {
               p.target.ranks[1].layers[0] = {1, 0};
             }),
             Contains("layer 0 behind layer 1"));
  CHECK_THAT(refuted([](Plan &p) { p.target.ranks[1].layers.pop_back(); }),
             Contains("has layers of 1 buffers; there are 2"));
  CHECK_THAT(refuted([](Plan &p) {
               p.source.ranks[0].tokens = {Kind::Cyclic, 2, 0, 1, Of::Chunk};
             }),
             Contains("keeps tokens by chunk or by room"));
  CHECK_THAT(refuted([](Plan &p) { p.responders.pop_back(); }),
             Contains("responders of 1 target ranks; there are 2"));
}
