//===- ConsumerRouting.cpp - rows on the ranks of their experts -----------===//
#include "ConsumerStates.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;

using States = ArrayRef<std::optional<ValueState>>;

static void fail(OperandFlow &use, const Twine &problem, Operation *since) {
  if (!use.problem.empty())
    return;
  use.problem = problem.str();
  use.since = since;
}

/// How the ranks share out the rows of a value, each row on one of them; null,
/// with a problem, if they do not.
static SplitAttr getOwnRows(const ValueState &state, StringAttr axis,
                            OperandFlow &use) {
  SplitAttr rows = state.dims.empty() ? SplitAttr() : state.dims[0].split;
  if (rows && rows.getLastAxis() == axis && rows.isPartition())
    return rows;
  fail(use,
       "needs each row of {0} on one rank of \"" + axis.str() +
           "\": what several have would be sent by all of them",
       nullptr);
  return {};
}

static void flowDispatch(DispatchOp op, States operands, OpFlow &flow) {
  StringAttr axis = op.getAxisAttr();
  SplitAttr rows;
  for (auto [index, state] : llvm::enumerate(operands)) {
    OperandFlow &use = flow.operands[index];
    SplitAttr own = getOwnRows(*state, axis, use);
    if (state->owesOver(axis))
      fail(use,
           "sends each row of {0} to few ranks, but all have an addend of it",
           state->owedSince);
    if (rows && own && own != rows)
      fail(use,
           "needs the same rows of {0} as of operand #0, which are by " +
               describeSplit(rows),
           state->dims[0].narrowedBy);
    rows = rows ? rows : own;
  }
  if (flow.hasProblem())
    return;
  SplitAttr routed = SplitAttr::get(axis, PartitionKind::Routed, 1,
                                    static_cast<int64_t>(op.getExperts()));
  if (SplitAttr outer = rows.withoutLast())
    routed = outer.then(routed);
  for (auto [state, result] : llvm::zip(operands, flow.results)) {
    result = *state;
    result->dims[0].split = routed;
    result->dims[0].narrowedBy = op;
  }
}

static void flowCombine(CombineOp op, States operands, OpFlow &flow) {
  StringAttr axis = op.getAxisAttr();
  const ValueState &in = *operands[0];
  SplitAttr routed = in.dims.empty() ? SplitAttr() : in.dims[0].split;
  if (!routed || !routed.isRouted() || routed.getLastAxis() != axis)
    fail(flow.operands[0],
         "sends back the rows of {0}, which were not dispatched over \"" +
             axis.str() + "\"",
         nullptr);
  if (!in.owesOver(axis))
    fail(flow.operands[0],
         "pays a sum over \"" + axis.str() + "\" that {0} does not owe",
         in.paidBy);
  SplitAttr rows = getOwnRows(*operands[1], axis, flow.operands[1]);
  if (flow.hasProblem())
    return;
  // Where the rows came from is where they go.
  auto dispatch = dyn_cast_or_null<DispatchOp>(in.dims[0].narrowedBy);
  if (!dispatch || dispatch.getIds() != op.getIds())
    return fail(flow.operands[1],
                "sends rows back by {0}, but they were dispatched by other ids",
                dispatch);
  ValueState out = in;
  out.dims[0] = {rows, 0, op};
  llvm::erase(out.owes, axis);
  out.paidBy = op;
  flow.results[0] = std::move(out);
}

bool layline::addRoutingFlow(Operation *op, States operands, OpFlow &flow,
                             bool words) {
  auto axis = dyn_cast_or_null<StringAttr>(
      op->getInherentAttr("axis").value_or(Attribute()));
  auto dispatch = dyn_cast<DispatchOp>(op);
  auto combine = dyn_cast<CombineOp>(op);
  // The program may be one that its verifiers have not seen.
  bool isWhole =
      dispatch ? op->getNumOperands() == 3 && op->getNumResults() == 3 &&
                     op->getInherentAttr("experts").value_or(nullptr)
      : combine ? op->getNumOperands() == 2 && op->getNumResults() == 1
                : false;
  if (!isWhole || !axis)
    return false;
  for (auto [state, use] : llvm::zip(operands, flow.operands)) {
    if (!words)
      break;
    use.gets = describeState(*state, {"rows"});
    use.needs = combine && &use == &flow.operands.front()
                    ? "dispatched rows, owes \"" + axis.str() + "\""
                    : "rows by \"" + axis.str() + "\", nothing owed over it";
  }
  if (dispatch)
    flowDispatch(dispatch, operands, flow);
  else
    flowCombine(combine, operands, flow);
  return true;
}
