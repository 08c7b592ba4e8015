//===- PlanVariants.cpp - one program per range of token counts -----------===//
#include "layline/Planning/Passes.h"
#include "mlir/IR/Builders.h"

namespace layline {
#define GEN_PASS_DEF_PLANVARIANTS
#include "lib/Planning/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;

namespace {

struct Range {
  int64_t min, max;
  StringRef boundaries;
  std::string reason;
};

struct PlanVariants : layline::impl::PlanVariantsBase<PlanVariants> {
  using PlanVariantsBase::PlanVariantsBase;

  FailureOr<SmallVector<Range>> getRanges(ModuleOp module) {
    if (minTokens < 1 || maxTokens < minTokens)
      return module.emitError("the token range is ")
             << minTokens.getValue() << ":" << maxTokens.getValue()
             << ", expected 1 <= min <= max";
    if (boundaries == "rows")
      return SmallVector<Range>{
          {minTokens, maxTokens, "rows", "boundaries=rows was asked for"}};
    if (boundaries == "whole")
      return SmallVector<Range>{
          {minTokens, maxTokens, "whole", "boundaries=whole was asked for"}};
    if (boundaries != "auto")
      return module.emitError("boundaries are \"")
             << boundaries.getValue() << "\", expected auto, rows or whole";
    SmallVector<Range> ranges;
    std::string why = rowsFromWhy.empty() ? "" : ": " + rowsFromWhy;
    if (minTokens < rowsFrom)
      ranges.push_back(
          {minTokens, std::min<int64_t>(maxTokens, rowsFrom - 1), "whole",
           "fewer than " + std::to_string(rowsFrom) + " tokens" + why});
    if (maxTokens >= rowsFrom)
      ranges.push_back(
          {std::max<int64_t>(minTokens, rowsFrom), maxTokens, "rows",
           "at least " + std::to_string(rowsFrom) + " tokens" + why});
    return ranges;
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<Range>> ranges = getRanges(module);
    if (failed(ranges))
      return signalPassFailure();
    SmallVector<func::FuncOp> placed;
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPublic() && !function->hasAttr(kVariantTokens))
        placed.push_back(function);
    if (placed.size() != 1) {
      module.emitError("has ")
          << placed.size() << " placed programs, expected one";
      return signalPassFailure();
    }
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(placed[0]);
    for (auto [index, range] : llvm::enumerate(*ranges)) {
      auto variant = cast<func::FuncOp>(builder.clone(*placed[0]));
      variant.setSymName("v" + std::to_string(index));
      variant->setAttr(kVariantTokens,
                       builder.getDenseI64ArrayAttr({range.min, range.max}));
      variant->setAttr(kVariantBoundaries,
                       builder.getStringAttr(range.boundaries));
      variant->setAttr(kVariantReason, builder.getStringAttr(range.reason));
    }
    placed[0].setPrivate();
  }
};

} // namespace
