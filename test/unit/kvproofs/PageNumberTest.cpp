// Pages that ranks keep by their numbers: proved for every page table, and
// faults of such plans.
#include <catch2/catch.hpp>

#include "../kv/KVModels.h"
#include "layline/KV/Simulation.h"
#include "layline/KVVerification/MigrationProof.h"

using namespace layline::kv;
using Catch::Matchers::Contains;

namespace {

MigrationProof prove(const Plan &plan) {
  MigrationProof proof = proveMigration(plan);
  INFO(proof.problem);
  REQUIRE(proof.isProved());
  return proof;
}

/// Refuted by a request, in which the bytes are wrong with one of many tables.
MigrationProof refute(const Plan &plan) {
  MigrationProof proof = proveMigration(plan);
  CHECK(proof.verdict == MigrationProof::Verdict::Refuted);
  REQUIRE(proof.fault);
  SimulationOptions request;
  request.tokens = proof.fault->tokens;
  request.room = proof.fault->room;
  request.packs = false;
  bool isWrong = false;
  for (request.seed = 1; request.seed < 100 && !isWrong; ++request.seed) {
    SimulationResult result = simulate(plan, request);
    isWrong = !result.fault.empty() || result.twice > 0;
  }
  CHECK(isWrong);
  return proof;
}

} // namespace

TEST_CASE("page numbers: one owner each, for every table") {
  for (const char *target : {"tp4,page4", "tp2,dcp2:3,page4", "tp1,page8",
                             "tp1,cp2,page4,pagesplit"}) {
    MigrationProof proof = prove(makePlan(makeSmall(), "cp4,page4,pagenumber",
                                          target, Profile::Optimised));
    CHECK(proof.isExactlyOnce);
    CHECK_THAT(proof.lines[2],
               Contains("source: every page number has one owner of 4, if all "
                        "are given the same page table"));
  }
  // Both sides by numbers of their own: every source may have what a target
  // needs.
  Plan both = makePlan(makeSmall(), "cp2,page4,pagenumber",
                       "cp3,page2,pagenumber", Profile::Optimised);
  MigrationProof proof = prove(both);
  CHECK(proof.isExactlyOnce);
  for (const std::vector<int> &responders : both.responders)
    CHECK(responders == std::vector<int>{0, 1});
  // As SGLang sends them: all of every rank.
  Plan compat = makePlan(makeSmall(), "cp2,page4,pagenumber", "tp4,page4",
                         Profile::SGLangCompat);
  prove(compat);
  CHECK(compat.transfers.size() == 8);
}

TEST_CASE("page numbers: an owner does not send") {
  Plan plan = makePlan(makeSmall(), "cp4,page4,pagenumber", "tp1,page4",
                       Profile::Optimised);
  prove(plan);
  REQUIRE(plan.transfers[2].source == 2);
  plan.transfers.erase(plan.transfers.begin() + 2);
  MigrationProof proof = refute(plan);
  CHECK(proof.fault->tokens == 1);
  CHECK(proof.fault->sourcePart == 2);
  CHECK_THAT(proof.problem,
             Contains("token 0 of 1, chunk [0, 1), room 0, in page 2 of the "
                      "source: never written; it resides at source ranks 2"));
}

TEST_CASE("page numbers: two ranks take the same for their own") {
  Plan plan = makePlan(makeSmall(), "cp2,page4,pagenumber", "tp1,page4",
                       Profile::Optimised);
  plan.source.ranks[1].tokens.index = 0;
  MigrationProof proof = refute(plan);
  CHECK_THAT(proof.problem,
             Contains("in page 0 of the source: written 2 times, by source "
                      "ranks 0, 1"));
}

TEST_CASE("page numbers: taken for places in the request") {
  // The target's part says page i of the request; the source's pages are asked
  // for by the same rule, though a table may have them in any order.
  Plan plan = makePlan(makeSmall(), "cp2,page4,pagenumber",
                       "cp2,page4,pagesplit", Profile::Optimised);
  prove(plan);
  for (std::size_t i = plan.transfers.size(); i-- > 0;)
    if (plan.transfers[i].source != plan.transfers[i].target)
      plan.transfers.erase(plan.transfers.begin() +
                           static_cast<std::ptrdiff_t>(i));
  MigrationProof proof = refute(plan);
  CHECK_THAT(proof.problem, Contains("never written"));
}

TEST_CASE("page numbers: what a plan may not say") {
  const Plan good = makePlan(makeSmall(), "cp2,page4,pagenumber", "tp1,page4",
                             Profile::Optimised);
  auto refuted = [&](auto change) {
    Plan plan = good;
    change(plan);
    MigrationProof proof = proveMigration(plan);
    CHECK(proof.verdict == MigrationProof::Verdict::Refuted);
    return proof.problem;
  };
  CHECK_THAT(refuted([](Plan &p) { p.source.ranks[1].tokens.parts = 3; }),
             Contains("divides page numbers by 3, ranks before it by 2"));
  CHECK_THAT(refuted([](Plan &p) { p.source.ranks[1].tokens.unit = 4; }),
             Contains("page numbers in runs of 4"));
  CHECK_THAT(refuted([](Plan &p) {
               p.transfers[0].moves[0].share = p.source.ranks[0].tokens;
             }),
             Contains("share: is by page number"));
}
