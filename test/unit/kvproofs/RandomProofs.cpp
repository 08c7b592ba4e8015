//===- RandomProofs.cpp - proofs against bytes, with random faults --------===//
//
// Random pairs of layouts (../kv/RandomLayouts.h). Whatever is planned must be
// proved, and be the same as IR and back. Then one thing of the plan is
// changed, and proof and byte simulation must agree: what is proved shows no
// fault in any request that is tried; what is refuted with a request shows one
// in that request.
//
//===----------------------------------------------------------------------===//
#include "../kv/PlanEquality.h"
#include "../kv/RandomLayouts.h"
#include "dialects/KV/PlanConversion.h"

#include "layline/KV/Simulation.h"
#include "layline/KVVerification/MigrationProof.h"

#include "plan/Error.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <cstdlib>
#include <iostream>
#include <map>

using namespace layline::kv;

namespace {

struct Tally {
  std::int64_t proved = 0, slowest = 0; ///< microseconds
  std::int64_t harmless = 0;            ///< changed plans that are proved
  std::int64_t structural = 0;          ///< refuted without a request
  std::int64_t refuted = 0;             ///< with one, which shows it
  std::int64_t open = 0;
};

Move *pickMove(Plan &plan, Transfer *&transfer) {
  if (plan.transfers.empty())
    return nullptr;
  std::size_t last = plan.transfers.size() - 1;
  transfer = &plan.transfers[upTo(0, static_cast<std::int64_t>(last))];
  if (transfer->moves.empty())
    return nullptr;
  last = transfer->moves.size() - 1;
  return &transfer->moves[upTo(0, static_cast<std::int64_t>(last))];
}

void changeShare(TokenPart &share) {
  switch (upTo(0, 4)) {
  case 0:
    share.index = upTo(0, share.parts - 1);
    break;
  case 1:
    share.unit = upTo(1, 9);
    break;
  case 2:
    share.of = share.of == TokenPart::Of::Request ? TokenPart::Of::Chunk
                                                  : TokenPart::Of::Request;
    break;
  case 3:
    share.kind = *rc::gen::elementOf(std::vector<TokenPart::Kind>{
        TokenPart::Kind::Whole, TokenPart::Kind::Contiguous,
        TokenPart::Kind::Zigzag, TokenPart::Kind::Cyclic,
        TokenPart::Kind::Room});
    share.parts = std::max<std::int64_t>(share.parts, upTo(1, 3));
    break;
  case 4:
    share.parts = share.parts + upTo(1, 2);
    if (share.kind == TokenPart::Kind::Whole)
      share.kind = TokenPart::Kind::Contiguous;
    break;
  }
}

/// Of what a rank keeps of every request.
void changeKept(TokenPart &kept) {
  do
    changeShare(kept);
  while (kept.kind == TokenPart::Kind::Room || kept.of == TokenPart::Of::Chunk);
}

/// One change; what it was.
std::string plantFault(Plan &plan) {
  Transfer *transfer = nullptr;
  Move *move = pickMove(plan, transfer);
  if (!move)
    return "";
  switch (upTo(0, 16)) {
  case 0:
    move->sourceHead += pick({-1, 1});
    return "source head";
  case 1:
    move->targetHead += pick({-1, 1});
    return "target head";
  case 2:
    move->heads += pick({-1, 1});
    return "number of heads";
  case 3: {
    if (move->layers.empty())
      return "";
    LayerRun &run = move->layers[upTo(
        0, static_cast<std::int64_t>(move->layers.size()) - 1)];
    std::int64_t by = pick({-1, 1});
    (pick({0, 1, 2}) == 0 ? run.source
     : pick({0, 1}) == 0  ? run.target
                          : run.count) += by;
    return "layers";
  }
  case 4:
    transfer->moves.erase(transfer->moves.begin() +
                          (move - transfer->moves.data()));
    return "a move is missing";
  case 5: {
    Move again = *move;
    transfer->moves.push_back(again);
    return "a move is there twice";
  }
  case 6:
    transfer->isWithLastChunk = !transfer->isWithLastChunk;
    return "when it is sent";
  case 7:
    changeKept(plan.source.ranks[transfer->source].tokens);
    return "what the source keeps";
  case 8:
    changeKept(plan.target.ranks[transfer->target].tokens);
    return "what the target keeps";
  default:
    changeShare(move->share);
    return "share";
  }
}

/// A request that the plan can be bound to.
SimulationOptions makeRequest(const Plan &plan, std::int64_t tokens) {
  SimulationOptions options;
  options.tokens = tokens;
  options.room = upTo(0, 20);
  options.seed = upTo(0, 1 << 20);
  options.packs = false;
  std::int64_t unit = plan.target.pageTokens;
  auto cut = [&] { return std::min(upTo(0, tokens) / unit * unit, tokens); };
  options.prefix = seldom(3) ? cut() : 0;
  options.prefix -= options.prefix % plan.policy.prefixUnit;
  options.chunkEnds = {cut(), cut(), tokens};
  std::sort(options.chunkEnds.begin(), options.chunkEnds.end());
  return options;
}

/// A plan has the same plan as IR, which verifies.
void checkRoundTrip(mlir::MLIRContext &context, const Plan &plan) {
  std::string error;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      emitMigration(&context, plan, error);
  RC_LOG() << error << "\n";
  RC_ASSERT(static_cast<bool>(module));
  RC_ASSERT(mlir::succeeded(mlir::verify(*module)));
  llvm::FailureOr<Plan> read = readMigration(*module);
  RC_ASSERT(mlir::succeeded(read));
  RC_ASSERT(*read == plan);
}

bool isWrong(const SimulationResult &result, bool isOnce) {
  return !result.fault.empty() || (isOnce && result.twice > 0);
}

} // namespace

