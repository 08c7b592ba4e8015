//===- Effects.h - what a step of the list reads and writes -----*- C++ -*-===//
#ifndef LAYLINE_LIB_LOWERING_EFFECTS_H
#define LAYLINE_LIB_LOWERING_EFFECTS_H

#include "dialects/Launch/Launch.h"
#include "llvm/ADT/SetVector.h"

namespace layline {

/// Of a fused step what its body does, registers included; a value that the
/// body writes before it reads it is only written.
struct Effects {
  llvm::SmallSetVector<mlir::Value, 4> reads, writes;
  /// Symbols of caches.
  llvm::SmallSetVector<mlir::Attribute, 2> cacheReads, cacheWrites;
};

Effects getEffects(launch::StepOp step);

/// The steps of the list, in order.
llvm::SmallVector<launch::StepOp> getSteps(launch::VariantOp variant);

/// Which arena a buffer belongs to, by what it holds: "float", "int", "narrow",
/// "register". Numbers of 8 bits are apart: an engine at a wider precision
/// widens all of an arena by one factor, and theirs is larger.
llvm::StringRef getArenaId(launch::BufferOp buffer);

inline launch::BufferOp getBuffer(mlir::Value value) {
  return mlir::cast<launch::BufferOp>(value.getDefiningOp());
}

} // namespace layline

#endif // LAYLINE_LIB_LOWERING_EFFECTS_H
