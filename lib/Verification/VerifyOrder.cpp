//===- VerifyOrder.cpp - groups, and one order of collectives -------------===//
#include "dialects/Grid/Grid.h"
#include "layline/Verification/Passes.h"

namespace layline {
#define GEN_PASS_DEF_VERIFYORDER
#include "lib/Verification/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::grid;

/// Whether every rank that runs the function runs `op`, once.
static LogicalResult verifyUnconditional(Operation *op, func::FuncOp function) {
  for (Operation *inner = op; inner != function; inner = inner->getParentOp()) {
    Operation *parent = inner->getParentOp();
    if (!isa<FusedOp>(parent) && parent != function)
      return op->emitOpError("stands in a region of '")
             << parent->getName()
             << "': if some ranks skip it or repeat it, the order of "
                "collectives differs from rank to rank";
  }
  if (llvm::hasSingleElement(function.getBody()))
    return success();
  return op->emitOpError("stands in a function of several blocks: the order of "
                         "collectives may differ from rank to rank");
}

static LogicalResult verifyGroup(CommEdgeOpInterface op, MeshOp mesh) {
  SmallVector<StringAttr, 2> axes = op.getGroupAxes();
  for (auto [index, axis] : llvm::enumerate(axes)) {
    if (!mesh || !mesh.getAxisSize(axis))
      return op->emitOpError("is over ")
             << axis << ", which is no axis of the mesh";
    if (llvm::is_contained(ArrayRef(axes).take_front(index), axis))
      return op->emitOpError("names the axis ") << axis << " twice";
  }
  auto broadcast = dyn_cast<BroadcastOp>(op.getOperation());
  if (!broadcast)
    return success();
  int64_t ranks = *mesh.getAxisSize(axes.front());
  int64_t root = broadcast.getRoot();
  if (root < 0 || root >= ranks)
    return op->emitOpError("has the root ")
           << root << ", but " << axes.front() << " has " << ranks
           << (ranks == 1 ? " rank" : " ranks");
  return success();
}

/// The op that reads a value which owes a sum and can neither pay it nor owe it
/// on; null if every reader can.
static Operation *findStrictReader(Value value) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value owing = worklist.pop_back_val();
    for (OpOperand &use : owing.getUses()) {
      Operation *reader = use.getOwner();
      if (isa<YieldOp>(reader)) {
        worklist.push_back(
            reader->getParentOp()->getResult(use.getOperandNumber()));
        continue;
      }
      // Whatever pays is looked at by itself.
      if (isa<AllReduceOp, ReduceScatterOp, CombineOp>(reader))
        continue;
      auto linear = dyn_cast<PartialLinearOpInterface>(reader);
      if (!linear || !linear.isLinearIn(use.getOperandNumber()))
        return reader;
      llvm::append_range(worklist, reader->getResults());
    }
  }
  return nullptr;
}

/// A sum is paid over all axes that it is owed over.
static LogicalResult verifyPaid(Operation *op) {
  if (!isa<AllReduceOp, ReduceScatterOp, CombineOp>(op))
    return success();
  LayoutAttr in = getLayout(op->getOperand(0).getType());
  LayoutAttr out = getLayout(op->getResult(0).getType());
  SmallVector<StringAttr, 2> axes =
      cast<CommEdgeOpInterface>(op).getGroupAxes();
  if (!in || !in.withoutOwes(axes).owesAnything())
    return success();
  // Where the type of the result forgets the rest, any reader takes it as paid.
  bool isForgotten = !out || !out.owesAnything();
  Operation *reader =
      isForgotten ? nullptr : findStrictReader(op->getResult(0));
  if (!isForgotten && !reader)
    return success();
  InFlightDiagnostic diag =
      op->emitOpError("leaves a sum owed: a sum owed over ");
  llvm::interleave(in.getOwes(), diag, " and ");
  diag << " is paid over ";
  llvm::interleave(axes, diag, " and ");
  diag << " alone";
  if (reader)
    diag.attachNote(reader->getLoc())
        << "'" << reader->getName() << "' needs it paid here";
  return diag;
}

namespace {
struct VerifyOrder : layline::impl::VerifyOrderBase<VerifyOrder> {
  using VerifyOrderBase::VerifyOrderBase;

  void runOnOperation() override {
    MeshOp mesh = lookupMesh(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](CommEdgeOpInterface op) {
        if (failed(verifyUnconditional(op, function)) ||
            failed(verifyGroup(op, mesh)) || failed(verifyPaid(op)))
          signalPassFailure();
      });
    markAllAnalysesPreserved();
  }
};
} // namespace
