//===- ConsumerFactors.cpp - what ops with a factor model need ------------===//
#include "ConsumerStates.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;

namespace {

/// The parts of a factor that the operands hold.
struct FactorState {
  bool seen = false;
  unsigned operand = 0;
  DimState held; ///< in items
};

class FactorFlow {
public:
  FactorFlow(Operation *op, const FactorModel &model,
             ArrayRef<std::optional<ValueState>> operands, OpFlow &flow)
      : op(op), model(model), operands(operands), flow(flow),
        factors(model.factors.size()) {}

  void run(bool words);

private:
  void bind(unsigned operand);
  void bindDim(unsigned operand, unsigned dim, DimFactor bound);
  void checkReaders(unsigned factor);
  void checkDiagonal(unsigned i, unsigned j);
  void checkRouting();
  void checkSums();
  void checkAddends(ArrayRef<unsigned> addends);
  void describe(unsigned operand);
  ValueState getResult(ArrayRef<DimFactor> dims);

  void fail(unsigned operand, const Twine &problem, Operation *since);
  /// "the rows that "tp" splits: narrowed at layer.3.kv_a and nothing ..."
  std::string describeParts(unsigned factor, unsigned operand);
  StringRef nameFactor(unsigned factor) const;
  std::string needOfRows(unsigned factor) const;

  Operation *op;
  const FactorModel &model;
  ArrayRef<std::optional<ValueState>> operands;
  OpFlow &flow;
  SmallVector<FactorState, 6> factors;
  SmallVector<StringAttr, 2> owes;
  Operation *owedSince = nullptr;
};

} // namespace

/// The words of a model that mean rows of a value.
static bool isRows(StringRef factor) {
  return factor == kTokens || factor == "rows" || factor == "context";
}

StringRef FactorFlow::nameFactor(unsigned factor) const {
  StringRef name = model.factors[factor].name;
  return isRows(name) ? "rows" : name;
}

void FactorFlow::fail(unsigned operand, const Twine &problem,
                      Operation *since) {
  OperandFlow &use = flow.operands[operand];
  if (!use.problem.empty())
    return;
  use.problem = problem.str();
  use.since = since;
}

static SmallVector<StringAttr, 2> getAxes(SplitAttr split) {
  SmallVector<StringAttr, 2> axes;
  if (split)
    for (SplitAttr link : split.getChain())
      axes.push_back(link.getAxis());
  return axes;
}

std::string FactorFlow::describeParts(unsigned factor, unsigned operand) {
  const DimState &held = factors[factor].held;
  std::string text = "the " + nameFactor(factor).str() + " that " +
                     joinAxes(getAxes(held.split)) + " splits";
  if (held.narrowedBy)
    text += ": narrowed at " + describePlace(held.narrowedBy);
  else
    text += ": it comes in so";
  for (Operation *user : op->getOperand(operand).getUsers())
    if (auto gather = dyn_cast<AllGatherOp>(user); gather && user != op)
      return text + ", and gathered at " + describePlace(gather) +
             ", but not for this reader";
  return text + " and nothing gathers it";
}

void FactorFlow::bindDim(unsigned operand, unsigned dim, DimFactor bound) {
  const Factor &factor = model.factors[bound.factor];
  DimState held = operands[operand]->dims[dim];
  std::string name = nameFactor(bound.factor).str();
  int64_t unit = std::max<int64_t>(1, bound.unit);
  if ((held.split && held.split.getUnit() % unit) || held.pad % unit)
    return fail(operand,
                "needs whole items of '" + name + "' of {0}, " + Twine(unit) +
                    " elements each, but gets parts that cut them",
                held.narrowedBy);
  if (held.split)
    held.split = held.split.withUnit(held.split.getUnit() / unit);
  held.pad /= unit;
  FactorState &state = factors[bound.factor];
  if (factor.kind == FactorKind::NeedWhole && held.split) {
    state.held = held;
    fail(operand,
         "needs " + Twine(name == "rows" ? "all " : "the whole ") + name +
             " of {0}, but gets " + describeParts(bound.factor, operand),
         held.narrowedBy);
    // Not to be found once more as a mismatch.
    state.held = {};
    return;
  }
  if (factor.kind != FactorKind::PassThrough && held.pad)
    return fail(operand,
                "needs the " + name + " of {0} without padding, but gets " +
                    Twine(held.pad) + " items, of which some mean nothing",
                nullptr);
  if (!state.seen) {
    state = {true, operand, held};
    return;
  }
  if (state.held.split == held.split && state.held.pad == held.pad)
    return;
  auto parts = [&](const DimState &dim) {
    std::string text =
        dim.split ? name + " by " + describeSplit(dim.split) : "all " + name;
    return dim.pad ? text + " padded to " + std::to_string(dim.pad) : text;
  };
  // What was rewritten is to blame, not what is whole.
  bool blameFirst = state.held.split && !held.split;
  unsigned blamed = blameFirst ? state.operand : operand;
  unsigned other = blameFirst ? operand : state.operand;
  const DimState &found = blameFirst ? state.held : held;
  fail(blamed,
       "needs the same " + name + " of {0} as of operand #" + Twine(other) +
           ", but gets " + parts(found) + " of one and " +
           parts(blameFirst ? held : state.held) + " of the other",
       found.narrowedBy);
}

