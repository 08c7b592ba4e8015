//===- RowRegion.cpp - which ops are computed by rows ---------------------===//
#include "RowRegion.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;

bool layline::isRowSum(AllReduceOp reduce, StringAttr axis) {
  LayoutAttr layout = getLayout(reduce.getType());
  return reduce.getAxes().size() == 1 && reduce.getAxes()[0] == axis &&
         !layout.owesAnything();
}

bool layline::onlyMoves(Operation *op) {
  auto linear = dyn_cast<PartialLinearOpInterface>(op);
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  return linear && rowwise && linear.getAddends().empty() &&
         !rowwise.hasContraction() && op->getNumOperands() == 1;
}

SmallVector<unsigned, 3> layline::getRowsToSplit(Operation &op,
                                                 StringAttr axis) {
  if (!isa<RowwiseOpInterface>(op) || !isa<LayoutOpInterface>(op))
    return {};
  auto isFree = [&](Type type) {
    LayoutAttr layout = getLayout(type);
    return layout && !layout.getDimSplitBy(axis) && !layout.owesAnything();
  };
  if (!llvm::all_of(op.getOperandTypes(), isFree) ||
      !llvm::all_of(op.getResultTypes(), isFree))
    return {};
  FactorModel model;
  cast<LayoutOpInterface>(op).getFactors(model);
  return getRowOperands(model);
}

SplitAttr layline::splitRowsFurther(Type type, StringAttr axis) {
  SplitAttr rows = getLayout(type).getDims()[0];
  SplitAttr block = SplitAttr::get(axis);
  return rows ? rows.then(block) : block;
}

RowRegion::RowRegion(Block &block, StringAttr axis,
                     llvm::function_ref<bool(Value)> isSource) {
  // Row operands of each candidate that are sources or may come by rows.
  SmallVector<std::pair<Operation *, SmallVector<Value, 2>>> candidates;
  for (Operation &op : block) {
    SmallVector<unsigned, 3> rows = getRowsToSplit(op, axis);
    SmallVector<Value, 2> byRows;
    for (unsigned index : rows) {
      Value operand = op.getOperand(index);
      if (isSource(operand) ||
          (operand.getDefiningOp() && ops.contains(operand.getDefiningOp())))
        byRows.push_back(operand);
    }
    if (byRows.empty())
      continue;
    ops.try_emplace(&op, std::move(rows));
    candidates.emplace_back(&op, std::move(byRows));
  }
  // Take out ops that would only add gathers, until nothing changes. Backwards:
  // taking out a reader makes rows of its operands needed whole.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[op, byRows] : llvm::reverse(candidates)) {
      if (!ops.contains(op))
        continue;
      bool stays = llvm::any_of(byRows, [&](Value value) {
        return (isSource(value) || ops.contains(value.getDefiningOp())) &&
               !findReaderOfAllRows(value);
      });
      if (stays)
        continue;
      ops.erase(op);
      changed = true;
    }
  }
}

bool RowRegion::readsRows(OpOperand &use) const {
  auto entry = ops.find(use.getOwner());
  return entry != ops.end() &&
         llvm::is_contained(entry->second, use.getOperandNumber());
}

Operation *RowRegion::findReaderOfAllRows(Value value) const {
  for (OpOperand &use : value.getUses())
    if (!readsRows(use))
      return use.getOwner();
  return nullptr;
}

bool RowRegion::isUsedByRows(Value value) const {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    if (!readsRows(use))
      return false;
    Operation *op = use.getOwner();
    return !onlyMoves(op) || llvm::any_of(op->getResults(), [&](Value result) {
      return isUsedByRows(result);
    });
  });
}

bool RowRegion::isReadByRows(Value value) const {
  return llvm::any_of(value.getUses(),
                      [&](OpOperand &use) { return readsRows(use); });
}
