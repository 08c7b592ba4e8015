// A plan as IR, printed, parsed, verified and read again, is the same plan.
#include <catch2/catch.hpp>

#include "../kv/PlanEquality.h"
#include "Modes.h"
#include "dialects/KV/PlanConversion.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace layline::kv;

namespace {

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out);
  return text;
}

} // namespace

TEST_CASE("plans as IR and back") {
  mlir::MLIRContext context;
  context.loadDialect<ir::KVDialect>();
  for (const Mode &mode : getModes())
    for (Profile profile : {Profile::Optimised, Profile::SGLangCompat}) {
      if (profile == Profile::SGLangCompat && !mode.isCompat)
        continue;
      INFO(mode.name);
      Plan plan =
          makePlan(mode.model, mode.from, mode.to, profile, mode.senders);
      std::string error;
      mlir::OwningOpRef<mlir::ModuleOp> emitted =
          emitMigration(&context, plan, error);
      INFO(error);
      REQUIRE(emitted);
      CHECK(mlir::succeeded(mlir::verify(*emitted)));
      std::string text = print(*emitted);
      auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
      REQUIRE(parsed);
      CHECK(print(*parsed) == text);
      llvm::FailureOr<Plan> read = readMigration(*parsed);
      REQUIRE(mlir::succeeded(read));
      CHECK(*read == plan);
    }
}

TEST_CASE("IR keeps readiness, lifetimes and slots as they are stated") {
  mlir::MLIRContext context;
  context.loadDialect<ir::KVDialect>();
  Plan plan = makePlan(makeHeads("heads", 4, 4), "tp2,cp2", "tp4");
  REQUIRE_FALSE(plan.relay.slots.empty());
  // Others than those that would be found, and as good.
  plan.readiness.keys[2] = "somebody";
  plan.relay.lanes = 9;
  for (RelaySlot &slot : plan.relay.slots) {
    slot.lane = 8;
    slot.bytes -= 4096;
    slot.maxDescriptors = 5;
  }
  std::swap(plan.lifetimes[0], plan.lifetimes[1]);
  std::string error;
  mlir::OwningOpRef<mlir::ModuleOp> emitted =
      emitMigration(&context, plan, error);
  REQUIRE(emitted);
  CHECK(mlir::succeeded(mlir::verify(*emitted)));
  auto parsed =
      mlir::parseSourceString<mlir::ModuleOp>(print(*emitted), &context);
  REQUIRE(parsed);
  llvm::FailureOr<Plan> read = readMigration(*parsed);
  REQUIRE(mlir::succeeded(read));
  CHECK(*read == plan);
}

TEST_CASE("ranks that follow no rule have no IR") {
  mlir::MLIRContext context;
  context.loadDialect<ir::KVDialect>();
  const Plan good =
      makePlan(makeHeads("heads", 4, 4), "tp2,cp2", "tp4", Profile::Optimised);
  auto refused = [&](auto change) {
    Plan plan = good;
    change(plan);
    std::string problem;
    CHECK_FALSE(emitMigration(&context, plan, problem));
    return problem;
  };
  std::string error;
  CHECK(emitMigration(&context, good, error));
  CHECK(refused(
            [](Plan &p) { std::swap(p.source.ranks[0], p.source.ranks[1]); }) ==
        "pool 'source': rank 0 is at pp 0, dp 0, cp 0, tp 1, expected ranks in "
        "the order of their mesh");
  CHECK(refused([](Plan &p) {
          p.source.ranks[1].tokens = {TokenPart::Kind::Cyclic, 2, 1, 1,
                                      TokenPart::Of::Request};
        }) ==
        "pool 'source': rank 1 has its tokens by another rule than rank 0");
  CHECK(refused([](Plan &p) { p.target.ranks[3].headIndex = 0; }) ==
        "pool 'target': rank 3 has part 0 of the heads, expected 3");
  CHECK(refused([](Plan &p) {
          p.target.ranks[2].layers[1] = {0, 1};
        }) ==
        "pool 'target': rank 2 has layers 0 to 1 of plane 'v', its group 0 to "
        "3");
  CHECK(refused([](Plan &p) {
          p.transfers[0].moves[0].layers[0].source = 7;
        }) == "source rank " + std::to_string(good.transfers[0].source) +
                  " to target rank 0: a layer of plane 'k' is none of the "
                  "rank's");
}
