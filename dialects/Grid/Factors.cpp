//===- Factors.cpp - the layout rules, from factor models -----------------===//
#include "dialects/Grid/Factors.h"
#include "dialects/Grid/Grid.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace layline::grid;

std::optional<unsigned> FactorModel::find(StringRef name) const {
  for (auto [index, factor] : llvm::enumerate(factors))
    if (factor.name == name)
      return index;
  return std::nullopt;
}

SmallVector<unsigned, 3>
layline::grid::getRowOperands(const FactorModel &model) {
  SmallVector<unsigned, 3> rows;
  for (auto [index, dims] : llvm::enumerate(model.operands))
    if (!dims.empty() && model.factors[dims[0].factor].name == kTokens)
      rows.push_back(index);
  return rows;
}

SmallVector<SplitAttr, 3> layline::grid::getDimSplits(
    ArrayRef<DimFactor> dims,
    llvm::function_ref<SplitAttr(unsigned)> splitOfFactor) {
  SmallVector<SplitAttr, 3> splits;
  for (DimFactor bound : dims) {
    SplitAttr split = splitOfFactor(bound.factor);
    splits.push_back(split ? split.withUnit(split.getUnit() * bound.unit)
                           : split);
  }
  return splits;
}

LayoutAttr layline::grid::getLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding())
                : LayoutAttr();
}