void FactorFlow::bind(unsigned operand) {
  ArrayRef<DimFactor> dims = model.operands[operand];
  for (auto [dim, bound] : llvm::enumerate(dims))
    bindDim(operand, dim, bound);
}

void FactorFlow::checkReaders(unsigned index) {
  const Factor &factor = model.factors[index];
  const FactorState &state = factors[index];
  SplitAttr split = state.held.split;
  SplitAttr readers = factors[factor.readers].held.split;
  if (!split)
    return;
  bool follows =
      readers && readers.getKind() == PartitionKind::Block &&
      readers.getAxis() == split.getAxis() && readers.getUnit() == 1 &&
      !readers.getNext() && split.getKind() == PartitionKind::Readers &&
      split.getUnit() == 1 && split.getArgument() == factor.numReaders;
  if (follows)
    return;
  for (auto [operand, dims] : llvm::enumerate(model.operands))
    for (DimFactor bound : dims)
      if (bound.factor == index)
        fail(operand,
             "needs the " + factor.name + " of {0} that a rank's " +
                 nameFactor(factor.readers) + " read, but gets those of " +
                 describeSplit(split),
             state.held.narrowedBy);
}

/// Whether rows were dispatched, and to the ranks of these very items.
static bool followsItems(SplitAttr rows, SplitAttr items) {
  return rows && rows.isRouted() && items &&
         items.getKind() == PartitionKind::Block && !items.getNext() &&
         items.getUnit() == 1 && items.getAxis() == rows.getLastAxis();
}

/// Of dispatched rows a rank has those of its experts: nobody else can use
/// them.
void FactorFlow::checkRouting() {
  for (auto [index, state] : llvm::enumerate(factors)) {
    SplitAttr rows = state.held.split;
    if (!rows || !rows.isRouted())
      continue;
    bool taken = model.routing && model.routing->rows == index;
    SplitAttr items =
        taken ? factors[model.routing->items].held.split : SplitAttr();
    if (taken && followsItems(rows, items))
      continue;
    fail(state.operand,
         "needs all " + nameFactor(index) +
             " of {0}, but of what was dispatched to experts a rank has only "
             "those of its own" +
             (taken ? ", and here the experts are " +
                          (items ? "split by " + describeSplit(items)
                                 : std::string("whole"))
                    : std::string()),
         state.held.narrowedBy);
  }
}

/// Rows and columns dealt out over one axis: the ranks compute the diagonal
/// blocks only. The rows are the ones to gather.
void FactorFlow::checkDiagonal(unsigned i, unsigned j) {
  if (isRows(model.factors[j].name))
    std::swap(i, j);
  SplitAttr first = factors[i].held.split, second = factors[j].held.split;
  if (!first || !second)
    return;
  if (model.routing && model.routing->rows == i && model.routing->items == j &&
      followsItems(first, second))
    return;
  for (StringAttr axis : getAxes(second))
    if (first.isOver(axis))
      return fail(factors[i].operand,
                  "needs all " + nameFactor(i) + " of {0}, because \"" +
                      axis.strref() + "\" splits its " + nameFactor(j) +
                      ", but gets " + describeParts(i, factors[i].operand),
                  factors[i].held.narrowedBy);
}

void FactorFlow::checkSums() {
  auto linear = dyn_cast<PartialLinearOpInterface>(op);
  SmallVector<unsigned, 2> addends;
  if (linear)
    addends = linear.getAddends();
  std::optional<unsigned> owing;
  auto add = [&](StringAttr axis) {
    if (!llvm::is_contained(owes, axis))
      owes.push_back(axis);
  };
  for (auto [index, state] : llvm::enumerate(operands)) {
    if (state->owes.empty())
      continue;
    if (!linear || !linear.isLinearIn(index)) {
      fail(index,
           "needs {0} paid, but it owes a sum over " + joinAxes(state->owes) +
               (state->owedSince ? " since " + describePlace(state->owedSince)
                                 : std::string()),
           state->owedSince);
      continue;
    }
    if (owing && !llvm::is_contained(addends, index)) {
      fail(index,
           "is not linear in {0} and operand #" + Twine(*owing) +
               " at once, and both owe a sum",
           state->owedSince);
      continue;
    }
    owing = index;
    owedSince = state->owedSince;
    llvm::for_each(state->owes, add);
  }
  for (auto [factor, state] : llvm::zip(model.factors, factors))
    for (StringAttr axis : getAxes(state.held.split)) {
      if (owing && operands[*owing]->owesOver(axis))
        fail(*owing,
             "owes a sum of {0} over \"" + axis.strref() +
                 "\", which splits its " + factor.name,
             owedSince);
      if (factor.kind != FactorKind::Reduction)
        continue;
      if (!state.held.split.isPartition())
        fail(state.operand,
             "sums the " + factor.name +
                 " of {0}, of which several ranks "
                 "hold the same",
             state.held.narrowedBy);
      add(axis);
      owedSince = owedSince ? owedSince : op;
    }
  llvm::sort(owes, [](StringAttr a, StringAttr b) {
    return a.getValue() < b.getValue();
  });
  checkAddends(addends);
}

