//===- DataflowFaults.cpp - ops that read other values, or run elsewhere --===//
#include "FaultFinder.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;
using namespace layline::test;
namespace d = layline::decoder;

/// The op that pays the sum of this value, if there is one over several ranks.
static Operation *findSum(FaultFinder &finder, Value value) {
  Operation *op = insideOf(value).getDefiningOp();
  if (!op || !paysSum(op))
    return nullptr;
  auto axes = cast<CommEdgeOpInterface>(op).getGroupAxes();
  bool many =
      llvm::any_of(axes, [&](StringAttr a) { return finder.hasRanks(a); });
  return many ? op : nullptr;
}

void test::findNormBeforeReduce(FaultFinder &finder) {
  finder.forEach<d::NormOp>([&](d::NormOp op) {
    Value input = insideOf(op.getInput());
    SmallVector<Value, 3> read = {input};
    if (auto add = input.getDefiningOp<d::AddOp>())
      llvm::append_range(read, add->getOperands());
    for (Value value : read)
      if (Operation *sum = findSum(finder, value))
        if (Value owed = visibleAt(sum->getOperand(0), op))
          finder.addPlace([=]() mutable { op.getInputMutable().set(owed); });
  });
}

void test::findNormBeforeResidualAdd(FaultFinder &finder) {
  finder.forEach<d::NormOp>([&](d::NormOp op) {
    auto add = insideOf(op.getInput()).getDefiningOp<d::AddOp>();
    if (!add)
      return;
    for (Value addend : add->getOperands())
      if (Value value = visibleAt(addend, op))
        finder.addPlace([=]() mutable { op.getInputMutable().set(value); });
  });
}

/// Ops whose readers can take the operand in place of the result.
template <typename OpTy>
static void findLost(FaultFinder &finder, unsigned operand) {
  finder.forEach<OpTy>([&](OpTy op) {
    if (op->getOperand(operand).getType() == op.getType())
      finder.addPlace([=] { bypass(op, op->getOperand(operand)); });
  });
}

void test::findNormLost(FaultFinder &finder) {
  findLost<d::NormOp>(finder, 0);
  findLost<d::NormByOp>(finder, 0);
}
void test::findResidualLost(FaultFinder &finder) {
  findLost<d::AddOp>(finder, 0);
  findLost<d::AddOp>(finder, 1);
}
/// Queries that see one key each: it has all the weight, whatever its score.
static bool isScoreWithoutEffect(d::RopeOp op) {
  return llvm::all_of(op->getUses(), [](OpOperand &use) {
    auto attention = dyn_cast<d::AttentionOp>(use.getOwner());
    return attention && use.getOperandNumber() == 0 &&
           attention.getWindow() == std::optional<uint64_t>(1);
  });
}

void test::findRopeLost(FaultFinder &finder) {
  finder.forEach<d::RopeOp>([&](d::RopeOp op) {
    if (!isScoreWithoutEffect(op))
      finder.addPlace([=]() mutable { bypass(op, op.getInput()); });
  });
}

void test::findScaleLost(FaultFinder &finder) {
  finder.forEach<d::ScaleOp>([&](d::ScaleOp op) {
    if (op.getFactor().convertToDouble() != 1.0)
      finder.addPlace([=]() mutable { bypass(op, op.getInput()); });
  });
}

/// The residual as a value with all rows that the sum takes.
static Value gatherFor(OpBuilder &builder, Value residual, Operation *sum) {
  auto scatter = dyn_cast<ReduceScatterOp>(sum);
  if (!scatter)
    return residual;
  LayoutAttr whole =
      layoutOf(sum->getOperand(0)).withoutOwes(scatter.getAxisAttr());
  auto type = cast<RankedTensorType>(residual.getType());
  return AllGatherOp::create(builder, sum->getLoc(),
                             grid::withLayout(type, whole), residual,
                             scatter.getDimAttr(), scatter.getAxisAttr());
}

