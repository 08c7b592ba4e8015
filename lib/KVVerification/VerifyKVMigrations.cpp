//===- VerifyKVMigrations.cpp - the proofs, as a pass ---------------------===//
#include "dialects/KV/KV.h"
#include "dialects/KV/PlanConversion.h"
#include "layline/KVVerification/MigrationProof.h"
#include "layline/KVVerification/Passes.h"
#include "mlir/IR/Remarks.h"

namespace layline {
#define GEN_PASS_DEF_VERIFYKVMIGRATIONS
#include "lib/KVVerification/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;

namespace {

struct VerifyKVMigrations
    : layline::impl::VerifyKVMigrationsBase<VerifyKVMigrations> {
  using VerifyKVMigrationsBase::VerifyKVMigrationsBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (kv::ir::MigrateOp migrate :
         getOperation().getOps<kv::ir::MigrateOp>()) {
      FailureOr<kv::Plan> plan = kv::readMigration(migrate);
      if (failed(plan))
        return signalPassFailure();
      kv::MigrationProof proof = kv::proveMigration(*plan);
      if (!proof.isProved()) {
        migrate.emitOpError(proof.problem);
        return signalPassFailure();
      }
      for (const std::string &line : proof.lines)
        remark::passed(
            migrate.getLoc(),
            remark::RemarkOpts::name("VerifyKVMigrations").category("kv"))
            << line;
    }
  }
};

} // namespace
