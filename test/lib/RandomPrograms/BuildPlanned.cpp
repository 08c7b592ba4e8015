//===- BuildPlanned.cpp - a model, placed and planned ---------------------===//
#include "RandomPrograms.h"
#include "layline/Driver/Pipelines.h"
#include "layline/Import/EmitDecoder.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace layline;
using namespace layline::test;

OwningOpRef<ModuleOp> test::buildPlanned(const DecoderConfig &config,
                                         const PlanChoice &plan,
                                         MLIRContext &context) {
  OwningOpRef<ModuleOp> module = emitDecoder(
      config, {"config.json", "sha256:" + std::string(64, '0')}, context);
  // Lowering asks for it, as the tool's compiler sets it.
  (*module)->setAttr("grid.target", StringAttr::get(&context, "cpu"));
  if (failed(placeAndPlan(*module, plan)))
    return {};
  return module;
}

LogicalResult test::placeAndPlan(ModuleOp module, const PlanChoice &plan) {
  PlacementOptions placement;
  placement.tp = plan.tp;
  placement.cp = plan.cp;
  placement.cpSplit = plan.cpSplit;
  placement.ep = plan.expertParallel ? plan.tp : 1;
  PlanningOptions planning;
  planning.maxTokens = plan.maxTokens;
  planning.boundaries = plan.boundaries;
  planning.fuse = plan.fuse;
  planning.experts = plan.experts;
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  buildPlacementPipeline(manager, placement);
  buildPlanningPipeline(manager, planning);
  return manager.run(module);
}
