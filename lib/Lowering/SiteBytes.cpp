//===- SiteBytes.cpp - what a rank sends for each site --------------------===//
#include "SiteBytes.h"
#include "dialects/Decoder/Routers.h"
#include "layline/Cost/Routing.h"
#include <cmath>

using namespace mlir;
using namespace layline;

/// Elements of a dimension that a rank holds if it is split so (null: whole).
static FailureOr<Expr> getExtent(Location loc, PlanTables &tables, int64_t size,
                                 grid::SplitAttr split) {
  if (!split)
    return ShapedType::isDynamic(size) ? Expr::symbol("tokens") : Expr(size);
  FailureOr<FlatSymbolRefAttr> range = tables.getRange(loc, split, size);
  if (failed(range))
    return failure();
  return Expr::size(range->getValue().str()) * Expr(split.getUnit());
}

/// Bytes of a tensor on a rank, of which dimension `dim` is split so.
static FailureOr<Expr> getBytes(Location loc, PlanTables &tables,
                                RankedTensorType tensor, unsigned dim,
                                grid::SplitAttr split) {
  int64_t bytes = launch::getElementBytes(tensor.getElementType());
  grid::LayoutAttr layout = grid::getLayout(tensor).withDim(dim, split);
  Expr product = 1;
  for (auto [i, size] : llvm::enumerate(tensor.getShape())) {
    FailureOr<Expr> extent = getExtent(loc, tables, size, layout.getDims()[i]);
    if (failed(extent))
      return failure();
    if (extent->isConstant())
      bytes *= extent->constant();
    else
      product = product * *extent;
  }
  return product * Expr(bytes);
}

namespace {
struct Parts {
  Expr total, part;
  int64_t ranks;
};
} // namespace

/// What the ranks of the last split's axis hold together, and what one of them
/// does.
static FailureOr<Parts> getParts(Location loc, PlanTables &tables,
                                 RankedTensorType tensor, unsigned dim,
                                 grid::SplitAttr split) {
  FailureOr<Expr> total =
      getBytes(loc, tables, tensor, dim, split.withoutLast());
  FailureOr<Expr> part = getBytes(loc, tables, tensor, dim, split);
  if (failed(total) || failed(part))
    return failure();
  return Parts{*total, *part,
               tables.getAxisSize(split.getLastAxis()).value_or(1)};
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
  if (!isNew && sites[entry->second].combines &&
      isa<grid::ReduceScatterOp>(sum))
    return addBeside(sum, sites[entry->second]);
  if (!isNew)
    return sum->emitOpError("pays the sum of the site ")
           << id << ", which another op has paid";
  Site site{id, step, {}, {}, {}};
  auto axes = cast<grid::CommEdgeOpInterface>(sum).getGroupAxes();
  if (axes.size() != 1) {
    site.hasBytes = false;
    sites.push_back(site);
    return success();
  }
  auto tensor = cast<RankedTensorType>(sum->getOperand(0).getType());
  auto scatter = dyn_cast<grid::ReduceScatterOp>(sum);
  unsigned dim = scatter ? scatter.getDim() : 0;
  grid::SplitAttr split;
  if (scatter) {
    split = grid::getLayout(scatter.getType()).getDims()[dim];
  } else {
    // Blocks of the rows, as a reduction in parts would have them.
    split = grid::SplitAttr::get(axes[0]);
    if (grid::SplitAttr rows = grid::getLayout(tensor).getDims()[dim])
      split = rows.then(split);
  }
  FailureOr<Parts> parts = getParts(sum->getLoc(), tables, tensor, dim, split);
  if (failed(parts))
    return failure();
  WireBytes reduced = getWireBytes(WireCollective::AllReduce, parts->total,
                                   parts->part, parts->ranks);
  // Sums that are paid together were paid one by one before.
  for (int64_t i = 0, e = 1 + id.getValue().count('+'); i < e; ++i)
    site.before += reduced;
  site.after = scatter ? getWireBytes(WireCollective::ReduceScatter,
                                      parts->total, parts->part, parts->ranks)
                       : reduced;
  if (scatter) {
    site.axis = scatter.getAxisAttr();
    rowsOf[scatter.getResult()] = entry->second;
  }
  sites.push_back(site);
  return success();
}

