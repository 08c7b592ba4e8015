//===- CollectiveFaults.cpp - sums and gathers that go wrong --------------===//
#include "FaultFinder.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;
using namespace layline::test;

/// The axes of the group; empty unless several ranks take part.
static SmallVector<StringAttr, 2> groupOf(FaultFinder &finder, Operation *op) {
  auto axes = cast<CommEdgeOpInterface>(op).getGroupAxes();
  llvm::erase_if(axes, [&](StringAttr axis) { return !finder.hasRanks(axis); });
  return axes;
}

template <typename Visit>
static void forEachSum(FaultFinder &finder, Visit visit) {
  finder.forEach<Operation *>([&](Operation *op) {
    if (paysSum(op) && !groupOf(finder, op).empty())
      visit(op);
  });
}

/// Whether the addends are sums of squares of one item, a head say: the rank
/// that has it has the sum, and no other rank norms anything by it.
static bool isOfOneRank(Value addend) {
  if (auto joined = addend.getDefiningOp<decoder::ConcatColumnsOp>())
    return llvm::all_of(joined.getInputs(), isOfOneRank);
  auto squares = addend.getDefiningOp<decoder::RowSquaresOp>();
  if (!squares)
    return false;
  SplitAttr split = layoutOf(squares.getInput()).getDims()[1];
  auto type = cast<RankedTensorType>(squares.getInput().getType());
  return split && type.getDimSize(1) == split.getUnit();
}

void test::findDropReduce(FaultFinder &finder) {
  forEachSum(finder, [&](Operation *op) {
    if (!isOfOneRank(op->getOperand(0)))
      finder.addPlace([=] { bypass(op, op->getOperand(0)); });
  });
}

/// What leaves the program is a part where all was promised: no number is
/// wrong, so that this is a kind of its own.
static bool isReturned(AllGatherOp op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    return isa<func::ReturnOp>(user);
  });
}

void test::findDropGather(FaultFinder &finder) {
  finder.forEach<AllGatherOp>([&](AllGatherOp op) {
    if (!groupOf(finder, op).empty() && !isReturned(op))
      finder.addPlace([=]() mutable { bypass(op, op.getInput()); });
  });
}

void test::findOutputLeftInParts(FaultFinder &finder) {
  finder.forEach<AllGatherOp>([&](AllGatherOp op) {
    if (groupOf(finder, op).empty() || !isReturned(op))
      return;
    finder.addPlace([=]() mutable {
      auto function = op->getParentOfType<func::FuncOp>();
      bypass(op, op.getInput());
      Operation *end = function.getBody().front().getTerminator();
      function.setType(FunctionType::get(function.getContext(),
                                         function.getArgumentTypes(),
                                         end->getOperandTypes()));
    });
  });
}

/// An all_reduce over the axes of `sum`, of a value that is `layout` after it.
static Value sumUp(OpBuilder &builder, Operation *sum, Value value,
                   LayoutAttr layout) {
  SmallVector<Attribute, 2> axes;
  for (StringAttr axis : cast<CommEdgeOpInterface>(sum).getGroupAxes())
    axes.push_back(axis);
  auto type = cast<RankedTensorType>(value.getType());
  return AllReduceOp::create(
      builder, sum->getLoc(), grid::withLayout(type, layout), value,
      builder.getArrayAttr(axes), StringAttr(), StringAttr());
}

static LayoutAttr paid(Operation *sum) {
  return layoutOf(sum->getOperand(0))
      .withoutOwes(cast<CommEdgeOpInterface>(sum).getGroupAxes());
}

void test::findReduceTwice(FaultFinder &finder) {
  forEachSum(finder, [&](Operation *op) {
    finder.addPlace([=] {
      // The sum is there already when `op` takes it once more.
      OpBuilder builder(op);
      op->setOperand(0, sumUp(builder, op, op->getOperand(0), paid(op)));
    });
  });
}

void test::findDeferredSumPaidTwice(FaultFinder &finder) {
  forEachSum(finder, [&](Operation *op) {
    finder.addPlace([=] {
      OpBuilder builder(op);
      LayoutAttr owed = layoutOf(op->getOperand(0));
      Value once = sumUp(builder, op, op->getOperand(0), paid(op));
      op->setOperand(0, relabel(builder, once, owed));
    });
  });
}

void test::findDeferredSumUnpaid(FaultFinder &finder) {
  forEachSum(finder, [&](Operation *op) {
    if (isOfOneRank(op->getOperand(0)))
      return;
    finder.addPlace([=] {
      OpBuilder builder(op);
      Value addend = relabel(builder, op->getOperand(0), paid(op));
      if (auto scatter = dyn_cast<ReduceScatterOp>(op))
        addend =
            SliceOp::create(builder, op->getLoc(), scatter.getType(), addend,
                            scatter.getDimAttr(), scatter.getAxisAttr());
      bypass(op, addend);
    });
  });
}

void test::findWrongGroup(FaultFinder &finder) {
  finder.forEach<Operation *>([&](Operation *op) {
    if (!isCollective(op))
      return;
    auto group = groupOf(finder, op);
    for (StringAttr other : finder.axes()) {
      if (group.empty() || llvm::is_contained(group, other))
        continue;
      finder.addPlace([=] {
        if (auto reduce = dyn_cast<AllReduceOp>(op))
          reduce.setAxesAttr(ArrayAttr::get(op->getContext(), {other}));
        else
          op->setAttr("axis", other);
      });
    }
  });
}

void test::findWrongRoot(FaultFinder &finder) {
  finder.forEach<BroadcastOp>([&](BroadcastOp op) {
    // All copies of a value are equal, so that another rank of the group is as
    // good a root.
    int64_t ranks = finder.ranks(op.getAxisAttr());
    if (ranks > 1)
      finder.addPlace([=]() mutable { op.setRoot(ranks); });
  });
}

void test::findScatterWrongAxis(FaultFinder &finder) {
  finder.forEach<ReduceScatterOp>([&](ReduceScatterOp op) {
    if (groupOf(finder, op).empty())
      return;
    LayoutAttr in = layoutOf(op.getInput());
    auto scatter = [=](unsigned dim, StringAttr axis) mutable {
      SplitAttr before = in.getDims()[dim], block = SplitAttr::get(axis);
      LayoutAttr out = in.withoutOwes({axis, op.getAxisAttr()});
      op.setDim(dim);
      op.setAxisAttr(axis);
      withLayout(op.getResult(),
                 out.withDim(dim, before ? before.then(block) : block));
    };
    for (unsigned dim = 0; dim < in.getDims().size(); ++dim)
      if (dim != op.getDim() && !in.isSplit(dim))
        finder.addPlace([=]() mutable { scatter(dim, op.getAxisAttr()); });
    for (StringAttr axis : finder.axes())
      if (axis != op.getAxisAttr() && !in.getDimSplitBy(axis))
        finder.addPlace([=]() mutable { scatter(op.getDim(), axis); });
  });
}

void test::findGatherWrongDim(FaultFinder &finder) {
  finder.forEach<AllGatherOp>([&](AllGatherOp op) {
    LayoutAttr in = layoutOf(op.getInput());
    if (groupOf(finder, op).empty())
      return;
    for (unsigned dim = 0; dim < in.getDims().size(); ++dim)
      if (dim != op.getDim() && !in.isSplit(dim))
        finder.addPlace([=]() mutable { op.setDim(dim); });
  });
}
