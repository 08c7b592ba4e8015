//===- ExactCheck.h - the programs of a module, run exactly -----*- C++ -*-===//
#ifndef LAYLINE_VERIFICATION_EXACTCHECK_H
#define LAYLINE_VERIFICATION_EXACTCHECK_H

#include "layline/Exact/Checker.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace layline {

/// The function with the attribute `decoder.reference`, or null.
mlir::func::FuncOp findReference(mlir::ModuleOp module);

/// The programs that are compared with it: the variants, or, where there are
/// none, every other function with a body.
llvm::SmallVector<mlir::func::FuncOp> findPrograms(mlir::ModuleOp module);

/// Runs the programs of the module on all ranks, and the reference on one
/// device, over a prime field, and compares what they return, cache and record.
/// The verifiers of the module need not hold. Nothing if all is equal;
/// otherwise one mismatch for each program that differs. Fails, with a
/// diagnostic, if there is no reference or an op has no exact meaning.
mlir::FailureOr<std::vector<exact::Mismatch>>
checkExact(mlir::ModuleOp module, exact::CheckerOptions options = {},
           exact::Statistics *statistics = nullptr);

} // namespace layline

#endif // LAYLINE_VERIFICATION_EXACTCHECK_H
