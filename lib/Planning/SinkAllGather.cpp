//===- SinkAllGather.cpp - gathers move below row-wise ops ----------------===//
#include "RowRegion.h"
#include "layline/Placement/Passes.h"
#include "layline/Planning/Passes.h"
#include "mlir/IR/Builders.h"

namespace layline {
#define GEN_PASS_DEF_PLANSINKALLGATHER
#include "lib/Planning/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::grid;

static bool isRowGather(Value value, StringAttr axis) {
  auto gather = value.getDefiningOp<AllGatherOp>();
  if (!gather || gather.getDim() != 0 || gather.getAxisAttr() != axis)
    return false;
  // The rows of one region must be dealt out one way.
  return getLayout(gather.getInput().getType()).getDims()[0] ==
         splitRowsFurther(gather.getType(), axis);
}

namespace {

class Sinker {
public:
  Sinker(Block &block, StringAttr axis)
      : axis(axis),
        region(block, axis,
               [axis](Value value) { return isRowGather(value, axis); }),
        builder(axis.getContext()) {}

  /// Clones the op on rows; its result is gathered for readers that need it
  /// whole.
  LogicalResult sink(Operation *op);
  bool isInRegion(Operation *op) const { return region.contains(op); }

private:
  Value getRows(Value whole);

  StringAttr axis;
  RowRegion region;
  OpBuilder builder;
  /// The rows of a value that is held whole.
  DenseMap<Value, Value> rowsOf;
};

Value Sinker::getRows(Value whole) {
  Value &rows = rowsOf[whole];
  if (rows)
    return rows;
  if (isRowGather(whole, axis))
    return rows = whole.getDefiningOp<AllGatherOp>().getInput();
  auto type = cast<RankedTensorType>(whole.getType());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(whole);
  return rows = SliceOp::create(
             builder, whole.getLoc(),
             withLayout(type, getLayout(type).withDim(
                                  0, splitRowsFurther(type, axis))),
             whole, builder.getI64IntegerAttr(0), axis);
}

LogicalResult Sinker::sink(Operation *op) {
  FactorModel model;
  cast<LayoutOpInterface>(op).getFactors(model);
  builder.setInsertionPoint(op);
  SmallVector<LayoutAttr> operands, results;
  Operation *byRows = builder.clone(*op);
  for (unsigned index : getRowOperands(model))
    byRows->setOperand(index, getRows(op->getOperand(index)));
  for (Type type : byRows->getOperandTypes())
    operands.push_back(getLayout(type));
  if (failed(inferLayouts(byRows, operands, results,
                          [&] { return byRows->emitOpError(); })))
    return failure();
  for (auto [whole, rows, layout] :
       llvm::zip(op->getResults(), byRows->getResults(), results)) {
    rows.setType(withLayout(cast<RankedTensorType>(rows.getType()), layout));
    rowsOf[whole] = rows;
    if (!region.findReaderOfAllRows(whole))
      continue;
    auto gather = AllGatherOp::create(builder, op->getLoc(), whole.getType(),
                                      rows, builder.getI64IntegerAttr(0), axis);
    whole.replaceUsesWithIf(gather.getResult(), [&](OpOperand &use) {
      return !region.readsRows(use);
    });
  }
  return success();
}

struct PlanSinkAllGather
    : layline::impl::PlanSinkAllGatherBase<PlanSinkAllGather> {
  using PlanSinkAllGatherBase::PlanSinkAllGatherBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    Sinker sinker(block, StringAttr::get(&getContext(), kTensorAxis));
    SmallVector<Operation *> sunk;
    for (Operation &op : block)
      if (sinker.isInRegion(&op))
        sunk.push_back(&op);
    for (Operation *op : sunk)
      if (failed(sinker.sink(op)))
        return signalPassFailure();
    for (Operation *op : llvm::reverse(sunk))
      op->erase();
    for (auto gather : llvm::make_early_inc_range(block.getOps<AllGatherOp>()))
      if (gather->use_empty())
        gather.erase();
  }
};

} // namespace
