//===- RowFaults.cpp - rows and positions that are taken for others -------===//
#include "FaultFinder.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;
using namespace layline::test;

/// Dealing out the dimension in another order gives some rank other items.
static bool orderMatters(FaultFinder &finder, Value value, unsigned dim,
                         SplitAttr split) {
  if (!split || !finder.hasRanks(split.getLastAxis()))
    return false;
  auto type = cast<RankedTensorType>(value.getType());
  return type.isDynamicDim(dim) || type.getDimSize(dim) / split.getUnit() >
                                       finder.ranks(split.getLastAxis());
}

/// Parts that are held in blocks are gathered as if they were dealt out one by
/// one.
static void findGatheredOtherwise(FaultFinder &finder, bool rows) {
  finder.forEach<AllGatherOp>([&](AllGatherOp op) {
    unsigned dim = op.getDim();
    LayoutAttr layout = layoutOf(op.getInput());
    SplitAttr split = layout.getDims()[dim];
    if ((dim == 0) != rows ||
        !orderMatters(finder, op.getInput(), dim, split) ||
        lastLink(split).getKind() != PartitionKind::Block)
      return;
    finder.addPlace([=]() mutable {
      relabelOperand(
          op.getInputMutable(),
          layout.withDim(dim, withLastLink(split, PartitionKind::Cyclic, 1)));
    });
  });
}

void test::findSwapRanksRows(FaultFinder &finder) {
  findGatheredOtherwise(finder, /*rows=*/true);
  // What is scattered or cut out one by one is taken for blocks.
  finder.forEach<Operation *>([&](Operation *op) {
    if (!isa<ReduceScatterOp, SliceOp>(op))
      return;
    LayoutAttr layout = layoutOf(op->getResult(0));
    SplitAttr split = layout.getDims()[0];
    if (!orderMatters(finder, op->getResult(0), 0, split))
      return;
    SplitAttr other = lastLink(split).getKind() == PartitionKind::Block
                          ? withLastLink(split, PartitionKind::Cyclic, 1)
                          : withLastLink(split, PartitionKind::Block);
    finder.addPlace(
        [=] { relabelResult(op->getResult(0), layout.withDim(0, other)); });
  });
}

void test::findSwapRanksColumns(FaultFinder &finder) {
  findGatheredOtherwise(finder, /*rows=*/false);
}

void test::findGatheredInRankOrder(FaultFinder &finder) {
  finder.forEach<AllGatherOp>([&](AllGatherOp op) {
    unsigned dim = op.getDim();
    LayoutAttr layout = layoutOf(op.getInput());
    SplitAttr split = layout.getDims()[dim];
    if (!orderMatters(finder, op.getInput(), dim, split) ||
        lastLink(split).getKind() == PartitionKind::Block)
      return;
    finder.addPlace([=]() mutable {
      relabelOperand(
          op.getInputMutable(),
          layout.withDim(dim, withLastLink(split, PartitionKind::Block)));
    });
  });
}

namespace {
/// What a rank's rows are cut out for.
enum class RowUse { Rope, Mask, Other };
} // namespace

static RowUse classify(OpOperand &use) {
  if (isa<decoder::RopeOp>(use.getOwner()) && use.getOperandNumber() == 1)
    return RowUse::Rope;
  if (isa<decoder::AttentionOp>(use.getOwner()) && use.getOperandNumber() == 3)
    return RowUse::Mask;
  return RowUse::Other;
}

/// Each rank takes the first rows in place of its own: those whose number is
/// its local row number.
static void findFirstRows(FaultFinder &finder, RowUse wanted) {
  finder.forEach<SliceOp>([&](SliceOp op) {
    if (op.getDim() != 0 || !finder.hasRanks(op.getAxisAttr()))
      return;
    for (OpOperand &use : op.getResult().getUses()) {
      if (classify(use) != wanted)
        continue;
      OpOperand *at = &use;
      finder.addPlace([=]() mutable {
        OpBuilder builder(op);
        at->set(relabel(builder, op.getInput(), layoutOf(op.getResult())));
      });
    }
  });
}

void test::findLocalPosition(FaultFinder &finder) {
  findFirstRows(finder, RowUse::Rope);
}
void test::findMaskByLocalIndex(FaultFinder &finder) {
  findFirstRows(finder, RowUse::Mask);
}
void test::findRowsOfFirstRank(FaultFinder &finder) {
  findFirstRows(finder, RowUse::Other);
}

void test::findNarrowedWhileNeededWhole(FaultFinder &finder) {
  finder.forEach<AllGatherOp>([&](AllGatherOp op) {
    if (!finder.hasRanks(op.getAxisAttr()))
      return;
    finder.addPlace([=]() mutable {
      OpBuilder builder(op);
      bypass(op, relabel(builder, op.getInput(), layoutOf(op.getResult())));
    });
  });
}

/// The operand holds cached rows and those of the step: it gets the latter.
static void findWithoutHistory(FaultFinder &finder,
                               llvm::ArrayRef<unsigned> operands) {
  finder.forEach<decoder::AttentionOp>([&](decoder::AttentionOp op) {
    for (unsigned index : operands) {
      auto cache =
          insideOf(op->getOperand(index)).getDefiningOp<decoder::CacheOp>();
      if (cache && visibleAt(cache.getRows(), op))
        finder.addPlace([=]() mutable {
          op->setOperand(index, visibleAt(cache.getRows(), op));
        });
    }
  });
}

void test::findPrefixOffsetLost(FaultFinder &finder) {
  findWithoutHistory(finder, 4);
}
void test::findHistoryLost(FaultFinder &finder) {
  findWithoutHistory(finder, {1, 2});
}

void test::findResidualByRowsWholeAddend(FaultFinder &finder) {
  finder.forEach<decoder::AddOp>([&](decoder::AddOp op) {
    LayoutAttr layout = layoutOf(op.getResult());
    SplitAttr rows = layout.getDims()[0];
    if (!rows || !finder.hasRanks(rows.getLastAxis()))
      return;
    for (unsigned index : {0u, 1u})
      finder.addPlace([=]() mutable {
        OpBuilder builder(op);
        auto type = cast<RankedTensorType>(op.getType());
        Value whole = AllGatherOp::create(
            builder, op.getLoc(),
            grid::withLayout(type, layout.withDim(0, rows.withoutLast())),
            op->getOperand(index), builder.getI64IntegerAttr(0),
            rows.getLastAxis());
        op->setOperand(index, whole);
      });
  });
}