/// A whole value added to a partial one counts once per rank.
void FactorFlow::checkAddends(ArrayRef<unsigned> addends) {
  for (unsigned addend : addends) {
    if (addend >= operands.size() || operands[addend]->owes == owes)
      continue;
    SmallVector<StringAttr, 2> missing;
    for (StringAttr axis : owes)
      if (!operands[addend]->owesOver(axis))
        missing.push_back(axis);
    fail(addend,
         "needs {0} to owe over " + joinAxes(missing) +
             " what it is added to owes, but it does not: it would be added "
             "once per rank",
         owedSince);
  }
}

/// Which rows a factor of rows takes.
std::string FactorFlow::needOfRows(unsigned factor) const {
  SmallVector<StringAttr, 2> axes;
  for (auto [index, state] : llvm::enumerate(factors))
    if (index != factor && model.factors[index].kind != FactorKind::ReadBy)
      for (StringAttr axis : getAxes(state.held.split))
        if (!llvm::is_contained(axes, axis))
          axes.push_back(axis);
  return axes.empty() ? "any rows" : "all rows over " + joinAxes(axes);
}

void FactorFlow::describe(unsigned operand) {
  SmallVector<StringRef> names;
  SmallVector<std::string> needs;
  for (DimFactor bound : model.operands[operand]) {
    const Factor &factor = model.factors[bound.factor];
    StringRef name = nameFactor(bound.factor);
    names.push_back(name);
    switch (factor.kind) {
    case FactorKind::PassThrough:
      needs.push_back(name == "rows" ? needOfRows(bound.factor)
                                     : "any " + name.str());
      break;
    case FactorKind::Reduction:
      needs.push_back("any " + name.str() + ", summed");
      break;
    case FactorKind::NeedWhole:
      needs.push_back((name == "rows" ? "all " : "whole ") + name.str());
      break;
    case FactorKind::ReadBy:
      needs.push_back(name.str() + " of its " +
                      nameFactor(factor.readers).str());
      break;
    }
  }
  auto linear = dyn_cast<PartialLinearOpInterface>(op);
  needs.push_back(linear && linear.isLinearIn(operand) ? "may owe"
                                                       : "nothing owed");
  flow.operands[operand].needs = llvm::join(needs, ", ");
  flow.operands[operand].gets = describeState(*operands[operand], names);
}

ValueState FactorFlow::getResult(ArrayRef<DimFactor> dims) {
  ValueState state;
  for (DimFactor bound : dims) {
    DimState held = factors[bound.factor].held;
    if (held.split)
      held.split = held.split.withUnit(held.split.getUnit() * bound.unit);
    held.pad *= bound.unit;
    state.dims.push_back(held);
  }
  state.owes = owes;
  state.owedSince = owes.empty() ? nullptr : owedSince;
  for (const std::optional<ValueState> &operand : operands)
    if (!state.paidBy)
      state.paidBy = operand->paidBy;
  return state;
}

void FactorFlow::run(bool words) {
  for (unsigned operand = 0; operand < operands.size(); ++operand)
    bind(operand);
  for (unsigned i = 0, e = factors.size(); i < e; ++i) {
    if (model.factors[i].kind == FactorKind::ReadBy) {
      checkReaders(i);
      continue;
    }
    for (unsigned j = i + 1; j < e; ++j)
      if (model.factors[j].kind != FactorKind::ReadBy)
        checkDiagonal(i, j);
  }
  checkRouting();
  checkSums();
  for (unsigned operand = 0; words && operand < operands.size(); ++operand)
    describe(operand);
  if (flow.hasProblem())
    return;
  for (auto [result, dims] : llvm::zip(flow.results, model.results))
    result = getResult(dims);
}

void layline::addFactorFlow(Operation *op,
                            ArrayRef<std::optional<ValueState>> operands,
                            OpFlow &flow, bool words) {
  FactorModel model;
  cast<LayoutOpInterface>(op).getFactors(model);
  auto fits = [](ArrayRef<DimFactor> dims, size_t rank) {
    return dims.size() == rank;
  };
  bool good = model.operands.size() == op->getNumOperands() &&
              model.results.size() == op->getNumResults();
  for (unsigned i = 0; good && i < operands.size(); ++i)
    good = fits(model.operands[i], operands[i]->dims.size());
  if (!good) {
    for (OperandFlow &use : flow.operands)
      use.problem = "reads {0}, but its operands are not those of its factor "
                    "model";
    return;
  }
  FactorFlow(op, model, operands, flow).run(words);
}
