//===- StepTable.h - which kind of step an op becomes -----------*- C++ -*-===//
#ifndef LAYLINE_LIB_LOWERING_STEPTABLE_H
#define LAYLINE_LIB_LOWERING_STEPTABLE_H

#include "PlanTables.h"

namespace layline {

/// An op as a step: its operands and results by role, in the kind's order.
struct StepSpec {
  struct Target {
    llvm::StringRef role;
    mlir::Value value;
    mlir::FlatSymbolRefAttr symbol; ///< where there is no value
  };

  launch::StepKind kind = launch::StepKind::Add;
  llvm::SmallVector<Target, 8> targets;
  llvm::SmallVector<mlir::NamedAttribute, 6> attrs;
  mlir::FlatSymbolRefAttr group; ///< of a collective
};

/// Fails, with a diagnostic, for an op that no step does.
mlir::FailureOr<StepSpec> getStepSpec(mlir::Operation *op, PlanTables &tables);

} // namespace layline

#endif // LAYLINE_LIB_LOWERING_STEPTABLE_H
