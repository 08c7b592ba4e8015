//===- Pipelines.cpp - the phases as named pass pipelines -----------------===//
#include "layline/Driver/Pipelines.h"
#include "dialects/Decoder/Decoder.h"
#include "dialects/Grid/Grid.h"
#include "dialects/KV/KV.h"
#include "dialects/Launch/Launch.h"
#include "layline/KVVerification/Passes.h"
#include "layline/Lowering/Passes.h"
#include "layline/Placement/Passes.h"
#include "layline/Planning/Passes.h"
#include "layline/Verification/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void layline::buildPlacementPipeline(OpPassManager &manager,
                                     const PlacementOptions &options) {
  PlaceParallelOptions place;
  place.tp = options.tp;
  place.cp = options.cp;
  place.cpSplit = options.cpSplit;
  place.ep = options.ep;
  place.even = options.even;
  place.replicate.assign(options.replicate.begin(), options.replicate.end());
  place.reference = true;
  manager.addPass(createPlaceParallel(place));
}

void layline::buildPlanningPipeline(OpPassManager &manager,
                                    const PlanningOptions &options) {
  PlanVariantsOptions variants;
  variants.minTokens = options.minTokens;
  variants.maxTokens = options.maxTokens;
  variants.boundaries = options.boundaries;
  variants.experts = options.experts;
  variants.fuse = options.fuse;
  variants.launch = options.launch;
  variants.calibration = options.calibration;
  variants.kernels = options.kernels;
  manager.addPass(createPlanVariants(variants));
  OpPassManager &function = manager.nest<func::FuncOp>();
  function.addPass(createPlanApplyForms());
  if (options.fuse)
    function.addPass(createPlanFuseBoundaries());
  function.addPass(createPlanReportSites());
}

void layline::buildVerificationPipeline(OpPassManager &manager) {
  manager.addPass(createVerifyPartitions());
  OpPassManager &function = manager.nest<func::FuncOp>();
  function.addPass(createVerifyCoverage());
  function.addPass(createVerifyPositions());
  function.addPass(createVerifySums());
  function.addPass(createVerifyConsumers());
  manager.addPass(createVerifyOrder());
  manager.addPass(createVerifyEquivalence());
}

void layline::registerAllDialects(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, grid::GridDialect, decoder::DecoderDialect,
                  launch::LaunchDialect, kv::ir::KVDialect>();
}

void layline::registerAllPasses() {
  registerLaylinePlacementPasses();
  registerLaylinePlanningPasses();
  registerLaylineVerificationPasses();
  registerLaylineKVVerificationPasses();
  registerLaylineLoweringPasses();
  registerLoweringPipeline();
  PassPipelineRegistration<PlacementOptions>(
      "layline-place", "Place a decoder for tensor parallelism",
      buildPlacementPipeline);
  PassPipelineRegistration<PlanningOptions>(
      "layline-plan", "Plan a placed decoder: variants, rewrites, fusion",
      buildPlanningPipeline);
  PassPipelineRegistration<>("layline-verify",
                             "Prove placed and planned programs",
                             [](OpPassManager &manager) {
                               buildVerificationPipeline(manager);
                               manager.addPass(createVerifyExact());
                             });
}
