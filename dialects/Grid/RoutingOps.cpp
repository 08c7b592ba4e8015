//===- RoutingOps.cpp - rows that go to the ranks of their experts --------===//
#include "dialects/Grid/Grid.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace layline::grid;

static RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Both are placed and the same global tensor.
static LogicalResult checkTensor(Operation *op, Value from, Value to) {
  if (!getLayout(from.getType()) || !getLayout(to.getType()))
    return op->emitOpError("needs a layout on its operands and its results");
  if (withLayout(tensor(from), {}) == withLayout(tensor(to), {}))
    return success();
  return op->emitOpError("changes the global tensor from ")
         << withLayout(tensor(from), {}) << " to "
         << withLayout(tensor(to), {});
}

/// How the rows of a value are split, last over `axis` and so that each is on
/// one rank; null, with a diagnostic, if they are not.
static SplitAttr getOwnRows(Operation *op, Value value, StringRef what,
                            StringAttr axis) {
  LayoutAttr layout = getLayout(value.getType());
  SplitAttr rows = layout.getDims().empty() ? SplitAttr() : layout.getDims()[0];
  if (rows && rows.getLastAxis() == axis && rows.isPartition())
    return rows;
  InFlightDiagnostic diag = op->emitOpError("has ")
                            << what << " in the layout " << layout
                            << ", expected its rows split last over " << axis
                            << ", each on one rank";
  if (Operation *producer = value.getDefiningOp())
    diag.attachNote(producer->getLoc()) << "it is produced here";
  return {};
}

LogicalResult DispatchOp::verify() {
  StringAttr axis = getAxisAttr();
  auto experts = static_cast<int64_t>(getExperts());
  if (experts < 1)
    return emitOpError("sends rows to ")
           << experts << " experts, expected at least 1";
  for (auto [from, to] : llvm::zip(getOperands(), getResults()))
    if (failed(checkTensor(*this, from, to)))
      return failure();
  ArrayRef<int64_t> ids = tensor(getIds()).getShape();
  if (ids.size() != 2 || ids != tensor(getWeights()).getShape() ||
      tensor(getInput()).getRank() < 1 ||
      tensor(getInput()).getDimSize(0) != ids[0])
    return emitOpError("takes ")
           << withLayout(tensor(getIds()), {}) << " as ids and "
           << withLayout(tensor(getWeights()), {}) << " as weights of "
           << withLayout(tensor(getInput()), {})
           << ", expected as many of both for each row";
  SplitAttr rows;
  for (auto [index, operand, result] :
       llvm::enumerate(getOperands(), getResults())) {
    std::string what = "operand #" + std::to_string(index);
    SplitAttr split = getOwnRows(*this, operand, what, axis);
    if (!split)
      return failure();
    if (rows && split != rows)
      return emitOpError("has operand #0 with rows split as ")
             << rows << ", but " << what << " as " << split;
    rows = split;
    LayoutAttr layout = getLayout(operand.getType());
    SplitAttr routed = SplitAttr::get(axis, PartitionKind::Routed, 1, experts);
    if (SplitAttr outer = split.withoutLast())
      routed = outer.then(routed);
    LayoutAttr expected = layout.withDim(0, routed);
    if (LayoutAttr found = getLayout(result.getType()); found != expected)
      return emitOpError("gives result #")
             << index << " the layout " << found << ", expected " << expected;
    // What has a factor model says itself whether it takes such rows.
    for (Operation *reader : result.getUsers())
      if (!isa<LayoutOpInterface>(reader)) {
        InFlightDiagnostic diag = emitOpError("has result #")
                                  << index << " read by '" << reader->getName()
                                  << "': a rank has only the rows of its "
                                     "experts, which experts alone take";
        diag.attachNote(reader->getLoc()) << "read here";
        return diag;
      }
  }
  return success();
}

/// The dispatch that sent the rows which `value` is computed from, or null.
static DispatchOp getDispatch(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  for (Value operand : op->getOperands())
    if (auto dispatch = operand.getDefiningOp<DispatchOp>())
      return dispatch;
  return {};
}

LogicalResult CombineOp::verify() {
  StringAttr axis = getAxisAttr();
  if (failed(checkTensor(*this, getInput(), getResult())))
    return failure();
  if (!getLayout(getIds().getType()))
    return emitOpError("needs a layout on its operands and its results");
  LayoutAttr in = getLayout(getInput().getType());
  SplitAttr routed = in.getDims().empty() ? SplitAttr() : in.getDims()[0];
  if (!routed || !routed.isRouted() || routed.getLastAxis() != axis ||
      !in.owesOver(axis))
    return emitOpError("combines a value in the layout ")
           << in << ", expected rows routed over " << axis
           << " that owe a sum over it";
  SplitAttr rows = getOwnRows(*this, getIds(), "ids", axis);
  if (!rows)
    return failure();
  if (rows.withoutLast() != routed.withoutLast())
    return emitOpError("has ids with rows split as ")
           << rows << " for rows routed as " << routed;
  LayoutAttr expected = in.withoutOwes(axis).withDim(0, rows);
  if (LayoutAttr found = getLayout(getResult().getType()); found != expected)
    return emitOpError("gives the layout ")
           << found << ", expected " << expected;
  DispatchOp dispatch = getDispatch(getInput());
  if (dispatch && dispatch.getAxisAttr() == axis &&
      dispatch.getIds() == getIds())
    return success();
  InFlightDiagnostic diag =
      emitOpError("sends rows back by other ids than they were dispatched by");
  if (dispatch)
    diag.attachNote(dispatch.getLoc()) << "they are dispatched here";
  return diag;
}

SmallVector<StringAttr, 2> DispatchOp::getGroupAxes() {
  return {getAxisAttr()};
}
SmallVector<StringAttr, 2> CombineOp::getGroupAxes() { return {getAxisAttr()}; }

CollectiveKind DispatchOp::getCollectiveKind() {
  return CollectiveKind::Dispatch;
}
CollectiveKind CombineOp::getCollectiveKind() {
  return CollectiveKind::Combine;
}

Value DispatchOp::getCarriedRows() { return getInput(); }
Value CombineOp::getCarriedRows() { return getInput(); }
