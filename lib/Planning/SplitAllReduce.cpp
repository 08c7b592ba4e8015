//===- SplitAllReduce.cpp - all_reduce = reduce_scatter ; all_gather ------===//
#include "RowRegion.h"
#include "layline/Placement/Passes.h"
#include "layline/Planning/Passes.h"
#include "mlir/IR/Builders.h"

namespace layline {
#define GEN_PASS_DEF_PLANSPLITALLREDUCE
#include "lib/Planning/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::grid;

static std::string describe(Operation *op) {
  std::string text = ("'" + op->getName().getStringRef() + "'").str();
  if (StringAttr place = getPlace(op->getLoc()))
    text += " at " + place.str();
  return text;
}

namespace {
struct PlanSplitAllReduce
    : layline::impl::PlanSplitAllReduceBase<PlanSplitAllReduce> {
  using PlanSplitAllReduceBase::PlanSplitAllReduceBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto boundaries = function->getAttrOfType<StringAttr>(kVariantBoundaries);
    if (function.isExternal() || !boundaries || boundaries.getValue() != "rows")
      return;
    Block &block = function.getBody().front();
    auto axis = StringAttr::get(&getContext(), kTensorAxis);
    RowRegion region(block, axis, [&](Value value) {
      auto reduce = value.getDefiningOp<AllReduceOp>();
      return reduce && isRowSum(reduce, axis);
    });
    OpBuilder builder(&getContext());
    for (auto reduce :
         llvm::make_early_inc_range(block.getOps<AllReduceOp>())) {
      if (!isRowSum(reduce, axis)) {
        reduce.setReason("the sum is not one of rows over \"tp\" alone");
        continue;
      }
      if (!region.isReadByRows(reduce.getResult())) {
        Operation *reader = region.findReaderOfAllRows(reduce.getResult());
        reduce.setReason(reader ? describe(reader) + " needs all rows"
                                : "nothing reads the sum");
        continue;
      }
      // Two numbers a row: a gather of each would follow, for no work saved.
      if (!region.isUsedByRows(reduce.getResult())) {
        reduce.setReason("nothing is computed by rows with it");
        continue;
      }
      builder.setInsertionPoint(reduce);
      auto type = cast<RankedTensorType>(reduce.getType());
      auto rows = ReduceScatterOp::create(
          builder, reduce.getLoc(),
          withLayout(type,
                     getLayout(type).withDim(0, splitRowsFurther(type, axis))),
          reduce.getInput(), builder.getI64IntegerAttr(0), axis,
          reduce.getSiteAttr());
      auto whole = AllGatherOp::create(builder, reduce.getLoc(), type, rows,
                                       builder.getI64IntegerAttr(0), axis);
      reduce.replaceAllUsesWith(whole.getResult());
      reduce.erase();
    }
  }
};
} // namespace
