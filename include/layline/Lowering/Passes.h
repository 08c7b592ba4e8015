//===- Passes.h - from placed programs to a launch plan ---------*- C++ -*-===//
#ifndef LAYLINE_LOWERING_PASSES_H
#define LAYLINE_LOWERING_PASSES_H

#include "dialects/Launch/Launch.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace layline {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Lowering/Passes.h.inc"

/// A planned module becomes one launch.plan: lower-to-launch,
/// launch-plan-memory, launch-assign-streams, launch-verify.
void buildLoweringPipeline(mlir::OpPassManager &manager);
/// The pipeline as "layline-lower".
void registerLoweringPipeline();

} // namespace layline

#endif // LAYLINE_LOWERING_PASSES_H
