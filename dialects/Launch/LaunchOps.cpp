//===- LaunchOps.cpp - verifiers of a plan and its parts ------------------===//
#include "dialects/Launch/Launch.h"
#include "dialects/Launch/NumberSyntax.h"
#include "dialects/Launch/StepSyntax.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace layline::launch;
using layline::grid::getLayout;

#define GET_OP_CLASSES
#include "dialects/Launch/LaunchOps.cpp.inc"

/// Two ops of one class must not share a name.
static LogicalResult checkUnique(Operation *op, StringRef what, StringRef id,
                                 llvm::StringMap<Operation *> &seen) {
  auto [entry, isNew] = seen.try_emplace(id, op);
  if (isNew)
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << what << " \"" << id << "\" is defined twice";
  diag.attachNote(entry->second->getLoc()) << "the first one is here";
  return diag;
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

std::optional<int64_t> PlanOp::getAxisSize(StringRef axis) {
  for (auto [name, size] :
       llvm::zip(getAxes().getAsValueRange<StringAttr>(), getSizes()))
    if (name == axis)
      return size;
  return std::nullopt;
}

LogicalResult PlanOp::verifyRegions() {
  if (getAxes().size() != getSizes().size())
    return emitOpError("names ") << getAxes().size() << " axes but gives "
                                 << getSizes().size() << " sizes";
  if (!isa<FloatType>(getDtype()))
    return emitOpError("has the dtype ")
           << getDtype() << ", expected a floating-point type";
  llvm::StringMap<Operation *> inputs, symbols;
  for (auto input : getOps<InputOp>())
    if (failed(checkUnique(input, "the input", input.getId(), inputs)))
      return failure();
  for (auto symbol : getOps<SymbolOp>())
    if (failed(checkUnique(symbol, "the symbol", symbol.getId(), symbols)))
      return failure();
  VariantOp previous;
  for (auto variant : getOps<VariantOp>()) {
    int64_t min = variant.getMinTokens();
    if (previous && min != static_cast<int64_t>(previous.getMaxTokens()) + 1) {
      InFlightDiagnostic diag = variant.emitOpError("begins at ")
                                << min << " tokens, expected "
                                << previous.getMaxTokens() + 1;
      diag.attachNote(previous.getLoc()) << "the variant before ends here";
      return diag;
    }
    previous = variant;
  }
  return success();
}

LogicalResult SymbolOp::verify() {
  int64_t min = getMin(), max = getMax();
  if (min < 0 || min > max)
    return emitOpError("\"") << getId() << "\" has the range " << min << " to "
                             << max << ", expected 0 <= min <= max";
  return success();
}

LogicalResult GroupOp::verify() {
  auto plan = (*this)->getParentOfType<PlanOp>();
  int64_t ranks = 1;
  for (StringRef axis : getAxes().getAsValueRange<StringAttr>()) {
    std::optional<int64_t> size = plan.getAxisSize(axis);
    if (!size)
      return emitOpError("is over \"")
             << axis << "\", which is no axis of the mesh";
    ranks *= *size;
  }
  if (ranks != static_cast<int64_t>(getRanks()))
    return emitOpError("has ")
           << static_cast<int64_t>(getRanks()) << " ranks, expected " << ranks
           << " from its axes";
  return success();
}

SmallVector<RangeOp::SegmentAttrs, 2> RangeOp::getSegmentList() {
  SmallVector<SegmentAttrs, 2> list;
  for (ArrayAttr parts : getSegments().getAsRange<ArrayAttr>()) {
    bool isStrided = parts.size() == 4;
    list.push_back({parts[0], parts[1],
                    isStrided ? cast<IntegerAttr>(parts[2]) : IntegerAttr(),
                    isStrided ? cast<IntegerAttr>(parts[3]) : IntegerAttr()});
  }
  return list;
}

static bool isPositive(Attribute attr) {
  auto number = dyn_cast<IntegerAttr>(attr);
  return number && number.getInt() > 0;
}

static LogicalResult verifySegments(RangeOp op) {
  unsigned expected = op.getKind() == RangeKind::Zigzag ? 2 : 1;
  if (op.getSegments().size() != expected)
    return op.emitOpError("has ")
           << op.getSegments().size() << " segments, expected " << expected
           << " for '" << stringifyRangeKind(op.getKind()) << "'";
  bool isStrided = op.getKind() == RangeKind::Cyclic;
  for (Attribute attr : op.getSegments()) {
    auto parts = dyn_cast<ArrayAttr>(attr);
    if (!parts || parts.size() != (isStrided ? 4u : 2u) ||
        !isExpression(parts[0]) || !isExpression(parts[1]) ||
        !llvm::all_of(parts.getValue().drop_front(2), isPositive))
      return op.emitOpError("has the segment ")
             << attr << ", expected closed expressions for begin and size"
             << (isStrided ? ", a block and a stride" : "");
  }
  return success();
}

/// The items are KV heads, held by where their query heads are.
static bool hasQueryHeads(RangeKind kind) {
  return kind == RangeKind::Readers || kind == RangeKind::FirstReaders;
}

/// The range that `within` names: before this one, over other axes.
static LogicalResult verifyWithin(RangeOp op) {
  auto extent = dyn_cast<ArrayAttr>(op.getExtent());
  bool isSize = extent && extent.size() == 2 &&
                extent[0] == StringAttr::get(op.getContext(), "size");
  if (!op.getWithin()) {
    if (isSize)
      return op.emitOpError("deals out the parts of another range, expected "
                            "'within' to name it");
    return success();
  }
  if (!isSize || extent[1] != op.getWithinAttr().getAttr())
    return op.emitOpError("is within ")
           << op.getWithinAttr() << ", but has the extent " << op.getExtent();
  auto plan = op->getParentOfType<PlanOp>();
  llvm::SmallDenseSet<StringRef, 4> axes = {op.getAxis()};
  RangeOp inner = op;
  while (inner.getWithin()) {
    auto outer = plan.lookupSymbol<RangeOp>(*inner.getWithin());
    if (!outer || !outer->isBeforeInBlock(inner) ||
        hasQueryHeads(outer.getKind()) || outer.getKind() == RangeKind::Routed)
      return op.emitOpError("is within ")
             << inner.getWithinAttr()
             << ", expected a partition defined before";
    if (!axes.insert(outer.getAxis()).second)
      return op.emitOpError("deals out over \"")
             << outer.getAxis() << "\" what is dealt out over it already";
    inner = outer;
  }
  return success();
}

LogicalResult RangeOp::verify() {
  if (!isExpression(getExtent()))
    return emitOpError("has the extent ")
           << getExtent() << ", expected a closed expression";
  if (failed(verifySegments(*this)) || failed(verifyWithin(*this)))
    return failure();
  if (!(*this)->getParentOfType<PlanOp>().getAxisSize(getAxis()))
    return emitOpError("is over \"")
           << getAxis() << "\", which is no axis of the mesh";
  bool ofHeads = hasQueryHeads(getKind());
  if (getKind() == RangeKind::Routed) {
    if (!getOf() || static_cast<int64_t>(*getOf()) < 1)
      return emitOpError("routes rows, expected 'of' as the number of experts");
    return success();
  }
  auto extent = dyn_cast<IntegerAttr>(getExtent());
  bool fits = getOf() && extent && extent.getInt() > 0 &&
              static_cast<int64_t>(*getOf()) > 0 &&
              static_cast<int64_t>(*getOf()) % extent.getInt() == 0;
  if (ofHeads ? !fits : getOf().has_value())
    return emitOpError("deals out ")
           << getExtent() << " items by '" << stringifyRangeKind(getKind())
           << "', expected "
           << (ofHeads ? "'of' as a multiple of them" : "no 'of'");
  bool isCyclic = getKind() == RangeKind::Cyclic;
  if (isCyclic ? !getInterleave() || static_cast<int64_t>(*getInterleave()) < 1
               : getInterleave().has_value())
    return emitOpError("deals out its items by '")
           << stringifyRangeKind(getKind()) << "', expected "
           << (isCyclic ? "an 'interleave' of at least 1" : "no 'interleave'");
  return success();
}

LogicalResult InputOp::verify() {
  auto tensor = dyn_cast<RankedTensorType>(getType());
  if (!tensor || !isa<IntegerType>(tensor.getElementType()))
    return emitOpError("\"") << getId() << "\" has the type " << getType()
                             << ", expected a ranked tensor of integers";
  return success();
}

LogicalResult CacheOp::verify() {
  auto layout = getLayout(getType());
  if (!layout || layout.getDims().empty() || layout.isSplit(0))
    return emitOpError("has the type ")
           << getType() << ", expected a tensor that holds its rows whole";
  bool positions = getPlane() == Plane::Positions;
  int64_t layer = getLayer();
  if (positions ? layer != -1 : layer < 0)
    return emitOpError("has the layer ")
           << layer << ", expected "
           << (positions ? "-1 for the positions" : "0 or more");
  return success();
}

LogicalResult TableOp::verify() {
  if (getInvFreq().empty() ||
      (getLongInvFreq() && getLongInvFreq()->size() != getInvFreq().size()))
    return emitOpError("has ")
           << getInvFreq().size() << " and "
           << (getLongInvFreq() ? getLongInvFreq()->size() : 0)
           << " frequencies, expected as many, and at least one";
  return success();
}

LogicalResult WeightOp::verify() {
  auto tensor = dyn_cast<RankedTensorType>(getType());
  auto layout = getLayout(getType());
  if (!layout || !tensor.hasStaticShape() || layout.owesAnything())
    return emitOpError("\"") << getKey() << "\" has the type " << getType()
                             << ", expected a static shape and a layout that "
                                "owes nothing";
  return success();
}

template <typename Op>
static Op lookup(Operation *op, FlatSymbolRefAttr symbol,
                 SymbolTableCollection &symbols) {
  return symbols.lookupNearestSymbolFrom<Op>(op, symbol);
}

LogicalResult FlagOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!lookup<GroupOp>(*this, getGroupAttr(), symbols))
    return emitOpError("names the group ")
           << getGroupAttr() << ", which is not defined";
  // Axes of one rank have one instance.
  auto plan = (*this)->getParentOfType<PlanOp>();
  auto group = lookup<GroupOp>(*this, getGroupAttr(), symbols);
  SmallVector<Attribute> expected;
  for (Attribute axis : plan.getAxes())
    if (!llvm::is_contained(group.getAxes(), axis))
      expected.push_back(axis);
  if (getKey().getValue() != ArrayRef(expected))
    return emitOpError("has the key ")
           << getKey() << ", expected "
           << ArrayAttr::get(getContext(), expected) << ": the group "
           << getGroupAttr()
           << " has an instance for each setting of these axes, and instances "
              "that share a flag take one another's signals";
  return success();
}

