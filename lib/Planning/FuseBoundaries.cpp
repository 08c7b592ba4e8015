//===- FuseBoundaries.cpp - a sum and its row-wise epilogue in one kernel -===//
#include "FormAttributes.h"
#include "layline/Planning/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

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

/// Puts ops, in program order, into one fused region at the place of `at`.
/// Weights that they name move before it.
static void outlineOps(ArrayRef<Operation *> ordered, Operation *at,
                       OpBuilder &builder) {
  llvm::SmallPtrSet<Operation *, 8> members(ordered.begin(), ordered.end());
  SmallVector<Value> outputs;
  SmallVector<StringRef> names;
  for (Operation *op : ordered) {
    auto rowwise = dyn_cast<RowwiseOpInterface>(op);
    if (!rowwise || !rowwise.isView())
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
            at->isBeforeInBlock(producer))
          producer->moveBefore(at);

  builder.setInsertionPoint(at);
  auto fused =
      FusedOp::create(builder, at->getLoc(), TypeRange(ValueRange(outputs)),
                      llvm::join(names, "+"));
  Block &body = fused.getBody().emplaceBlock();
  for (Operation *op : ordered)
    op->moveBefore(&body, body.end());
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, fused.getLoc(), outputs);
  for (auto [inside, outside] : llvm::zip(outputs, fused.getOutputs()))
    inside.replaceUsesWithIf(outside, [&](OpOperand &use) {
      return use.getOwner()->getBlock() != &body;
    });
}

void Kernel::outline(OpBuilder &builder) {
  SmallVector<Operation *> ordered = ops.takeVector();
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  outlineOps(ordered, sum, builder);
}

//===----------------------------------------------------------------------===//
// Kernels that planning has chosen
//===----------------------------------------------------------------------===//

namespace {

/// Brings the ops of each kernel together: one order of all ops in which no op
/// of a kernel waits for what waits for another op of it.
class KernelOrder {
public:
  explicit KernelOrder(Block &block) : block(block) {}

  /// Sorts the block. Fails, with a diagnostic, if there is no such order.
  LogicalResult sort();
  ArrayRef<SmallVector<Operation *>> getKernels() const { return kernels; }

private:
  /// An op, or all ops of a kernel.
  struct Node {
    SmallVector<Operation *, 4> ops;
    unsigned waitsFor = 0;
    SmallVector<unsigned, 4> next;
  };

  Block &block;
  SmallVector<SmallVector<Operation *>> kernels;
};

} // namespace

LogicalResult KernelOrder::sort() {
  std::vector<Node> nodes;
  DenseMap<Operation *, unsigned> nodeOf;
  llvm::SmallDenseMap<int64_t, unsigned> nodeOfKernel;
  for (Operation &op : block.without_terminator()) {
    auto number = op.getAttrOfType<IntegerAttr>(kKernel);
    unsigned node = nodes.size();
    if (number) {
      auto [entry, isNew] = nodeOfKernel.try_emplace(number.getInt(), node);
      node = entry->second;
      if (isNew)
        nodes.emplace_back();
    } else {
      nodes.emplace_back();
    }
    nodes[node].ops.push_back(&op);
    nodeOf[&op] = node;
  }
  for (auto [index, node] : llvm::enumerate(nodes)) {
    llvm::SmallSetVector<unsigned, 4> before;
    for (Operation *op : node.ops)
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          if (unsigned other = nodeOf.lookup(producer); other != index)
            before.insert(other);
    for (unsigned other : before)
      nodes[other].next.push_back(index);
    node.waitsFor = before.size();
  }
  // As the program has it where there is a choice.
  std::set<unsigned> ready;
  for (auto [index, node] : llvm::enumerate(nodes))
    if (node.waitsFor == 0)
      ready.insert(index);
  size_t placed = 0;
  Operation *terminator = block.getTerminator();
  while (!ready.empty()) {
    unsigned index = *ready.begin();
    ready.erase(ready.begin());
    ++placed;
    for (Operation *op : nodes[index].ops)
      op->moveBefore(terminator);
    if (nodes[index].ops.front()->hasAttr(kKernel))
      kernels.emplace_back(nodes[index].ops.begin(), nodes[index].ops.end());
    for (unsigned next : nodes[index].next)
      if (--nodes[next].waitsFor == 0)
        ready.insert(next);
  }
  if (placed == nodes.size())
    return success();
  for (const Node &node : nodes)
    if (node.waitsFor && node.ops.size() > 1)
      return node.ops.front()->emitOpError(
          "is to be one kernel with others that wait for it through other ops");
  return block.getParentOp()->emitOpError("has kernels that wait for one "
                                          "another");
}

namespace {
struct PlanFuseBoundaries
    : layline::impl::PlanFuseBoundariesBase<PlanFuseBoundaries> {
  using PlanFuseBoundariesBase::PlanFuseBoundariesBase;

  void outlineChosen(Block &block, OpBuilder &builder) {
    KernelOrder order(block);
    if (failed(order.sort()))
      return signalPassFailure();
    for (ArrayRef<Operation *> kernel : order.getKernels()) {
      for (Operation *op : kernel)
        op->removeAttr(kKernel);
      if (kernel.size() > 1)
        outlineOps(kernel, kernel.front(), builder);
    }
  }

  void runOnOperation() override {
    if (getOperation().isExternal() || !getOperation()->hasAttr(kVariantTokens))
      return;
    OpBuilder builder(&getContext());
    Block &block = getOperation().getBody().front();
    if (getOperation()->removeAttr(kVariantKernels))
      return outlineChosen(block, builder);
    SmallVector<Operation *> sums;
    for (Operation &op : block)
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
