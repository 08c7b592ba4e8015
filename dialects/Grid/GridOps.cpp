//===- GridOps.cpp - verifiers and interfaces of grid ops -----------------===//
#include "dialects/Grid/Grid.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace layline::grid;

#define GET_OP_CLASSES
#include "dialects/Grid/GridOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

LogicalResult MeshOp::verify() {
  if (Block *block = (*this)->getBlock()) {
    MeshOp first = *block->getOps<MeshOp>().begin();
    if (first != *this) {
      InFlightDiagnostic diag =
          emitOpError("is a second mesh; a module has one");
      diag.attachNote(first.getLoc()) << "the first is here";
      return diag;
    }
  }
  if (getAxes().size() != getSizes().size())
    return emitOpError("names ") << getAxes().size() << " axes but gives "
                                 << getSizes().size() << " sizes";
  llvm::SmallDenseSet<StringRef, 4> seen;
  for (auto [axis, size] :
       llvm::zip(getAxes().getAsValueRange<StringAttr>(), getSizes())) {
    if (axis.empty())
      return emitOpError("has an axis without a name");
    if (!seen.insert(axis).second)
      return emitOpError("names the axis \"") << axis << "\" twice";
    if (size < 1)
      return emitOpError("axis \"")
             << axis << "\" has the size " << size << ", expected at least 1";
  }
  return success();
}