LogicalResult KernelOp::verify() {
  bool hasCollective = false;
  for (StringRef name : getOps().getAsValueRange<StringAttr>()) {
    std::optional<StepKind> kind = symbolizeStepKind(name);
    if (!kind || *kind == StepKind::Fused)
      return emitOpError("runs '") << name
                                   << "', expected a kind of step that "
                                      "is not fused";
    hasCollective |= getInfo(*kind).isCollective;
  }
  if (hasCollective != static_cast<bool>(getGroupAttr()))
    return emitOpError(hasCollective ? "holds a collective but names no group"
                                     : "names a group but holds no collective");
  return success();
}

LogicalResult KernelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getGroupAttr() && !lookup<GroupOp>(*this, getGroupAttr(), symbols))
    return emitOpError("names the group ")
           << getGroupAttr() << ", which is not defined";
  return success();
}

//===----------------------------------------------------------------------===//
// Variant
//===----------------------------------------------------------------------===//

LogicalResult VariantOp::verifyRegions() {
  int64_t min = getMinTokens(), max = getMaxTokens();
  if (min < 1 || min > max)
    return emitOpError("is for ")
           << min << " to " << max << " tokens, expected 1 <= min <= max";
  llvm::StringMap<Operation *> arenas, buffers, steps, inner, outputs, sites;
  for (Operation &op : getBody().front()) {
    LogicalResult unique = success();
    if (auto arena = dyn_cast<ArenaOp>(op)) {
      unique = checkUnique(&op, "the arena", arena.getId(), arenas);
    } else if (auto buffer = dyn_cast<BufferOp>(op)) {
      unique = checkUnique(&op, "the buffer", buffer.getId(), buffers);
    } else if (auto output = dyn_cast<OutputOp>(op)) {
      unique = checkUnique(&op, "the output", output.getId(), outputs);
    } else if (auto site = dyn_cast<SiteOp>(op)) {
      unique = checkUnique(&op, "the site", site.getId(), sites);
    } else if (auto step = dyn_cast<StepOp>(op)) {
      unique = checkUnique(&op, "the step", step.getId(), steps);
      if (succeeded(unique) && !step.getBody().empty())
        for (auto body : step.getBody().getOps<StepOp>())
          if (failed(checkUnique(body, "the step", body.getId(), inner)))
            return failure();
    }
    if (failed(unique))
      return failure();
  }
  auto checkSteps = [&](Operation *op, StringRef what,
                        std::optional<ArrayAttr> ids) -> LogicalResult {
    if (ids)
      for (StringRef id : ids->getAsValueRange<StringAttr>())
        if (!steps.contains(id))
          return op->emitOpError() << "'" << what << "' names the step \"" << id
                                   << "\", which is not in the list";
    return success();
  };
  for (Operation &op : getBody().front()) {
    if (auto step = dyn_cast<StepOp>(op)) {
      if (failed(checkSteps(&op, "after", step.getAfter())))
        return failure();
    } else if (auto buffer = dyn_cast<BufferOp>(op)) {
      if (failed(checkSteps(&op, "live", buffer.getLive())))
        return failure();
      if (buffer.getArena() && !arenas.contains(*buffer.getArena()))
        return op.emitOpError("is in the arena \"")
               << *buffer.getArena() << "\", which the variant does not have";
    } else if (auto site = dyn_cast<SiteOp>(op)) {
      if (site.getStep() && !steps.contains(*site.getStep()) &&
          !inner.contains(*site.getStep()))
        return op.emitOpError("names the step \"")
               << *site.getStep() << "\", which the variant does not have";
    }
  }
  return success();
}