/// Rows that are added to what comes back from experts.
LogicalResult SiteBytes::addBeside(Operation *sum, Site &site) {
  auto scatter = cast<grid::ReduceScatterOp>(sum);
  auto tensor = cast<RankedTensorType>(scatter.getInput().getType());
  unsigned dim = scatter.getDim();
  FailureOr<Parts> parts =
      getParts(sum->getLoc(), tables, tensor, dim,
               grid::getLayout(scatter.getType()).getDims()[dim]);
  if (failed(parts))
    return failure();
  site.after += getWireBytes(WireCollective::ReduceScatter, parts->total,
                             parts->part, parts->ranks);
  return success();
}

static int64_t getRowBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t bytes = launch::getElementBytes(tensor.getElementType());
  for (int64_t size : tensor.getShape().drop_front())
    bytes *= size;
  return bytes;
}

/// Out and back: which rows is only known at run time, so the bytes are those
/// expected of uniform routing.
LogicalResult SiteBytes::visitCombine(grid::CombineOp combine, StringAttr id,
                                      StringAttr step) {
  auto tensor = cast<RankedTensorType>(combine.getResult().getType());
  FailureOr<Parts> parts = getParts(combine.getLoc(), tables, tensor, 0,
                                    grid::getLayout(tensor).getDims()[0]);
  if (failed(parts))
    return failure();
  grid::SplitAttr routed =
      grid::getLayout(combine.getInput().getType()).getDims()[0];
  RoutingShape shape{
      routed.getChain().back().getArgument(),
      cast<RankedTensorType>(combine.getIds().getType()).getDimSize(1)};
  if (decoder::RouterOp router = decoder::findRouter(combine.getIds())) {
    shape.groups = router.getGroups().value_or(0);
    shape.chosenGroups = router.getChosenGroups().value_or(0);
  }
  // Of the ranks that a row goes to its own is one in P.
  double others = getExpectedHits(shape, parts->ranks) *
                  static_cast<double>(parts->ranks - 1) /
                  static_cast<double>(parts->ranks);
  int64_t rowBytes =
      getRowBytes(tensor) + getRowBytes(combine.getIds().getType());
  if (Operation *experts = combine.getInput().getDefiningOp())
    for (Value operand : experts->getOperands())
      if (auto dispatch = operand.getDefiningOp<grid::DispatchOp>())
        rowBytes = getRowBytes(tensor) +
                   getRowBytes(dispatch.getInput().getType()) +
                   getRowBytes(dispatch.getIds().getType()) +
                   getRowBytes(dispatch.getWeights().getType());
  FailureOr<Expr> rows =
      ::getExtent(combine.getLoc(), tables, tensor.getDimSize(0),
                  grid::getLayout(tensor).getDims()[0]);
  if (failed(rows))
    return failure();
  Expr sent =
      *rows * Expr(std::llround(others * static_cast<double>(rowBytes)));
  auto [entry, isNew] = byId.try_emplace(id, sites.size());
  if (isNew)
    sites.push_back({id, step, combine.getAxisAttr(), {}, {}});
  Site &site = sites[entry->second];
  // A part of the same sum may have been scattered before.
  site.step = step;
  site.combines = true;
  site.axis = combine.getAxisAttr();
  site.before = getWireBytes(WireCollective::AllReduce, parts->total,
                             parts->part, parts->ranks);
  site.after += WireBytes{sent, sent};
  rowsOf[combine.getResult()] = entry->second;
  return success();
}

LogicalResult SiteBytes::visitGather(grid::AllGatherOp gather) {
  auto rows = rowsOf.find(gather.getInput());
  // Gathers over other axes are there with and without a rewrite.
  if (rows == rowsOf.end() || sites[rows->second].axis != gather.getAxisAttr())
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
  if (auto id = op->getAttrOfType<StringAttr>("site")) {
    if (auto combine = dyn_cast<grid::CombineOp>(op))
      return visitCombine(combine, id, step);
    if (isa<grid::CommEdgeOpInterface>(op))
      return visitSum(op, id, step);
  }
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
    if (layout && !layout.getDims().empty() && layout.isSplit(0) &&
        layout.getDims()[0].isOver(sites[*last].axis))
      rowsOf[result] = *last;
  }
  return success();
}
