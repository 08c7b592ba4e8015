//===- RoutingFaults.cpp - rows that go to the wrong experts --------------===//
#include "FaultFinder.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;
using namespace layline::test;
namespace d = layline::decoder;

/// Calls `visit` for each dispatch and an earlier one of rows of the same kind,
/// those of the layer before say.
template <typename Visit>
static void forEachPair(FaultFinder &finder, Visit visit) {
  DispatchOp last;
  finder.forEach<DispatchOp>([&](DispatchOp op) {
    if (last && last->getBlock() == op->getBlock() &&
        last.getOperandTypes() == op.getOperandTypes())
      visit(op, last);
    last = op;
  });
}

void test::findDispatchedByOtherIds(FaultFinder &finder) {
  forEachPair(finder, [&](DispatchOp op, DispatchOp other) {
    finder.addPlace(
        [=]() mutable { op.getIdsMutable().assign(other.getIds()); });
  });
}

void test::findExpertsOfOtherDispatch(FaultFinder &finder) {
  forEachPair(finder, [&](DispatchOp op, DispatchOp other) {
    finder.addPlace([=]() mutable {
      op.getRoutedIds().replaceAllUsesWith(other.getRoutedIds());
    });
  });
}

void test::findCombinedByOtherIds(FaultFinder &finder) {
  forEachPair(finder, [&](DispatchOp op, DispatchOp other) {
    for (Operation *reader : op.getIds().getUsers())
      if (auto combine = dyn_cast<CombineOp>(reader))
        finder.addPlace(
            [=]() mutable { combine.getIdsMutable().assign(other.getIds()); });
  });
}

/// The results of an op as they are after it sends rows to so many experts.
static void retype(ValueRange values, int64_t experts) {
  for (Value value : values) {
    LayoutAttr layout = layoutOf(value);
    SplitAttr split =
        withLastLink(layout.getDims()[0], PartitionKind::Routed, experts);
    withLayout(value, layout.withDim(0, split));
  }
}

void test::findDispatchedToFewerExperts(FaultFinder &finder) {
  finder.forEach<DispatchOp>([&](DispatchOp op) {
    auto experts = static_cast<int64_t>(op.getExperts()) - 1;
    if (experts < 1)
      return;
    finder.addPlace([=]() mutable {
      op.setExperts(experts);
      for (Operation *reader : op.getRouted().getUsers())
        retype(reader->getResults(), experts);
      retype(op->getResults(), experts);
    });
  });
}

void test::findCombineAsReduceScatter(FaultFinder &finder) {
  finder.forEach<CombineOp>([&](CombineOp op) {
    finder.addPlace([=]() mutable {
      OpBuilder builder(op);
      bypass(op, ReduceScatterOp::create(
                     builder, op->getLoc(), op.getResult().getType(),
                     op.getInput(), builder.getI64IntegerAttr(0),
                     op.getAxisAttr(), op.getSiteAttr()));
    });
  });
}

/// Rows are sent to ranks that have other experts: all stacks are those of the
/// rank before.
void test::findExpertsShifted(FaultFinder &finder) {
  finder.forEach<d::ExpertsOp>([&](d::ExpertsOp op) {
    LayoutAttr layout = layoutOf(op.getGate());
    SplitAttr split = layout ? layout.getDims()[0] : SplitAttr();
    if (!split || split.getNext() || split.getKind() != PartitionKind::Block ||
        !finder.hasRanks(split.getAxis()))
      return;
    int64_t experts =
        cast<RankedTensorType>(op.getGate().getType()).getDimSize(0);
    int64_t ranks = finder.ranks(split.getAxis());
    finder.addPlace([=]() mutable {
      SmallVector<int64_t> owners;
      for (int64_t rank = 0; rank < ranks; ++rank)
        owners.append(getExtent(Partition::block(), experts, ranks, rank),
                      (rank + ranks - 1) % ranks);
      auto shifted =
          SplitAttr::get(op.getContext(), split.getAxis(), PartitionKind::Owner,
                         1, 0, owners, Attribute());
      for (Value stack : op->getOperands().drop_front(3))
        relabelResult(cast<OpResult>(stack),
                      layoutOf(stack).withDim(0, shifted));
    });
  });
}
