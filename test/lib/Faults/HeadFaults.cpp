//===- HeadFaults.cpp - heads held twice, padding, scales of other rows ---===//
#include "FaultFinder.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;
using namespace layline::test;
namespace d = layline::decoder;

/// The local data of `value` taken for that of a tensor whose dimension `dim`
/// has another size.
static Value resize(OpBuilder &builder, Value value, unsigned dim, int64_t size,
                    LayoutAttr layout) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  auto other = RankedTensorType::get(shape, type.getElementType(), layout);
  return UnrealizedConversionCastOp::create(builder, value.getLoc(), other,
                                            value)
      .getResult(0);
}

/// What every rank holds is gathered as a part of its own, h0 h0 h1 h1, and the
/// front of that is taken for all heads.
static void countTwice(AllGatherOp op, int64_t ranks) {
  OpBuilder builder(op);
  unsigned dim = op.getDim();
  LayoutAttr in = layoutOf(op.getInput()), out = layoutOf(op.getResult());
  int64_t unit = in.getDims()[dim].getUnit();
  SplitAttr block =
      SplitAttr::get(op.getAxisAttr(), PartitionKind::Block, unit, 0);
  Value parts =
      resize(builder, op.getInput(), dim, ranks * unit, in.withDim(dim, block));
  auto type = cast<RankedTensorType>(parts.getType());
  Value all =
      AllGatherOp::create(builder, op.getLoc(), grid::withLayout(type, out),
                          parts, op.getDimAttr(), op.getAxisAttr());
  int64_t size = cast<RankedTensorType>(op.getType()).getDimSize(dim);
  bypass(op, resize(builder, all, dim, size, out));
}

void test::findReplicatedHeadCountedTwice(FaultFinder &finder) {
  finder.forEach<AllGatherOp>([&](AllGatherOp op) {
    unsigned dim = op.getDim();
    SplitAttr split = layoutOf(op.getInput()).getDims()[dim];
    int64_t ranks = finder.ranks(op.getAxisAttr());
    if (!split || split.getKind() != PartitionKind::Readers)
      return;
    int64_t heads =
        cast<RankedTensorType>(op.getType()).getDimSize(dim) / split.getUnit();
    // Every rank has one head: some have the same.
    if (heads < ranks && ranks % heads == 0)
      finder.addPlace([=] { countTwice(op, ranks); });
  });
}

/// Whether some rank reads a KV head that a lower one reads too.
static bool areShared(SplitAttr readers, int64_t heads, int64_t ranks) {
  int64_t held = 0;
  for (int64_t rank = 0; rank < ranks; ++rank)
    held += getExtent(toPartition(readers), heads, ranks, rank);
  return held > heads;
}

void test::findStatisticsOfAllReaders(FaultFinder &finder) {
  finder.forEach<d::RowSquaresOp>([&](d::RowSquaresOp op) {
    auto slice = op.getInput().getDefiningOp<SliceOp>();
    SplitAttr split =
        slice ? layoutOf(slice.getInput()).getDims()[1] : SplitAttr();
    if (!split || split.getKind() != PartitionKind::Readers)
      return;
    int64_t heads =
        cast<RankedTensorType>(op.getInput().getType()).getDimSize(1) /
        split.getUnit();
    if (areShared(split, heads, finder.ranks(split.getAxis())))
      finder.addPlace([=]() mutable { bypass(slice, slice.getInput()); });
  });
}

/// An op that sums over what lies in a row: a product, or a norm that is not
/// taken of each head by itself.
static bool mixesHeads(Operation *op) {
  if (auto norm = dyn_cast<d::NormOp>(op))
    return cast<RankedTensorType>(norm.getInput().getType()).getRank() == 2;
  return isa<d::LinearOp>(op);
}

/// Whether such an op reads the heads as this rank holds them.
static bool areHeadsMixed(Value heads) {
  return llvm::any_of(heads.getUsers(), [](Operation *user) {
    if (isa<d::NormOp, d::RopeOp, d::MergeHeadsOp>(user) && !mixesHeads(user))
      return areHeadsMixed(user->getResult(0));
    return mixesHeads(user);
  });
}

void test::findPaddedHeadInNorm(FaultFinder &finder) {
  finder.forEach<UnpadOp>([&](UnpadOp op) {
    if (areHeadsMixed(op.getResult()))
      finder.addPlace([=]() mutable { bypass(op, op.getInput()); });
  });
}

/// The column of scales in another order, its layout as before.
static Value shuffle(OpBuilder &builder, Value scales) {
  LayoutAttr layout = layoutOf(scales);
  SplitAttr rows = layout.getDims()[0];
  auto type = cast<RankedTensorType>(scales.getType());
  auto dim = builder.getI64IntegerAttr(0);
  Value dealt =
      relabel(builder, scales,
              layout.withDim(0, withLastLink(rows, PartitionKind::Cyclic, 1)));
  Value all = AllGatherOp::create(
      builder, scales.getLoc(),
      grid::withLayout(type, layout.withDim(0, rows.withoutLast())), dealt, dim,
      rows.getLastAxis());
  return SliceOp::create(builder, scales.getLoc(), type, all, dim,
                         rows.getLastAxis());
}

/// Rows of scales that are not dealt out one by one anyway.
static bool haveOrder(FaultFinder &finder, Value scales) {
  LayoutAttr layout = layoutOf(scales);
  SplitAttr rows = layout ? layout.getDims()[0] : SplitAttr();
  return rows && finder.hasRanks(rows.getLastAxis()) &&
         lastLink(rows).getKind() != PartitionKind::Cyclic;
}

void test::findQuantizeScaleOfOtherRow(FaultFinder &finder) {
  finder.forEach<d::DequantizeOp>([&](d::DequantizeOp op) {
    if (haveOrder(finder, op.getScales()))
      finder.addPlace([=]() mutable {
        OpBuilder builder(op);
        op.getScalesMutable().set(shuffle(builder, op.getScales()));
      });
    auto gather = insideOf(op.getScales()).getDefiningOp<AllGatherOp>();
    if (gather && haveOrder(finder, gather.getInput()))
      finder.addPlace([=]() mutable {
        OpBuilder builder(gather);
        gather.getInputMutable().set(shuffle(builder, gather.getInput()));
      });
  });
}
