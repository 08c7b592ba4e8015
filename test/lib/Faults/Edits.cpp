//===- Edits.cpp - what kinds of faults do to a program -------------------===//
#include "FaultFinder.h"
#include "layline/Planning/Passes.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;
using namespace layline::test;

FaultFinder::FaultFinder(ModuleOp module) : module(module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(kVariantTokens) && !function.isExternal())
      variants.push_back(function);
}

int64_t FaultFinder::ranks(StringAttr axis) const {
  MeshOp mesh = lookupMesh(module);
  return mesh ? mesh.getAxisSize(axis).value_or(1) : 1;
}

SmallVector<StringAttr, 3> FaultFinder::axes() const {
  SmallVector<StringAttr, 3> found;
  if (MeshOp mesh = lookupMesh(module))
    for (StringAttr axis : mesh.getAxes().getAsRange<StringAttr>())
      if (hasRanks(axis))
        found.push_back(axis);
  return found;
}

Value test::relabel(OpBuilder &builder, Value value, LayoutAttr layout) {
  auto type = cast<RankedTensorType>(value.getType());
  return UnrealizedConversionCastOp::create(
             builder, value.getLoc(), grid::withLayout(type, layout), value)
      .getResult(0);
}

void test::relabelOperand(OpOperand &operand, LayoutAttr layout) {
  OpBuilder builder(operand.getOwner());
  operand.set(relabel(builder, operand.get(), layout));
}

void test::relabelResult(OpResult result, LayoutAttr layout) {
  LayoutAttr before = layoutOf(result);
  OpBuilder builder(result.getContext());
  builder.setInsertionPointAfter(result.getOwner());
  withLayout(result, layout);
  Value taken = relabel(builder, result, before);
  result.replaceAllUsesExcept(taken, taken.getDefiningOp());
}

void test::bypass(Operation *op, Value value) {
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

Value test::insideOf(Value value) {
  while (auto fused = value.getDefiningOp<FusedOp>()) {
    unsigned index = cast<OpResult>(value).getResultNumber();
    value = fused.getBody().front().getTerminator()->getOperand(index);
  }
  return value;
}

Value test::visibleAt(Value value, Operation *at) {
  Operation *producer = value.getDefiningOp();
  if (!producer)
    return value;
  if (Operation *here = producer->getBlock()->findAncestorOpInBlock(*at))
    return producer->isBeforeInBlock(here) ? value : Value();
  auto fused = dyn_cast<FusedOp>(producer->getParentOp());
  if (!fused)
    return {};
  Operation *yield = fused.getBody().front().getTerminator();
  for (auto [index, yielded] : llvm::enumerate(yield->getOperands()))
    if (yielded == value)
      return visibleAt(fused.getResult(index), at);
  return {};
}

SplitAttr test::lastLink(SplitAttr split) { return split.getChain().back(); }

SplitAttr test::withLastLink(SplitAttr split, PartitionKind kind,
                             int64_t argument) {
  SplitAttr link = SplitAttr::get(split.getLastAxis(), kind, 1, argument);
  SplitAttr before = split.withoutLast();
  return before ? before.then(link) : link.withUnit(split.getUnit());
}

bool test::isCollective(Operation *op) { return isa<CommEdgeOpInterface>(op); }

bool test::paysSum(Operation *op) {
  return isa<AllReduceOp, ReduceScatterOp, CombineOp>(op);
}

/// The layouts that the results of `op` get from its operands; empty if it may
/// not take them.
static SmallVector<LayoutAttr> inferQuietly(Operation *op) {
  SmallVector<LayoutAttr> operands, results;
  for (Type type : op->getOperandTypes()) {
    operands.push_back(getLayout(type));
    if (!operands.back())
      return {};
  }
  ScopedDiagnosticHandler quiet(op->getContext(),
                                [](Diagnostic &) { return success(); });
  if (failed(
          inferLayouts(op, operands, results, [&] { return op->emitError(); })))
    results.clear();
  return results;
}

static void settleOp(Operation *op) {
  if (auto yield = dyn_cast<YieldOp>(op)) {
    for (auto [result, value] :
         llvm::zip(yield->getParentOp()->getResults(), yield.getValues()))
      result.setType(value.getType());
    return;
  }
  if (!isa<LayoutOpInterface>(op) || op->getNumOperands() == 0)
    return;
  for (auto [result, layout] : llvm::zip(op->getResults(), inferQuietly(op)))
    withLayout(result, layout);
}

void test::settleTypes(func::FuncOp function) {
  // Inner ops come before the op that holds them: a yield before its readers.
  function.walk([](Operation *op) { settleOp(op); });
}
