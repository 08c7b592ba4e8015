//===- WeightFaults.cpp - weights and heads of somebody else --------------===//
#include "FaultFinder.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;
using namespace layline::test;
namespace d = layline::decoder;

/// The dimension that some axis of several ranks splits in blocks of its own.
static std::optional<unsigned> findBlocks(FaultFinder &finder, Value value) {
  LayoutAttr layout = layoutOf(value);
  for (unsigned dim = 0; layout && dim < layout.getDims().size(); ++dim)
    if (SplitAttr split = layout.getDims()[dim];
        split && !split.getNext() && split.getKind() == PartitionKind::Block &&
        finder.hasRanks(split.getAxis()))
      return dim;
  return std::nullopt;
}

/// The same blocks, each held by the rank before its own.
static SplitAttr rotate(SplitAttr split, int64_t items, int64_t ranks) {
  SmallVector<int64_t> owners;
  for (int64_t rank = 0; rank < ranks; ++rank)
    owners.append(items / ranks + (rank < items % ranks),
                  (rank + ranks - 1) % ranks);
  return SplitAttr::get(split.getContext(), split.getAxis(),
                        PartitionKind::Owner, split.getUnit(), 0, owners,
                        Attribute());
}

void test::findNeighbourWeightSlice(FaultFinder &finder) {
  finder.forEach<d::WeightOp>([&](d::WeightOp op) {
    std::optional<unsigned> dim = findBlocks(finder, op.getResult());
    if (!dim)
      return;
    LayoutAttr layout = layoutOf(op.getResult());
    SplitAttr split = layout.getDims()[*dim];
    int64_t items =
        cast<RankedTensorType>(op.getType()).getDimSize(*dim) / split.getUnit();
    int64_t ranks = finder.ranks(split.getAxis());
    finder.addPlace([=]() mutable {
      relabelResult(cast<OpResult>(op.getResult()),
                    layout.withDim(*dim, rotate(split, items, ranks)));
    });
  });
}

void test::findFusedQkvSlice(FaultFinder &finder) {
  finder.forEach<d::WeightOp>([&](d::WeightOp op) {
    auto rows = op.getRows();
    if (!rows || (*rows)[0] < (*rows)[1] - (*rows)[0])
      return;
    int64_t size = (*rows)[1] - (*rows)[0], begin = (*rows)[0] - size;
    finder.addPlace([=]() mutable {
      op.setRows(SmallVector<int64_t>{begin, begin + size});
    });
  });
}

void test::findPeriodicRowsTakenStacked(FaultFinder &finder) {
  finder.forEach<d::WeightOp>([&](d::WeightOp op) {
    if (!op.getPeriod())
      return;
    int64_t periods = op.getStoredShape()[0] / int64_t(*op.getPeriod());
    // Of one period the two are the same.
    if (periods > 1)
      finder.addPlace([=]() mutable {
        ArrayRef<int64_t> rows = *op.getRows();
        op.setRows(SmallVector<int64_t>{rows[0] * periods, rows[1] * periods});
        op.removePeriodAttr();
      });
  });
}

static bool isSameTensor(d::WeightOp a, d::WeightOp b) {
  return a.getKey() == b.getKey() && a.getRowsAttr() == b.getRowsAttr();
}

void test::findWrongWeight(FaultFinder &finder) {
  SmallVector<d::WeightOp> weights;
  finder.forEach<d::WeightOp>([&](d::WeightOp op) { weights.push_back(op); });
  for (auto [index, op] : llvm::enumerate(weights))
    // The next one of the same shape: K for V, gate for up.
    for (d::WeightOp other : ArrayRef(weights).drop_front(index + 1)) {
      if (other.getType() != op.getType() ||
          other->getBlock() != op->getBlock() || isSameTensor(op, other))
        continue;
      finder.addPlace([op = op, other]() mutable {
        op->setAttrs(other->getAttrDictionary());
      });
      break;
    }
}

/// The key with the layer's number replaced; empty if it has none.
static std::string keyOfLayer(StringRef key, int64_t &layer, int64_t other) {
  auto [before, after] = key.split("layers.");
  auto [number, rest] = after.split('.');
  if (number.getAsInteger(10, layer))
    return {};
  return (before + "layers." + Twine(other) + "." + rest).str();
}

void test::findWrongLayersWeight(FaultFinder &finder) {
  llvm::StringMap<bool> keys;
  finder.forEach<d::WeightOp>([&](d::WeightOp op) { keys[op.getKey()]; });
  finder.forEach<d::WeightOp>([&](d::WeightOp op) {
    int64_t layer = 0;
    if (keyOfLayer(op.getKey(), layer, 0).empty())
      return;
    for (int64_t other : {layer - 1, layer + 1}) {
      std::string key = keyOfLayer(op.getKey(), layer, other);
      if (!keys.contains(key))
        continue;
      finder.addPlace([=]() mutable { op.setKey(key); });
      break;
    }
  });
}

/// Weights of KV heads that a rank has because its query heads read them.
template <typename Visit>
static void forEachKvWeight(FaultFinder &finder, Visit visit) {
  finder.forEach<d::WeightOp>([&](d::WeightOp op) {
    LayoutAttr layout = layoutOf(op.getResult());
    SplitAttr split = layout ? layout.getDims()[0] : SplitAttr();
    if (!split || split.getKind() != PartitionKind::Readers)
      return;
    int64_t heads =
        cast<RankedTensorType>(op.getType()).getDimSize(0) / split.getUnit();
    visit(op, layout, heads, finder.ranks(split.getAxis()));
  });
}

void test::findKvHeadModulo(FaultFinder &finder) {
  forEachKvWeight(finder, [&](d::WeightOp op, LayoutAttr layout, int64_t heads,
                              int64_t ranks) {
    // With one head a rank, or none, the two agree or have no layout.
    if (ranks < 2 || heads <= ranks)
      return;
    SplitAttr split = layout.getDims()[0];
    SplitAttr cyclic = SplitAttr::get(split.getAxis(), PartitionKind::Cyclic,
                                      split.getUnit(), 1);
    finder.addPlace([=]() mutable {
      relabelResult(cast<OpResult>(op.getResult()), layout.withDim(0, cyclic));
    });
  });
}

void test::findKvHeadOfFirstRank(FaultFinder &finder) {
  forEachKvWeight(finder, [&](d::WeightOp op, LayoutAttr layout, int64_t heads,
                              int64_t ranks) {
    if (ranks > 1 && heads > 1)
      finder.addPlace([=]() mutable {
        relabelResult(cast<OpResult>(op.getResult()),
                      layout.withDim(0, SplitAttr()));
      });
  });
}
