//===- FuseBoundaries.cpp - a sum and its row-wise epilogue in one kernel -===//
#include "layline/Planning/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace layline {
#define GEN_PASS_DEF_PLANFUSEBOUNDARIES
#include "lib/Planning/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::grid;

namespace {

/// The ops of one kernel, in program order.
class Kernel {
public:
  explicit Kernel(Operation *sum) : sum(sum) {
    ops.insert(sum);
    grow();
  }
  bool hasEpilogue() const { return ops.size() > 1; }
  void outline(OpBuilder &builder);

private:
  bool canJoin(Operation *op) const;
  /// Known before the sum, or a weight that can be named there.
  bool isKnown(Value value) const;
  void grow();

  Operation *sum;
  llvm::SetVector<Operation *> ops;
};

} // namespace

bool Kernel::isKnown(Value value) const {
  Operation *producer = value.getDefiningOp();
  return !producer || producer->getNumOperands() == 0 ||
         producer->isBeforeInBlock(sum);
}

bool Kernel::canJoin(Operation *op) const {
  if (op->getBlock() != sum->getBlock() || ops.contains(op))
    return false;
  // Gathers end a kernel; row-wise ops read what stays on the rank.
  auto isInside = [&](Value value) {
    Operation *producer = value.getDefiningOp();
    return producer && ops.contains(producer) && !isa<AllGatherOp>(producer);
  };
  if (isa<AllGatherOp>(op))
    return isa<ReduceScatterOp>(sum) && isInside(op->getOperand(0));
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  if (!rowwise || rowwise.hasContraction())
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return isInside(operand) || isKnown(operand);
  });
}

void Kernel::grow() {
  // The vector grows while it is walked: readers of new members are looked at
  // in turn.
  for (size_t i = 0; i < ops.size(); ++i)
    for (Operation *user : ops[i]->getUsers())
      if (canJoin(user))
        ops.insert(user);
}

void Kernel::outline(OpBuilder &builder) {
  SmallVector<Operation *> ordered = ops.takeVector();
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::SmallPtrSet<Operation *, 8> members(ordered.begin(), ordered.end());
  SmallVector<Value> outputs;
  SmallVector<StringRef> names;
  for (Operation *op : ordered) {
    names.push_back(op->getName().stripDialect());
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !members.contains(user);
          }))
        outputs.push_back(result);
  }
  // What nothing reads is not worth a kernel.
  if (outputs.empty())
    return;
  for (Operation *op : ordered)
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (producer->getNumOperands() == 0 && !members.contains(producer) &&
            sum->isBeforeInBlock(producer))
          producer->moveBefore(sum);

  builder.setInsertionPoint(sum);
  auto fused =
      FusedOp::create(builder, sum->getLoc(), TypeRange(ValueRange(outputs)),
                      llvm::join(names, "+"));
  Block &body = fused.getBody().emplaceBlock();
  for (Operation *op : ordered)
    op->moveBefore(&body, body.end());
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, sum->getLoc(), outputs);
  for (auto [inside, outside] : llvm::zip(outputs, fused.getOutputs()))
    inside.replaceUsesWithIf(outside, [&](OpOperand &use) {
      return use.getOwner()->getBlock() != &body;
    });
}

namespace {
struct PlanFuseBoundaries
    : layline::impl::PlanFuseBoundariesBase<PlanFuseBoundaries> {
  using PlanFuseBoundariesBase::PlanFuseBoundariesBase;

  void runOnOperation() override {
    if (getOperation().isExternal() || !getOperation()->hasAttr(kVariantTokens))
      return;
    OpBuilder builder(&getContext());
    SmallVector<Operation *> sums;
    for (Operation &op : getOperation().getBody().front())
      if (isa<ReduceScatterOp, AllReduceOp>(op))
        sums.push_back(&op);
    for (Operation *sum : sums) {
      Kernel kernel(sum);
      if (kernel.hasEpilogue())
        kernel.outline(builder);
    }
  }
};
} // namespace
