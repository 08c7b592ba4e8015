//===- Passes.h - planning passes -------------------------------*- C++ -*-===//
#ifndef LAYLINE_PLANNING_PASSES_H
#define LAYLINE_PLANNING_PASSES_H

#include "dialects/Grid/Grid.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include <optional>
#include <string>

namespace layline {
/// Function attributes of a variant.
inline constexpr llvm::StringLiteral kVariantTokens = "grid.tokens";
inline constexpr llvm::StringLiteral kVariantBoundaries = "grid.boundaries";
inline constexpr llvm::StringLiteral kVariantReason = "grid.reason";
inline constexpr llvm::StringLiteral kVariantSites = "grid.sites";
/// Ops of the variant carry choices that are not applied yet.
inline constexpr llvm::StringLiteral kVariantChosen = "grid.chosen";
/// ... and say which ops one kernel runs: nothing else is fused.
inline constexpr llvm::StringLiteral kVariantKernels = "grid.kernels";
/// What the variant and its sites cost: a list of `PlanPrice`, see
/// VariantPrices.h.
inline constexpr llvm::StringLiteral kVariantPrices = "grid.prices";

/// What is to become of the boundaries up to a token count; the last entry has
/// no limit.
struct BoundaryRule {
  std::string form; ///< "rows", "whole", "auto"
  int64_t maxTokens = INT64_MAX;
};
/// "auto", "rows", "whole", or rules up to token counts, ascending:
/// "whole:63,rows". None if the text is none of these.
std::optional<llvm::SmallVector<BoundaryRule, 2>>
parseBoundaries(llvm::StringRef text);

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Planning/Passes.h.inc"
} // namespace layline

#endif // LAYLINE_PLANNING_PASSES_H