RankedTensorType layline::grid::withLayout(RankedTensorType type,
                                           LayoutAttr layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

namespace {

/// The split that the dimensions seen so far give to each factor.
class FactorSplits {
public:
  FactorSplits(const FactorModel &model, EmitError emitError)
      : model(model), emitError(emitError), states(model.factors.size()) {}

  LogicalResult addOperand(unsigned operand, LayoutAttr layout);
  /// Rules between factors: one axis splits one factor; KV heads follow their
  /// readers.
  LogicalResult finish();
  LogicalResult checkAxes(unsigned i, unsigned j);
  LogicalResult checkRouting();
  SplitAttr get(unsigned factor) const { return states[factor].split; }
  /// Items of a padded part, or 0.
  int64_t getPad(unsigned factor) const { return states[factor].pad; }

private:
  struct State {
    bool seen = false;
    unsigned operand = 0;
    SplitAttr split;
    int64_t pad = 0;
  };

  const FactorModel &model;
  EmitError emitError;
  SmallVector<State, 6> states;
};

} // namespace

static std::string describe(SplitAttr split) {
  if (!split)
    return "whole";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "split as " << Attribute(split);
  return text;
}

LogicalResult FactorSplits::addOperand(unsigned operand, LayoutAttr layout) {
  for (auto [dim, bound] : llvm::enumerate(model.operands[operand])) {
    const Factor &factor = model.factors[bound.factor];
    State &state = states[bound.factor];
    SplitAttr split = layout.getDims()[dim];
    if (split && factor.kind == FactorKind::NeedWhole)
      return emitError() << "needs dimension " << dim << " (" << factor.name
                         << ") of operand #" << operand
                         << " whole, but it is split over " << split.getAxis()
                         << "; gather it first";
    if (split && split.isRouted() &&
        (!model.routing || model.routing->rows != bound.factor))
      return emitError() << "takes rows of operand #" << operand
                         << " that were dispatched over " << split.getLastAxis()
                         << ": a rank has only those of its experts; combine "
                            "them first";
    if (split && split.getUnit() % bound.unit)
      return emitError() << "operand #" << operand << " is split in units of "
                         << split.getUnit() << " elements in dimension " << dim
                         << ", which cut items of " << bound.unit << " ("
                         << factor.name << ")";
    if (split)
      split = split.withUnit(split.getUnit() / bound.unit);
    int64_t pad = layout.getPad(dim);
    if (pad && factor.kind != FactorKind::PassThrough)
      return emitError() << (factor.kind == FactorKind::Reduction ? "sums over"
                                                                  : "needs")
                         << " dimension " << dim << " (" << factor.name
                         << ") of operand #" << operand
                         << ", whose parts are padded to " << pad
                         << " elements that have no meaning; take the padding "
                            "off first";
    if (pad % bound.unit)
      return emitError() << "operand #" << operand << " is padded to " << pad
                         << " elements in dimension " << dim
                         << ", which cut items of " << bound.unit << " ("
                         << factor.name << ")";
    pad /= bound.unit;
    if (!state.seen) {
      state = {true, operand, split, pad};
      continue;
    }
    if (state.pad != pad)
      return emitError() << "takes operands that hold '" << factor.name
                         << "' with padding and without: operand #"
                         << state.operand << " is padded to " << state.pad
                         << ", operand #" << operand << " to " << pad;
    if (state.split != split)
      return emitError() << "takes operands that hold different parts of '"
                         << factor.name << "': operand #" << state.operand
                         << " is " << describe(state.split) << ", operand #"
                         << operand << " is " << describe(split);
  }
  return success();
}

LogicalResult FactorSplits::finish() {
  for (unsigned i = 0, e = states.size(); i < e; ++i) {
    const Factor &factor = model.factors[i];
    SplitAttr split = states[i].split;
    if (factor.kind == FactorKind::ReadBy) {
      SplitAttr readers = states[factor.readers].split;
      if (!split)
        continue;
      if (!readers || readers.getKind() != PartitionKind::Block ||
          readers.getAxis() != split.getAxis() || readers.getUnit() != 1 ||
          readers.getNext() || split.getKind() != PartitionKind::Readers ||
          split.getUnit() != 1 || split.getArgument() != factor.numReaders)
        return emitError() << "'" << factor.name << "' is " << describe(split)
                           << " while '" << model.factors[factor.readers].name
                           << "' is " << describe(readers)
                           << ": a rank would not hold the KV heads that its "
                              "query heads read";
      continue;
    }
    if (split && !split.isPartition() && factor.kind == FactorKind::Reduction)
      return emitError() << "sums over '" << factor.name << "', which is "
                         << describe(split)
                         << ": items held by several ranks would count more "
                            "than once";
    for (unsigned j = i + 1; split && j < e; ++j)
      if (failed(checkAxes(i, j)))
        return failure();
  }
  return checkRouting();
}

/// Rows are where their items are: on the ranks that these are dealt out to.
LogicalResult FactorSplits::checkRouting() {
  if (!model.routing)
    return success();
  SplitAttr rows = states[model.routing->rows].split,
            items = states[model.routing->items].split;
  if (!rows || !rows.isRouted() ||
      (items && items == SplitAttr::get(rows.getLastAxis())))
    return success();
  return emitError() << "takes rows that were dispatched over "
                     << rows.getLastAxis() << " to the ranks of their '"
                     << model.factors[model.routing->items].name
                     << "', expected these split by block over it, found them "
                     << describe(items);
}

/// Two factors that are split over one axis: the ranks hold the diagonal blocks
/// of the two only.
LogicalResult FactorSplits::checkAxes(unsigned i, unsigned j) {
  SplitAttr other = states[j].split;
  if (!other || model.factors[j].kind == FactorKind::ReadBy)
    return success();
  // Rows that went to the ranks of their items meet all they have chosen.
  if (model.routing && model.routing->rows == i && model.routing->items == j &&
      states[i].split.isRouted())
    return success();
  for (SplitAttr split : states[i].split.getChain())
    if (other.isOver(split.getAxis()))
      return emitError() << "splits '" << model.factors[i].name << "' and '"
                         << model.factors[j].name << "' over one axis "
                         << split.getAxis()
                         << ": its ranks cover only the diagonal blocks of "
                            "the two";
  return success();
}

/// Which sums the results owe, and whether every operand may owe what it does.
static LogicalResult inferOwes(Operation *op, const FactorModel &model,
                               const FactorSplits &splits,
                               ArrayRef<LayoutAttr> operands,
                               SmallVectorImpl<StringAttr> &owes,
                               EmitError emitError) {
  auto linear = dyn_cast<PartialLinearOpInterface>(op);
  SmallVector<unsigned, 2> addends;
  if (linear)
    addends = linear.getAddends();
  std::optional<unsigned> owing;
  auto add = [&](StringAttr axis) {
    if (!llvm::is_contained(owes, axis))
      owes.push_back(axis);
  };
  for (auto [index, layout] : llvm::enumerate(operands)) {
    if (!layout.owesAnything())
      continue;
    if (!linear || !linear.isLinearIn(index)) {
      InFlightDiagnostic diag =
          emitError() << "takes a value that owes a sum over "
                      << layout.getOwes().front() << "; reduce it first";
      if (Operation *producer = op->getOperand(index).getDefiningOp())
        diag.attachNote(producer->getLoc()) << "the sum is owed since here";
      return diag;
    }
    // The product of two sums is not the sum of the products.
    if (owing && !llvm::is_contained(addends, index))
      return emitError() << "takes two values that owe sums (operands #"
                         << *owing << " and #" << index
                         << ") and is not linear in both at once";
    owing = index;
    for (StringAttr axis : layout.getOwes())
      add(axis);
  }
  for (auto [index, factor] : llvm::enumerate(model.factors)) {
    SplitAttr split = splits.get(index);
    if (!split)
      continue;
    for (SplitAttr link : split.getChain()) {
      if (owing && operands[*owing].owesOver(link.getAxis()))
        return emitError() << "splits '" << factor.name << "' over "
                           << link.getAxis() << ", over which operand #"
                           << *owing << " owes a sum";
      if (factor.kind == FactorKind::Reduction)
        add(link.getAxis());
    }
  }
  llvm::sort(owes, [](StringAttr a, StringAttr b) {
    return a.getValue() < b.getValue();
  });
  for (unsigned addend : addends)
    if (operands[addend].getOwes() != ArrayRef<StringAttr>(owes)) {
      SmallVector<StringAttr> missing;
      for (StringAttr axis : owes)
        if (!operands[addend].owesOver(axis))
          missing.push_back(axis);
      InFlightDiagnostic diag =
          emitError() << "adds operand #" << addend
                      << ", which owes no sum over " << missing.front()
                      << ", to a value that does: it would be added once per "
                         "rank; add it after the reduction";
      if (owing)
        if (Operation *producer = op->getOperand(*owing).getDefiningOp())
          diag.attachNote(producer->getLoc()) << "the sum is owed since here";
      return diag;
    }
  return success();
}

LogicalResult layline::grid::inferLayouts(Operation *op,
                                          ArrayRef<LayoutAttr> operands,
                                          SmallVectorImpl<LayoutAttr> &results,
                                          EmitError emitError) {
  FactorModel model;
  cast<LayoutOpInterface>(op).getFactors(model);
  FactorSplits splits(model, emitError);
  for (auto [index, layout] : llvm::enumerate(operands))
    if (failed(splits.addOperand(index, layout)))
      return failure();
  if (failed(splits.finish()))
    return failure();
  SmallVector<StringAttr> owes;
  if (failed(inferOwes(op, model, splits, operands, owes, emitError)))
    return failure();
  for (const auto &dims : model.results) {
    LayoutAttr layout = LayoutAttr::get(
        op->getContext(),
        getDimSplits(dims, [&](unsigned i) { return splits.get(i); }), owes);
    for (auto [dim, bound] : llvm::enumerate(dims))
      if (int64_t pad = splits.getPad(bound.factor))
        layout = layout.withPad(dim, pad * bound.unit);
    results.push_back(layout);
  }
  return success();
}

/// Every dimension bound to a factor has the same number of items.
static LogicalResult verifyShapes(Operation *op, const FactorModel &model) {
  struct Extent {
    int64_t items = -1;
    std::string where;
  };
  SmallVector<Extent, 6> extents(model.factors.size());
  auto check = [&](Type type, ArrayRef<DimFactor> dims,
                   const Twine &where) -> LogicalResult {
    auto tensor = cast<RankedTensorType>(type);
    if (static_cast<size_t>(tensor.getRank()) != dims.size())
      return op->emitOpError() << where.str() << " has " << tensor.getRank()
                               << " dimensions, expected " << dims.size();
    for (auto [dim, bound] : llvm::enumerate(dims)) {
      int64_t size = tensor.getDimSize(dim);
      const Factor &factor = model.factors[bound.factor];
      if (ShapedType::isDynamic(size)) {
        if (dim != 0)
          return op->emitOpError() << where.str() << " has a dynamic dimension "
                                   << dim << "; only the rows may be";
        continue;
      }
      if (bound.unit < 1 || size % bound.unit)
        return op->emitOpError()
               << where.str() << " has " << size << " elements in dimension "
               << dim << " (" << factor.name << "), expected a multiple of "
               << bound.unit;
      Extent &extent = extents[bound.factor];
      if (extent.items < 0) {
        extent = {size / bound.unit, where.str()};
      } else if (extent.items != size / bound.unit) {
        return op->emitOpError()
               << "'" << factor.name << "' is " << extent.items << " in "
               << extent.where << ", but " << size / bound.unit << " in "
               << where.str();
      }
    }
    return success();
  };
  for (auto [index, dims] : llvm::enumerate(model.operands))
    if (failed(check(op->getOperand(index).getType(), dims,
                     "operand #" + Twine(index))))
      return failure();
  for (auto [index, dims] : llvm::enumerate(model.results))
    if (failed(check(op->getResult(index).getType(), dims,
                     "result #" + Twine(index))))
      return failure();
  return success();
}

LogicalResult layline::grid::detail::verifyLayoutOp(Operation *op) {
  FactorModel model;
  cast<LayoutOpInterface>(op).getFactors(model);
  if (model.operands.size() != op->getNumOperands() ||
      model.results.size() != op->getNumResults())
    return op->emitOpError("has ")
           << op->getNumOperands() << " operands and " << op->getNumResults()
           << " results, but its factor model describes "
           << model.operands.size() << " and " << model.results.size();
  if (failed(verifyShapes(op, model)))
    return failure();

  SmallVector<LayoutAttr> operands, inferred;
  unsigned placed = 0;
  for (Type type :
       llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                llvm::to_vector(op->getResultTypes())))
    placed += static_cast<bool>(getLayout(type));
  if (placed == 0)
    return success();
  if (placed != op->getNumOperands() + op->getNumResults())
    return op->emitOpError("mixes values with and without a layout");
  for (Type type : op->getOperandTypes())
    operands.push_back(getLayout(type));
  if (failed(inferLayouts(op, operands, inferred,
                          [&] { return op->emitOpError(); })))
    return failure();
  for (auto [index, layout] : llvm::enumerate(inferred)) {
    LayoutAttr found = getLayout(op->getResult(index).getType());
    // A weight has no operands to infer from.
    if (op->getNumOperands() && found != layout)
      return op->emitOpError("result #")
             << index << " has the layout " << found
             << ", but its operands give " << layout;
  }
  return success();
}
