//===- Faults.h - faults planted in planned programs ------------*- C++ -*-===//
//
// For tests of the proofs only: a fault is what a planner, a lowering or a
// person could get wrong. Planting one changes the planned variants of a module
// (functions with grid.tokens) or its launch.plan in place, and may leave ops
// whose verifiers fail: that is for the proofs to find.
//
// Data that is taken for something else where no op could say so (rows in
// another order, another rank's slice) is a builtin.unrealized_conversion_cast
// between two layouts of one tensor: each rank's local elements stay where they
// are and are read as those of the other layout.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_TEST_LIB_FAULTS_FAULTS_H
#define LAYLINE_TEST_LIB_FAULTS_FAULTS_H

#include "mlir/IR/BuiltinOps.h"

namespace layline::test {

class FaultFinder;

enum class FaultEffect {
  Value,    ///< some rank computes another number
  Order,    ///< steps may run in an order that gives one, or hangs
  Lifetime, ///< memory is used while it holds something else
  Ranges    ///< rows, items or token counts are covered twice or not at all
};
llvm::StringRef stringifyFaultEffect(FaultEffect effect);

/// How a fault is planted; this decides what a net can be asked to see.
enum class FaultForm {
  Program, ///< ops and attributes of the planned program
  Relabel, ///< a cast that no op of the dialects stands for
  Plan     ///< the launch.plan
};

struct FaultKind {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  FaultEffect effect;
  FaultForm form;
  /// Reports every place where the fault can be planted.
  void (*find)(FaultFinder &finder);
};

/// All kinds, in the order of the documentation.
llvm::ArrayRef<FaultKind> allFaultKinds();
/// The kind of that name, or null.
const FaultKind *findFaultKind(llvm::StringRef name);

/// Places are numbered from 0 in program order; a place that could not change
/// anything (an axis of one rank, a part of one row) is none.
unsigned countFaultPlaces(mlir::ModuleOp module, const FaultKind &kind);
/// Plants the fault at place `n`; fails, with a diagnostic, if there is none.
mlir::LogicalResult injectFault(mlir::ModuleOp module, const FaultKind &kind,
                                unsigned n);

/// The pass --test-inject-fault.
void registerInjectFaultPass();

} // namespace layline::test

#endif // LAYLINE_TEST_LIB_FAULTS_FAULTS_H
