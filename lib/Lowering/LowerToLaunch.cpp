//===- LowerToLaunch.cpp - every op becomes a step ------------------------===//
#include "VariantLowering.h"
#include "layline/Lowering/Passes.h"
#include "llvm/ADT/STLExtras.h"

namespace layline {
#define GEN_PASS_DEF_LOWERTOLAUNCH
#include "lib/Lowering/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::launch;

namespace {

struct Variant {
  func::FuncOp function;
  int64_t min, max;
};

struct LowerToLaunch : layline::impl::LowerToLaunchBase<LowerToLaunch> {
  void runOnOperation() override {
    if (failed(lower(getOperation())))
      signalPassFailure();
  }

  LogicalResult lower(ModuleOp module);
  FailureOr<SmallVector<Variant>> getVariants(ModuleOp module);
};

} // namespace

/// The functions with a token range, by their number of tokens.
FailureOr<SmallVector<Variant>> LowerToLaunch::getVariants(ModuleOp module) {
  SmallVector<Variant> variants;
  for (auto function : module.getOps<func::FuncOp>()) {
    Attribute attr = function->getAttr(kTokens);
    if (!attr)
      continue;
    auto tokens = dyn_cast<DenseI64ArrayAttr>(attr);
    if (!tokens || tokens.size() != 2)
      return function.emitOpError("has '")
             << kTokens << "' = " << attr << ", expected array<i64: min, max>";
    variants.push_back({function, tokens[0], tokens[1]});
  }
  if (variants.empty())
    return module.emitError("has no function with '")
           << kTokens << "': plan its variants first";
  llvm::sort(variants,
             [](const Variant &a, const Variant &b) { return a.min < b.min; });
  return variants;
}

/// The checkpoint's element type: that of the first weight.
static Type getModelType(func::FuncOp function) {
  Type type;
  function.walk([&](decoder::WeightOp weight) {
    type = cast<RankedTensorType>(weight.getType()).getElementType();
    return WalkResult::interrupt();
  });
  return type;
}

LogicalResult LowerToLaunch::lower(ModuleOp module) {
  FailureOr<SmallVector<Variant>> variants = getVariants(module);
  if (failed(variants))
    return failure();
  auto mesh = grid::lookupMesh(module);
  auto source =
      module->getAttrOfType<DictionaryAttr>(decoder::DecoderDialect::kSource);
  auto target = module->getAttrOfType<StringAttr>("grid.target");
  auto positions =
      source ? source.getAs<IntegerAttr>("max_positions") : IntegerAttr();
  if (!mesh || !positions || !target)
    return module.emitError("has no ")
           << (!mesh        ? "'grid.mesh'"
               : !positions ? "'decoder.source' with max_positions"
                            : "'grid.target'");
  Type dtype = getModelType(variants->front().function);
  if (!dtype)
    return variants->front().function.emitOpError("has no weights");

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  NamedAttrList facts(source);
  facts.erase("max_positions");
  auto plan = PlanOp::create(builder, module.getLoc(), "plan", target, dtype,
                             mesh.getAxes(), mesh.getSizes(),
                             facts.getDictionary(builder.getContext()),
                             builder.getArrayAttr({}), StringAttr());
  builder.setInsertionPointToEnd(&plan.getBody().emplaceBlock());
  PlanTables tables(plan);
  int64_t min = variants->front().min, max = variants->back().max;
  tables.addSymbol("tokens", min, max);
  // The longest past with which the shortest step still fits.
  tables.addSymbol("past", 0, std::max<int64_t>(0, positions.getInt() - min));
  for (auto [index, variant] : llvm::enumerate(*variants)) {
    auto op = VariantOp::create(
        builder, variant.function.getLoc(), "v" + std::to_string(index),
        variant.min, variant.max,
        variant.function->getAttrOfType<StringAttr>(kBoundaries));
    op.getBody().emplaceBlock();
    if (failed(VariantLowering(tables, op).lower(variant.function)))
      return failure();
  }
  tables.addStream("compute");
  tables.addStream("comm");
  llvm::SetVector<StringRef> features;
  if (tables.hasCaches())
    features.insert("kv_cache");
  if (tables.hasKernels())
    features.insert("fused_steps");
  if (tables.hasSegments())
    features.insert("segmented_ranges");
  if (llvm::any_of(plan.getOps<launch::WeightOp>(),
                   [](launch::WeightOp op) { return op.getPeriod(); }))
    features.insert("periodic_rows");
  if (llvm::any_of(plan.getOps<launch::WeightOp>(), [](launch::WeightOp op) {
        return op.getStoredStack() || op.getTransposed();
      }))
    features.insert("stored_layouts");
  for (auto range : plan.getOps<RangeOp>())
    if (range.getKind() == RangeKind::FirstReaders)
      features.insert("row_statistics");
  plan.walk([&](StepOp step) {
    if (step.isTopLevel())
      addFeatures(step, features);
  });
  plan.setFeaturesAttr(builder.getStrArrayAttr(features.getArrayRef()));

  // Nothing of the program is left: the plan says it all.
  for (Operation &op :
       llvm::make_early_inc_range(module.getBody()->getOperations()))
    if (isa<func::FuncOp, grid::MeshOp>(op))
      op.erase();
  module->removeAttr(decoder::DecoderDialect::kSource);
  module->removeAttr("grid.target");
  return success();
}