int main() {
  setenv("RC_PARAMS", "max_success=4000 seed=5", 0);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ir::KVDialect>();
  std::map<std::string, Tally> tally;
  bool isGood = rc::check("proofs agree with bytes", [&] {
    const auto [model, from, to] = makeLayoutPair();
    PlanOptions options = makePlanOptions();
    SideSpec source = parseSideSpec(from), target = parseSideSpec(to);
    RC_LOG() << from << " -> " << to << "\n";
    for (Profile profile : {Profile::Optimised, Profile::SGLangCompat}) {
      options.profile = profile;
      bool isOnce = profile == Profile::Optimised;
      Tally &count = tally[isOnce ? "optimised" : "compat"];
      Plan plan;
      try {
        plan = planMigration(model, source, target, options);
      } catch (const layline::runtime::Error &error) {
        RC_ASSERT(error.status() == LAYLINE_REFUSED_FEATURE);
        continue;
      }
      RC_LOG() << plan.profile << "\n";
      MigrationProof proof = proveMigration(plan);
      if (!proof.isProved())
        RC_FAIL(proof.problem);
      RC_ASSERT(proof.isExactlyOnce || !isOnce);
      ++count.proved;
      count.slowest = std::max(count.slowest,
                               static_cast<std::int64_t>(proof.seconds * 1e6));

      checkRoundTrip(context, plan);

      std::string what = plantFault(plan);
      if (what.empty())
        continue;
      RC_LOG() << "changed: " << what << "\n";
      // What follows from the transfers follows from those that there are now.
      completePlan(plan, kDefaultLanes);
      MigrationProof changed = proveMigration(plan);
      RC_LOG() << changed.problem << "\n";
      if (changed.verdict == MigrationProof::Verdict::Open) {
        ++count.open;
        continue;
      }
      if (changed.isProved()) {
        ++count.harmless;
        RC_ASSERT(changed.isExactlyOnce || !isOnce);
        for (int i = 0; i < 3; ++i) {
          SimulationResult result =
              simulate(plan, makeRequest(plan, upTo(1, 70)));
          RC_LOG() << result.fault << result.twice << "\n";
          RC_ASSERT(!isWrong(result, isOnce));
        }
        continue;
      }
      if (!changed.fault) {
        ++count.structural;
        continue;
      }
      const MigrationFault &fault = *changed.fault;
      SimulationOptions request;
      request.tokens = fault.tokens;
      request.room = fault.room;
      request.packs = false;
      for (std::int64_t end :
           {fault.chunk.begin, fault.chunk.end, fault.tokens})
        if (end > 0 &&
            (request.chunkEnds.empty() || end > request.chunkEnds.back()))
          request.chunkEnds.push_back(end);
      SimulationResult result = simulate(plan, request);
      // Of pages that are kept by number the fault needs one with some number:
      // one of 16 tables at least has it.
      constexpr std::uint64_t kMostTables = 200;
      while (usesPageNumbers(plan) && !isWrong(result, true) &&
             request.seed < kMostTables) {
        ++request.seed;
        result = simulate(plan, request);
      }
      RC_LOG() << result.fault << result.twice << "\n";
      RC_ASSERT(isWrong(result, true));
      ++count.refuted;
    }
  });
  for (const auto &[name, count] : tally)
    std::cout << name << ": " << count.proved
              << " plans proved, the slowest in " << count.slowest
              << " us; changed: " << count.refuted
              << " refuted with a request, " << count.structural << " without, "
              << count.harmless << " proved, " << count.open << " open\n";
  // A generator that changes nothing of weight would show nothing.
  for (const auto &[name, count] : tally)
    if (isGood &&
        (count.refuted * 10 < count.proved || count.open * 50 > count.proved)) {
      std::cerr << name << ": too few faults, or too few verdicts\n";
      isGood = false;
    }
  return isGood ? 0 : 1;
}
