//===- Passes.h - planning passes -------------------------------*- C++ -*-===//
#ifndef LAYLINE_PLANNING_PASSES_H
#define LAYLINE_PLANNING_PASSES_H

#include "dialects/Grid/Grid.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace layline {
/// Function attributes of a variant.
inline constexpr llvm::StringLiteral kVariantTokens = "grid.tokens";
inline constexpr llvm::StringLiteral kVariantBoundaries = "grid.boundaries";
inline constexpr llvm::StringLiteral kVariantReason = "grid.reason";
inline constexpr llvm::StringLiteral kVariantSites = "grid.sites";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Planning/Passes.h.inc"
} // namespace layline

#endif // LAYLINE_PLANNING_PASSES_H
