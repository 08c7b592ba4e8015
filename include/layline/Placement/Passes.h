//===- Passes.h - placement passes ------------------------------*- C++ -*-===//
#ifndef LAYLINE_PLACEMENT_PASSES_H
#define LAYLINE_PLACEMENT_PASSES_H

#include "dialects/Grid/Grid.h"
#include "mlir/Pass/Pass.h"

namespace layline {
/// The mesh axis of tensor parallelism.
inline constexpr llvm::StringLiteral kTensorAxis = "tp";
/// The mesh axis of context parallelism.
inline constexpr llvm::StringLiteral kContextAxis = "cp";

/// How tokens are dealt out over "cp", as a person says it.
struct ContextSplit {
  grid::PartitionKind kind;
  int64_t argument = 0; ///< of cyclic: tokens that stay together
};
/// "zigzag", "contiguous", "interleave" or "interleave:I" with I at least 1.
std::optional<ContextSplit> parseContextSplit(llvm::StringRef text);

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Placement/Passes.h.inc"
} // namespace layline

#endif // LAYLINE_PLACEMENT_PASSES_H