LogicalResult ArenaOp::verify() {
  int64_t bytes = getBytes(), bound = getBound();
  if (bound < 0 || bound > bytes)
    return emitOpError("\"")
           << getId() << "\" has " << bytes << " bytes and the bound " << bound
           << ", expected 0 <= bound <= bytes";
  return success();
}

void BufferOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getBuffer(), getId());
}

LogicalResult BufferOp::verify() {
  auto tensor = dyn_cast<RankedTensorType>(getType());
  if (!getLayout(getType()) ||
      llvm::any_of(tensor.getShape().drop_front(tensor.getRank() ? 1 : 0),
                   ShapedType::isDynamic))
    return emitOpError("\"") << getId() << "\" has the type " << getType()
                             << ", expected a ranked tensor with a layout, "
                                "dynamic in its rows at most";
  if (isInput() != getInput().has_value())
    return emitOpError("\"")
           << getId() << "\" is of class '" << stringifyBufferClass(getKind())
           << "' and " << (getInput() ? "binds" : "binds no") << " input";
  if (isInput() && getArena())
    return emitOpError("\"")
           << getId() << "\" is an input, which the caller binds, "
           << "but has a place in the arena \"" << *getArena() << "\"";
  unsigned placed =
      getArena().has_value() + getOffset().has_value() + getBytes().has_value();
  if (placed % 3 || (getLive() && getLive()->size() != 2))
    return emitOpError("\"") << getId() << "\" needs arena, offset and bytes "
                             << "together, and two steps for 'live'";
  return success();
}

LogicalResult OutputOp::verify() {
  auto buffer = getBuffer().getDefiningOp<BufferOp>();
  auto layout = buffer ? getLayout(buffer.getType()) : grid::LayoutAttr();
  if (layout && layout.owesAnything()) {
    InFlightDiagnostic diag =
        emitOpError("\"") << getId() << "\" owes a sum over "
                          << layout.getOwes().front() << "; reduce it first";
    diag.attachNote(buffer.getLoc()) << "the buffer is defined here";
    return diag;
  }
  return success();
}

LogicalResult SiteOp::verify() {
  if (getBefore().has_value() != getAfter().has_value())
    return emitOpError("\"")
           << getId() << "\" has bytes only before or only after";
  if (getBefore())
    for (DictionaryAttr form : {*getBefore(), *getAfter()})
      for (NamedAttribute bytes : form)
        if (!isExpression(bytes.getValue()))
          return emitOpError("\"")
                 << getId() << "\" sends " << bytes.getValue() << " bytes by '"
                 << bytes.getName().getValue()
                 << "', expected a closed expression";
  return success();
}
