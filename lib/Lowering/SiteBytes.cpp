//===- SiteBytes.cpp - what a rank sends for each site --------------------===//
#include "SiteBytes.h"

using namespace mlir;
using namespace layline;

/// Bytes of a global tensor of which dimension `dim` has `extent` elements.
static Expr getBytes(RankedTensorType tensor, unsigned dim,
                     const Expr &extent) {
  int64_t bytes = launch::getElementBytes(tensor.getElementType());
  Expr rows = 1;
  for (auto [i, size] : llvm::enumerate(tensor.getShape())) {
    if (i == dim)
      rows = rows * extent;
    else if (ShapedType::isDynamic(size))
      rows = rows * Expr::symbol("tokens");
    else
      bytes *= size;
  }
  return rows * bytes;
}

namespace {
struct Parts {
  Expr total, part;
  int64_t ranks;
};
} // namespace

/// The tensor, and the part of it that a rank holds if `dim` is split.
static FailureOr<Parts> getParts(Location loc, PlanTables &tables,
                                 RankedTensorType tensor, unsigned dim,
                                 grid::SplitAttr split) {
  int64_t size = tensor.getDimSize(dim);
  FailureOr<FlatSymbolRefAttr> range = tables.getRange(loc, split, size);
  if (failed(range))
    return failure();
  Expr extent =
      ShapedType::isDynamic(size) ? Expr::symbol("tokens") : Expr(size);
  return Parts{getBytes(tensor, dim, extent),
               getBytes(tensor, dim,
                        Expr::size(range->getValue().str()) * split.getUnit()),
               tables.getAxisSize(split.getAxis()).value_or(1)};
}

const SiteBytes::Site *SiteBytes::find(StringAttr id) const {
  auto found = byId.find(id);
  return found == byId.end() ? nullptr : &sites[found->second];
}

void SiteBytes::alias(Value result, Value value) {
  if (auto found = rowsOf.find(value); found != rowsOf.end())
    rowsOf[result] = found->second;
}

LogicalResult SiteBytes::visitSum(Operation *sum, StringAttr id,
                                  StringAttr step) {
  auto [entry, isNew] = byId.try_emplace(id, sites.size());
  if (!isNew)
    return sum->emitOpError("pays the sum of the site ")
           << id << ", which another op has paid";
  Site site{id, step, {}, {}};
  auto axes = cast<grid::CommEdgeOpInterface>(sum).getGroupAxes();
  if (axes.size() != 1) {
    site.hasBytes = false;
    sites.push_back(site);
    return success();
  }
  auto tensor = cast<RankedTensorType>(sum->getOperand(0).getType());
  auto scatter = dyn_cast<grid::ReduceScatterOp>(sum);
  unsigned dim = scatter ? scatter.getDim() : 0;
  auto split = scatter ? grid::getLayout(scatter.getType()).getDims()[dim]
                       : grid::SplitAttr::get(axes[0]);
  FailureOr<Parts> parts = getParts(sum->getLoc(), tables, tensor, dim, split);
  if (failed(parts))
    return failure();
  site.before = getWireBytes(WireCollective::AllReduce, parts->total,
                             parts->part, parts->ranks);
  site.after = scatter ? getWireBytes(WireCollective::ReduceScatter,
                                      parts->total, parts->part, parts->ranks)
                       : site.before;
  if (scatter)
    rowsOf[scatter.getResult()] = entry->second;
  sites.push_back(site);
  return success();
}

LogicalResult SiteBytes::visitGather(grid::AllGatherOp gather) {
  auto rows = rowsOf.find(gather.getInput());
  if (rows == rowsOf.end())
    return success();
  auto tensor = cast<RankedTensorType>(gather.getInput().getType());
  unsigned dim = gather.getDim();
  FailureOr<Parts> parts = getParts(gather.getLoc(), tables, tensor, dim,
                                    grid::getLayout(tensor).getDims()[dim]);
  if (failed(parts))
    return failure();
  sites[rows->second].after += getWireBytes(
      WireCollective::AllGather, parts->total, parts->part, parts->ranks);
  return success();
}

LogicalResult SiteBytes::visit(Operation *op, StringAttr step) {
  if (auto id = op->getAttrOfType<StringAttr>("site"))
    if (isa<grid::CommEdgeOpInterface>(op))
      return visitSum(op, id, step);
  if (auto gather = dyn_cast<grid::AllGatherOp>(op))
    return visitGather(gather);
  // Rows go on through whatever keeps them apart.
  std::optional<unsigned> last;
  for (Value operand : op->getOperands())
    if (auto found = rowsOf.find(operand); found != rowsOf.end())
      last = std::max(last.value_or(0), found->second);
  if (!last)
    return success();
  for (Value result : op->getResults()) {
    auto layout = grid::getLayout(result.getType());
    if (layout && !layout.getDims().empty() && layout.isSplit(0))
      rowsOf[result] = *last;
  }
  return success();
}