std::optional<int64_t> MeshOp::getAxisSize(StringRef axis) {
  for (auto [name, size] :
       llvm::zip(getAxes().getAsValueRange<StringAttr>(), getSizes()))
    if (name == axis)
      return size;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Collectives: one check of the type pair, the rule of each op beside it
//===----------------------------------------------------------------------===//

namespace {
struct Edge {
  RankedTensorType input, result;
  LayoutAttr in, out;
};
} // namespace

/// Operand and result are the same global tensor, both placed.
static FailureOr<Edge> getEdge(Operation *op) {
  Edge edge{cast<RankedTensorType>(op->getOperand(0).getType()),
            cast<RankedTensorType>(op->getResult(0).getType()),
            {},
            {}};
  edge.in = getLayout(edge.input);
  edge.out = getLayout(edge.result);
  if (!edge.in || !edge.out)
    return op->emitOpError("needs a layout on its operand and its result");
  if (edge.input.getShape() != edge.result.getShape() ||
      edge.input.getElementType() != edge.result.getElementType())
    return op->emitOpError("changes the global tensor from ")
           << withLayout(edge.input, {}) << " to "
           << withLayout(edge.result, {});
  return edge;
}

static LogicalResult expectLayout(Operation *op, LayoutAttr found,
                                  LayoutAttr expected) {
  if (found == expected)
    return success();
  return op->emitOpError("gives the layout ")
         << found << ", expected " << expected;
}

static LogicalResult checkDim(Operation *op, const Edge &edge, int64_t dim) {
  int64_t rank = edge.input.getRank();
  if (dim < 0 || dim >= rank)
    return op->emitOpError("works on dimension ")
           << dim << ", but the tensor has " << rank;
  if (SplitAttr split = edge.in.getDims()[dim]; split && split.isRouted())
    return op->emitOpError("works on dimension ")
           << dim << ", whose rows were dispatched over " << split.getLastAxis()
           << ": a rank has only those of its experts; combine them first";
  if (int64_t pad = edge.in.getPad(dim))
    return op->emitOpError("works on dimension ")
           << dim << ", whose parts are padded to " << pad
           << " elements; take the padding off first";
  return success();
}

/// The result splits `dim` of the operand once more, over `axis`.
static FailureOr<LayoutAttr> splitFurther(Operation *op, const Edge &edge,
                                          unsigned dim, StringAttr axis) {
  SplitAttr found = edge.out.getDims()[dim];
  SplitAttr before = edge.in.getDims()[dim];
  if (!found || found.getLastAxis() != axis)
    return op->emitOpError("must split dimension ")
           << dim << " of its result over " << axis << (before ? " last" : "");
  if (!found.isPartOf(before)) {
    InFlightDiagnostic diag = op->emitOpError("splits dimension ")
                              << dim << " of its result as " << found
                              << ", expected ";
    if (before && before.getKind() == PartitionKind::Readers)
      return diag << before.getFirstReaders() << " of what is split as "
                  << before;
    if (before)
      return diag << before << " and then over " << axis;
    return diag << "a split over " << axis << " alone";
  }
  return edge.in.withDim(dim, found);
}

static InFlightDiagnostic atProducer(InFlightDiagnostic diag, Value value,
                                     StringRef note) {
  if (Operation *producer = value.getDefiningOp())
    diag.attachNote(producer->getLoc()) << note;
  return diag;
}

/// The collective that has paid a sum over `axis` which `value` is computed
/// from, or null.
static Operation *findPayer(Value value, StringAttr axis) {
  SmallVector<Value> worklist = {value};
  DenseSet<Value> seen;
  // For a message only: a long way back is not gone.
  while (!worklist.empty() && seen.size() < 256) {
    auto result = dyn_cast<OpResult>(worklist.pop_back_val());
    if (!result || !seen.insert(result).second)
      continue;
    Operation *op = result.getOwner();
    if (auto fused = dyn_cast<FusedOp>(op)) {
      worklist.push_back(fused.getBody().front().getTerminator()->getOperand(
          result.getResultNumber()));
      continue;
    }
    auto edge = dyn_cast<CommEdgeOpInterface>(op);
    if (edge && isa<AllReduceOp, ReduceScatterOp, CombineOp>(op) &&
        llvm::is_contained(edge.getGroupAxes(), axis))
      return op;
    llvm::append_range(worklist, op->getOperands());
  }
  return nullptr;
}

/// What is not owed is not paid: most often it has been paid before.
static InFlightDiagnostic notOwed(Operation *op, StringAttr axis) {
  InFlightDiagnostic diag = op->emitOpError("sums over ")
                            << axis << ", but the value owes no sum over it";
  Value input = op->getOperand(0);
  if (Operation *payer = findPayer(input, axis)) {
    diag << ": every rank's value would count once more";
    diag.attachNote(payer->getLoc())
        << "the sum over " << axis << " is paid here";
    return diag;
  }
  return atProducer(std::move(diag), input, "the value is produced here");
}

LogicalResult AllReduceOp::verify() {
  FailureOr<Edge> edge = getEdge(*this);
  if (failed(edge))
    return failure();
  SmallVector<StringAttr, 2> axes = getGroupAxes();
  if (axes.empty())
    return emitOpError("sums over no axis");
  for (StringAttr axis : axes)
    if (!edge->in.owesOver(axis))
      return notOwed(*this, axis);
  for (SplitAttr split : edge->in.getDims())
    if (split && split.isRouted() &&
        llvm::is_contained(axes, split.getLastAxis()))
      return emitOpError("sums rows that were dispatched over ")
             << split.getLastAxis()
             << ": of those that a rank does not have it would add anything; "
                "combine them";
  LayoutAttr paid = edge->in.withoutOwes(axes);
  if (paid.owesAnything() && edge->out == paid.withoutOwes(paid.getOwes())) {
    InFlightDiagnostic diag = emitOpError("pays a sum owed over ");
    llvm::interleave(edge->in.getOwes(), diag, " and ");
    diag << " over ";
    llvm::interleave(axes, diag, " and ");
    return diag << " alone: the rest is still owed";
  }
  return expectLayout(*this, edge->out, paid);
}

LogicalResult ReduceScatterOp::verify() {
  FailureOr<Edge> edge = getEdge(*this);
  if (failed(edge) || failed(checkDim(*this, *edge, getDim())))
    return failure();
  StringAttr axis = getAxisAttr();
  unsigned dim = getDim();
  if (!edge->in.owesOver(axis))
    return notOwed(*this, axis);
  FailureOr<LayoutAttr> split = splitFurther(*this, *edge, dim, axis);
  if (failed(split))
    return failure();
  if (!split->getDims()[dim].isPartition())
    return emitOpError("scatters by '")
           << stringifyPartitionKind(split->getDims()[dim].getKind())
           << "', whose parts overlap";
  return expectLayout(*this, edge->out, split->withoutOwes(axis));
}

LogicalResult AllGatherOp::verify() {
  FailureOr<Edge> edge = getEdge(*this);
  if (failed(edge) || failed(checkDim(*this, *edge, getDim())))
    return failure();
  unsigned dim = getDim();
  SplitAttr split = edge->in.getDims()[dim];
  if (!split || !split.isOver(getAxisAttr()))
    return emitOpError("gathers dimension ")
           << dim << " over " << getAxisAttr()
           << ", but the value is not split so";
  if (split.getLastAxis() != getAxisAttr())
    return emitOpError("gathers dimension ")
           << dim << " over " << getAxisAttr() << ", but its parts are split "
           << "again over " << split.getLastAxis() << "; gather that first";
  if (edge->in.owesAnything())
    return atProducer(emitOpError("gathers a value that owes a sum over ")
                          << edge->in.getOwes().front() << "; reduce it first",
                      getInput(), "the sum is owed since here");
  return expectLayout(*this, edge->out,
                      edge->in.withDim(dim, split.withoutLast()));
}

LogicalResult BroadcastOp::verify() {
  FailureOr<Edge> edge = getEdge(*this);
  if (failed(edge))
    return failure();
  StringAttr axis = getAxisAttr();
  if (static_cast<int64_t>(getRoot()) < 0)
    return emitOpError("has the root ")
           << static_cast<int64_t>(getRoot()) << ", expected a rank";
  if (edge->in.getDimSplitBy(axis) || edge->in.owesOver(axis))
    return emitOpError("broadcasts over ")
           << axis << ", over which the value is split or owes a sum";
  return expectLayout(*this, edge->out, edge->in);
}

LogicalResult SliceOp::verify() {
  FailureOr<Edge> edge = getEdge(*this);
  if (failed(edge) || failed(checkDim(*this, *edge, getDim())))
    return failure();
  unsigned dim = getDim();
  FailureOr<LayoutAttr> split = splitFurther(*this, *edge, dim, getAxisAttr());
  if (failed(split))
    return failure();
  // A rank's part of its own addend is no part of the sum over other ranks'
  // rows.
  if (edge->in.owesOver(getAxisAttr()))
    return atProducer(emitOpError("slices a value that owes a sum over ")
                          << getAxisAttr() << "; reduce it first",
                      getInput(), "the sum is owed since here");
  return expectLayout(*this, edge->out, *split);
}

bool SliceOp::isLinearIn(unsigned) { return true; }

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

int64_t layline::grid::getLargestPart(MeshOp mesh, SplitAttr split,
                                      int64_t elements) {
  if (!split)
    return elements;
  int64_t items = elements / split.getUnit();
  for (SplitAttr link : split.getChain()) {
    std::optional<int64_t> ranks =
        mesh ? mesh.getAxisSize(link.getAxis()) : std::nullopt;
    if (!ranks)
      return -1;
    items = getLargestExtent(toPartition(link), items, *ranks);
  }
  return items * split.getUnit();
}

LogicalResult PadOp::verify() {
  FailureOr<Edge> edge = getEdge(*this);
  if (failed(edge) || failed(checkDim(*this, *edge, getDim())))
    return failure();
  unsigned dim = getDim();
  int64_t elements = getElements();
  if (dim == 0)
    return emitOpError("pads the rows: a row without a token has no position");
  if (elements < 1)
    return emitOpError("pads dimension ")
           << dim << " to " << elements << " elements, expected at least 1";
  SplitAttr split = edge->in.getDims()[dim];
  int64_t size = edge->input.getDimSize(dim);
  if (split && elements % split.getUnit())
    return emitOpError("pads dimension ")
           << dim << " to " << elements << " elements, which cut items of "
           << split.getUnit();
  if (!ShapedType::isDynamic(size))
    if (int64_t largest = getLargestPart(lookupMesh(*this), split, size);
        elements < largest)
      return emitOpError("pads dimension ")
             << dim << " to " << elements << " elements, but a rank holds "
             << largest << " of its " << size;
  return expectLayout(*this, edge->out, edge->in.withPad(dim, elements));
}

LogicalResult UnpadOp::verify() {
  FailureOr<Edge> edge = getEdge(*this);
  if (failed(edge))
    return failure();
  int64_t dim = getDim(), rank = edge->input.getRank();
  if (dim < 0 || dim >= rank)
    return emitOpError("works on dimension ")
           << dim << ", but the tensor has " << rank;
  if (!edge->in.getPad(dim))
    return emitOpError("takes the padding off dimension ")
           << dim << ", which has none";
  return expectLayout(*this, edge->out, edge->in.withPad(dim, 0));
}

bool PadOp::isLinearIn(unsigned) { return true; }
bool UnpadOp::isLinearIn(unsigned) { return true; }

SmallVector<StringAttr, 2> AllReduceOp::getGroupAxes() {
  return llvm::to_vector<2>(getAxes().getAsRange<StringAttr>());
}
SmallVector<StringAttr, 2> ReduceScatterOp::getGroupAxes() {
  return {getAxisAttr()};
}
SmallVector<StringAttr, 2> AllGatherOp::getGroupAxes() {
  return {getAxisAttr()};
}
SmallVector<StringAttr, 2> BroadcastOp::getGroupAxes() {
  return {getAxisAttr()};
}

CollectiveKind AllReduceOp::getCollectiveKind() {
  return CollectiveKind::AllReduce;
}
CollectiveKind ReduceScatterOp::getCollectiveKind() {
  return CollectiveKind::ReduceScatter;
}
CollectiveKind AllGatherOp::getCollectiveKind() {
  return CollectiveKind::AllGather;
}
CollectiveKind BroadcastOp::getCollectiveKind() {
  return CollectiveKind::Broadcast;
}

Value AllReduceOp::getCarriedRows() { return getInput(); }
Value ReduceScatterOp::getCarriedRows() { return getInput(); }
Value AllGatherOp::getCarriedRows() { return getInput(); }
Value BroadcastOp::getCarriedRows() { return getInput(); }
Value SliceOp::getCarriedRows() { return getInput(); }
Value PadOp::getCarriedRows() { return getInput(); }
Value UnpadOp::getCarriedRows() { return getInput(); }

//===----------------------------------------------------------------------===//
// Fused
//===----------------------------------------------------------------------===//

LogicalResult FusedOp::verify() {
  Block &block = getBody().front();
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getNumOperands() != getNumResults())
    return emitOpError("has ")
           << getNumResults() << " results, but " << yield.getNumOperands()
           << " values are yielded";
  for (auto [yielded, result] : llvm::zip(yield.getValues(), getOutputs()))
    if (yielded.getType() != result.getType())
      return emitOpError("yields ")
             << yielded.getType() << " as a result of type "
             << result.getType();
  if (getNumResults() == 0)
    return emitOpError("yields nothing: its work would be lost");
  if (llvm::hasSingleElement(block))
    return emitOpError("runs no op");
  for (Operation &op : block)
    if (isa<FusedOp>(op))
      return op.emitOpError("stands inside a fused region");
  return success();
}