/// sum(x) + residual becomes sum(x + residual).
static void addBeforeSum(d::AddOp add, Operation *sum, Value residual,
                         bool takenForOwed) {
  OpBuilder builder(sum);
  Value owed = sum->getOperand(0);
  Value whole = gatherFor(builder, residual, sum);
  if (takenForOwed)
    whole = relabel(builder, whole, layoutOf(owed));
  sum->setOperand(
      0, d::AddOp::create(builder, add.getLoc(), owed.getType(), whole, owed));
  bypass(add, sum->getResult(0));
}

static void findAddBeforeSum(FaultFinder &finder, bool takenForOwed) {
  finder.forEach<d::AddOp>([&](d::AddOp add) {
    for (unsigned index : {0u, 1u}) {
      Operation *sum = findSum(finder, add->getOperand(index));
      Value other = add->getOperand(1 - index);
      if (sum && sum->getBlock() == add->getBlock() && visibleAt(other, sum))
        finder.addPlace([=] {
          addBeforeSum(add, sum, visibleAt(other, sum), takenForOwed);
        });
    }
  });
}

void test::findResidualOnEveryRank(FaultFinder &finder) {
  findAddBeforeSum(finder, /*takenForOwed=*/false);
}
void test::findReplicatedTakenForOwed(FaultFinder &finder) {
  findAddBeforeSum(finder, /*takenForOwed=*/true);
}

void test::findResidualOfPreviousBlock(FaultFinder &finder) {
  finder.forEach<d::AddOp>([&](d::AddOp op) {
    for (unsigned index : {0u, 1u}) {
      auto previous = insideOf(op->getOperand(index)).getDefiningOp<d::AddOp>();
      Value older = previous ? visibleAt(previous.getLhs(), op) : Value();
      if (older && older.getType() == op->getOperand(index).getType())
        finder.addPlace([=]() mutable { op->setOperand(index, older); });
    }
  });
}

void test::findBiasOnEveryRank(FaultFinder &finder) {
  finder.forEach<d::AddBiasOp>([&](d::AddBiasOp op) {
    Operation *sum = findSum(finder, op.getInput());
    if (!sum || sum->getBlock() != op->getBlock())
      return;
    finder.addPlace([=]() mutable {
      Value owed = sum->getOperand(0), bias = op.getBias();
      Operation *weight = bias.getDefiningOp();
      if (weight && weight->getBlock() == sum->getBlock())
        weight->moveBefore(sum);
      OpBuilder builder(sum);
      sum->setOperand(0, d::AddBiasOp::create(builder, op.getLoc(),
                                              owed.getType(), owed, bias));
      bypass(op, sum->getResult(0));
    });
  });
}

void test::findBiasLost(FaultFinder &finder) {
  finder.forEach<Operation *>([&](Operation *op) {
    if (auto add = dyn_cast<d::AddBiasOp>(op))
      finder.addPlace([=]() mutable { bypass(add, add.getInput()); });
    if (auto linear = dyn_cast<d::LinearOp>(op); linear && linear.getBias())
      finder.addPlace([=]() mutable { linear.getBiasMutable().clear(); });
    if (auto norm = dyn_cast<d::NormOp>(op); norm && norm.getBias())
      finder.addPlace([=]() mutable { norm.getBiasMutable().clear(); });
  });
}

template <typename OpTy>
static void findSwapped(FaultFinder &finder, unsigned a, unsigned b) {
  finder.forEach<OpTy>([&](OpTy op) {
    Value first = op->getOperand(a), second = op->getOperand(b);
    if (first != second && first.getType() == second.getType())
      finder.addPlace([=]() mutable {
        op->setOperand(a, second);
        op->setOperand(b, first);
      });
  });
}

void test::findKeysAndValuesSwapped(FaultFinder &finder) {
  findSwapped<d::AttentionOp>(finder, 1, 2);
}
void test::findGateAndUpSwapped(FaultFinder &finder) {
  findSwapped<d::GatedActivationOp>(finder, 0, 1);
  findSwapped<d::ExpertsOp>(finder, 3, 4);
}
