//===- Pipeline.cpp - the passes from placed programs to a plan -----------===//
#include "layline/Lowering/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace layline;

void layline::buildLoweringPipeline(OpPassManager &manager) {
  manager.addPass(createLowerToLaunch());
  OpPassManager &plan = manager.nest<launch::PlanOp>();
  plan.addPass(createLaunchPlanMemory());
  plan.addPass(createLaunchAssignStreams());
  plan.addPass(createLaunchVerify());
}

void layline::registerLoweringPipeline() {
  PassPipelineRegistration<>("layline-lower",
                             "Lower a planned module to a launch plan",
                             buildLoweringPipeline);
}
