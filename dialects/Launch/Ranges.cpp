//===- Ranges.cpp - parts of tensors on the ranks of a plan ---------------===//
#include "dialects/Launch/Ranges.h"
#include "dialects/Launch/Launch.h"

using namespace mlir;
using namespace layline;
using namespace layline::launch;
using grid::PartitionKind;

std::string layline::launch::getRangeName(grid::SplitAttr split, int64_t size) {
  std::string name;
  llvm::raw_string_ostream os(name);
  int64_t items = ShapedType::isDynamic(size) ? 0 : size / split.getUnit();
  SmallVector<grid::SplitAttr, 2> chain = split.getChain();
  switch (split.getKind()) {
  case PartitionKind::Block:
    break;
  case PartitionKind::FirstReaders:
    os << "first.";
    [[fallthrough]];
  case PartitionKind::Readers:
    os << "kv" << items << "of" << split.getArgument() << "/"
       << split.getAxis().getValue();
    return name;
  default:
    os << grid::stringifyPartitionKind(split.getKind());
    if (split.getArgument())
      os << split.getArgument();
    os << ".";
  }
  if (ShapedType::isDynamic(size))
    os << "tokens";
  else
    os << "n" << items;
  os << "/" << split.getAxis().getValue();
  for (grid::SplitAttr inner : llvm::drop_begin(chain)) {
    os << "/";
    if (inner.getKind() != PartitionKind::Block)
      os << grid::stringifyPartitionKind(inner.getKind());
    if (inner.getArgument())
      os << inner.getArgument();
    if (inner.getKind() != PartitionKind::Block)
      os << ".";
    os << inner.getAxis().getValue();
  }
  return name;
}

int64_t layline::launch::getElementBytes(Type element) {
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

int64_t layline::launch::getLargestBytes(PlanOp plan, RankedTensorType tensor,
                                         int64_t tokens) {
  int64_t bytes = getElementBytes(tensor.getElementType());
  auto layout = grid::getLayout(tensor);
  for (auto [dim, size] : llvm::enumerate(tensor.getShape())) {
    int64_t whole = ShapedType::isDynamic(size) ? tokens : size;
    auto split = layout ? layout.getDims()[dim] : grid::SplitAttr();
    if (split) {
      // No part grows when there are fewer items: the largest part of the
      // largest part is the most.
      int64_t items = whole / split.getUnit();
      for (grid::SplitAttr link : split.getChain())
        items = getLargestExtent(grid::toPartition(link), items,
                                 plan.getAxisSize(link.getAxis()).value_or(1));
      whole = split.getUnit() * items;
    }
    bytes *= whole;
  }
  return bytes;
}
