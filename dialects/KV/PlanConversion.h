//===- PlanConversion.h - kv.json's plan as IR, and back --------*- C++ -*-===//
#ifndef LAYLINE_DIALECTS_KV_PLANCONVERSION_H
#define LAYLINE_DIALECTS_KV_PLANCONVERSION_H

#include "dialects/KV/KV.h"
#include "kv/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace layline::kv {

/// Two pools and a migration that say what the plan says. What each rank keeps
/// must follow from its place on a mesh, as that of every layout does that
/// `layline kv plan` takes; else null, and `error` says which rank does not.
/// The module is as right as the plan: it is not verified here. Needs the kv
/// dialect to be loaded.
mlir::OwningOpRef<mlir::ModuleOp>
emitMigration(mlir::MLIRContext *context, const Plan &plan, std::string &error);

/// The plan that a migration says. Its module has verified.
llvm::FailureOr<Plan> readMigration(ir::MigrateOp migrate);
/// The same, of a module with one migration; failure with a message else.
llvm::FailureOr<Plan> readMigration(mlir::ModuleOp module);

} // namespace layline::kv

#endif // LAYLINE_DIALECTS_KV_PLANCONVERSION_H
