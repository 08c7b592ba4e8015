//===- ConsumerStates.cpp - what collectives and slices make of a value ---===//
#include "ConsumerStates.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;

bool ValueState::isLike(const ValueState &other) const {
  auto sameDim = [](const DimState &a, const DimState &b) {
    return a.split == b.split && a.pad == b.pad;
  };
  return dims.size() == other.dims.size() &&
         std::equal(dims.begin(), dims.end(), other.dims.begin(), sameDim) &&
         owes == other.owes;
}

std::optional<ValueState> layline::getDeclaredState(Type type) {
  LayoutAttr layout = getLayout(type);
  if (!layout || static_cast<int64_t>(layout.getDims().size()) !=
                     cast<RankedTensorType>(type).getRank())
    return std::nullopt;
  ValueState state;
  for (auto [dim, split] : llvm::enumerate(layout.getDims()))
    state.dims.push_back({split, layout.getPad(dim), nullptr});
  llvm::append_range(state.owes, layout.getOwes());
  return state;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

std::string layline::describeSplit(SplitAttr split) {
  std::string text;
  llvm::raw_string_ostream(text) << Attribute(split);
  StringRef inner = text;
  inner.consume_front("#grid.split<");
  inner.consume_back(">");
  return inner.str();
}

std::string layline::joinAxes(ArrayRef<StringAttr> axes) {
  return llvm::join(
      llvm::map_range(axes,
                      [](StringAttr axis) { return "\"" + axis.str() + "\""; }),
      " and ");
}

std::string layline::describePlace(Operation *op) {
  StringAttr place = getPlace(op->getLoc());
  return place ? place.str() : "'" + op->getName().getStringRef().str() + "'";
}

std::string layline::describeState(const ValueState &state,
                                   ArrayRef<StringRef> names) {
  SmallVector<std::string> parts;
  for (auto [dim, held] : llvm::enumerate(state.dims)) {
    std::string name = "dimension " + std::to_string(dim);
    if (dim < names.size())
      name = names[dim].str();
    else if (dim == 1 && state.dims.size() == 2)
      name = "columns";
    std::string text =
        held.split ? name + " by " + describeSplit(held.split) : "all " + name;
    if (held.pad)
      text += " padded to " + std::to_string(held.pad);
    parts.push_back(std::move(text));
  }
  if (!state.owes.empty())
    parts.push_back("owes " + joinAxes(state.owes));
  return llvm::join(parts, ", ");
}

//===----------------------------------------------------------------------===//
// Collectives, slices, padding
//===----------------------------------------------------------------------===//

namespace {

/// An op that moves or drops parts of one value.
class EdgeFlow {
public:
  EdgeFlow(Operation *op, const ValueState &in, OperandFlow &use)
      : op(op), state(in), use(use) {}

  bool pay(ArrayRef<StringAttr> axes);
  bool narrow(unsigned dim, StringAttr axis);
  bool gather(unsigned dim, StringAttr axis);
  bool setPad(unsigned dim, int64_t elements);
  bool fail(const Twine &problem, Operation *since) {
    use.problem = problem.str();
    use.since = since;
    return false;
  }
  /// What the operand has to be.
  void needs(const Twine &text) { use.needs = text.str(); }
  const ValueState &get() const { return state; }

private:
  bool hasDim(unsigned dim) {
    return dim < state.dims.size() ||
           fail("has no dimension " + Twine(dim) + " of {0}", nullptr);
  }

  Operation *op;
  ValueState state;
  OperandFlow &use;
};

} // namespace

static std::string nameDim(unsigned dim) {
  return dim == 0 ? "rows" : "dimension " + std::to_string(dim);
}

bool EdgeFlow::pay(ArrayRef<StringAttr> axes) {
  for (const DimState &held : state.dims)
    if (held.split && held.split.isRouted() &&
        llvm::is_contained(axes, held.split.getLastAxis()))
      return fail("sums the rows of {0} over all ranks, but they were "
                  "dispatched at " +
                      describePlace(held.narrowedBy ? held.narrowedBy : op) +
                      ": most ranks have no part of them",
                  held.narrowedBy);
  for (StringAttr axis : axes)
    if (!state.owesOver(axis)) {
      std::string problem = "pays a sum over \"" + axis.str() +
                            "\" that {0} does not owe: every rank's value "
                            "would count once more";
      if (state.paidBy)
        problem += "; it was paid at " + describePlace(state.paidBy);
      return fail(problem, state.paidBy);
    }
  llvm::erase_if(state.owes,
                 [&](StringAttr a) { return llvm::is_contained(axes, a); });
  state.paidBy = op;
  return true;
}

bool EdgeFlow::narrow(unsigned dim, StringAttr axis) {
  if (!hasDim(dim))
    return false;
  DimState &held = state.dims[dim];
  if (state.owesOver(axis))
    return fail("needs nothing owed over \"" + axis.str() +
                    "\", but {0} owes a sum: a rank's part of its own addend "
                    "is no part of the sum",
                state.owedSince);
  // Of KV heads that several ranks hold, the first may keep them.
  bool isShared = held.split && held.split.getKind() == PartitionKind::Readers;
  if (held.split && held.split.isOver(axis) && !isShared)
    return fail("needs all " + nameDim(dim) + " of {0}, but \"" + axis.str() +
                    "\" splits them already",
                held.narrowedBy);
  // How the parts are dealt out is the op's own choice: its result says.
  std::optional<ValueState> declared =
      getDeclaredState(op->getResult(0).getType());
  SplitAttr split = declared && dim < declared->dims.size()
                        ? declared->dims[dim].split
                        : SplitAttr();
  if (!split || split.getLastAxis() != axis || !split.isPartOf(held.split))
    return fail("is to split " + nameDim(dim) + " of {0} over \"" + axis.str() +
                    "\", but its result does not say how",
                nullptr);
  held.split = split;
  held.narrowedBy = op;
  return true;
}

bool EdgeFlow::gather(unsigned dim, StringAttr axis) {
  if (!hasDim(dim))
    return false;
  DimState &held = state.dims[dim];
  if (!state.owes.empty())
    return fail("gathers addends: {0} owes a sum over " + joinAxes(state.owes),
                state.owedSince);
  if (held.split && held.split.isRouted())
    return fail("gathers " + nameDim(dim) +
                    " of {0}, of which each rank has only those of its experts",
                held.narrowedBy);
  if (!held.split || held.split.getLastAxis() != axis)
    return fail("gathers " + nameDim(dim) + " of {0} over \"" + axis.str() +
                    "\", which does not split them last",
                held.narrowedBy);
  if (held.pad)
    return fail("gathers " + nameDim(dim) + " of {0} with their padding",
                nullptr);
  held.split = held.split.withoutLast();
  if (!held.split)
    held.narrowedBy = nullptr;
  return true;
}

bool EdgeFlow::setPad(unsigned dim, int64_t elements) {
  if (!hasDim(dim))
    return false;
  if ((state.dims[dim].pad == 0) != (elements > 0))
    return fail(elements ? "pads what is padded already: {0}"
                         : "takes padding off {0}, which has none",
                nullptr);
  state.dims[dim].pad = elements;
  return true;
}

/// The state of the result, or nothing if the op may not take the operand.
static std::optional<ValueState> flowEdge(Operation *op, const ValueState &in,
                                          OperandFlow &use) {
  EdgeFlow edge(op, in, use);
  auto quote = [](StringAttr axis) { return "\"" + axis.str() + "\""; };
  bool good =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case([&](AllReduceOp reduce) {
            edge.needs("owes " + joinAxes(reduce.getGroupAxes()));
            return edge.pay(reduce.getGroupAxes());
          })
          .Case([&](ReduceScatterOp scatter) {
            StringAttr axis = scatter.getAxisAttr();
            edge.needs("owes " + quote(axis) + ", all " +
                       nameDim(scatter.getDim()));
            return edge.pay(axis) && edge.narrow(scatter.getDim(), axis);
          })
          .Case([&](AllGatherOp gather) {
            StringAttr axis = gather.getAxisAttr();
            edge.needs(nameDim(gather.getDim()) + " by " + quote(axis) +
                       ", nothing owed");
            return edge.gather(gather.getDim(), axis);
          })
          .Case([&](SliceOp slice) {
            StringAttr axis = slice.getAxisAttr();
            edge.needs("all " + nameDim(slice.getDim()) + " over " +
                       quote(axis) +
                       ", or their readers, nothing owed over it");
            return edge.narrow(slice.getDim(), axis);
          })
          .Case([&](PadOp pad) {
            edge.needs("no padding");
            return edge.setPad(pad.getDim(), pad.getElements());
          })
          .Case([&](UnpadOp unpad) {
            edge.needs("padding");
            return edge.setPad(unpad.getDim(), 0);
          })
          .Default([&](Operation *) {
            edge.needs("copies");
            return true;
          });
  if (!good)
    return std::nullopt;
  return edge.get();
}

//===----------------------------------------------------------------------===//
// Any op
//===----------------------------------------------------------------------===//

/// Factor models may be asked of ops whose verifiers have not run: these have
/// the operands and results that every model looks at.
static bool hasFactorModel(Operation *op) {
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  return isa<LayoutOpInterface>(op) && op->getNumOperands() &&
         op->getNumResults() && llvm::all_of(op->getOperandTypes(), isTensor) &&
         llvm::all_of(op->getResultTypes(), isTensor);
}

/// ... and so have collectives: one value each, and the attributes that say
/// what they do.
static bool isEdge(Operation *op) {
  if (!isa<CommEdgeOpInterface, SliceOp, PadOp, UnpadOp>(op) ||
      op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  auto get = [&](StringRef name) {
    return op->getInherentAttr(name).value_or(Attribute());
  };
  if (isa<AllReduceOp>(op)) {
    auto axes = dyn_cast_or_null<ArrayAttr>(get("axes"));
    return axes && llvm::all_of(axes, llvm::IsaPred<StringAttr>);
  }
  bool hasAxis = isa<PadOp, UnpadOp>(op) || get("axis");
  bool hasDim = isa<BroadcastOp>(op) || get("dim");
  bool hasSize = !isa<PadOp>(op) || get("elements");
  return hasAxis && hasDim && hasSize;
}

OpFlow layline::getFlow(Operation *op,
                        ArrayRef<std::optional<ValueState>> operands,
                        bool words) {
  OpFlow flow;
  flow.operands.resize(op->getNumOperands());
  flow.results.resize(op->getNumResults());
  bool isPlaced = llvm::all_of(operands, [](auto &o) { return !!o; });
  if (!isPlaced || op->getNumOperands() == 0) {
    // Nothing to judge by: weights, and programs without layouts.
  } else if (isEdge(op)) {
    if (words)
      flow.operands[0].gets = describeState(*operands[0], {"rows"});
    flow.results[0] = flowEdge(op, *operands[0], flow.operands[0]);
  } else if (addRoutingFlow(op, operands, flow, words)) {
    // Several values at once.
  } else if (hasFactorModel(op)) {
    addFactorFlow(op, operands, flow, words);
  } else {
    for (auto [state, use] : llvm::zip(operands, flow.operands)) {
      use.needs = "unknown";
      use.gets = describeState(*state, {});
      use.problem = "reads {0}, but has no factor model (or not the operands "
                    "and attributes of one): what it needs of it is not known";
    }
  }
  // Behind a problem, or where nothing is known, what the types say: a fault is
  // reported where it is, not at every op behind it.
  for (auto [result, state] : llvm::zip(op->getResults(), flow.results))
    if (!state)
      state = getDeclaredState(result.getType());
  return flow;
}
