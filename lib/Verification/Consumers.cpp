//===- Consumers.cpp - who reads a rewritten value, and as what -----------===//
#include "layline/Verification/Consumers.h"
#include "ConsumerStates.h"
#include "mlir/IR/AsmState.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;

using OnProblem = llvm::function_ref<void(Location, StringRef, Operation *)>;

bool ConsumerReport::isFed() const {
  return llvm::all_of(values, [](const RewrittenValue &value) {
    return value.problem.empty() &&
           llvm::all_of(value.consumers,
                        [](const Consumer &c) { return c.isFed(); });
  });
}

namespace {

class Analysis {
public:
  Analysis(func::FuncOp function, OnProblem onProblem, bool words)
      : function(function), onProblem(onProblem), words(words) {}

  ConsumerReport run();

private:
  void flowBlock(Block &block);
  void flowOp(Operation &op);
  void flowRegions(Operation &op);
  void flowReturn(Operation &op);
  void checkClaims(Operation &op);
  std::optional<ValueState> getState(Value value) {
    auto it = states.find(value);
    return it == states.end() ? std::nullopt : it->second;
  }

  void addValue(Value value, StringRef form);
  void addReaders(Value value, RewrittenValue &entry);
  void checkReaders(Value value, RewrittenValue &entry);
  StringRef getForm(Value value);
  bool hasUnfedReader(Value value);

  std::string nameOf(Value value);
  std::string describe(Operation *op);
  std::string fill(std::string problem, Operation *op, unsigned operand);
  void report(Location at, StringRef problem, Operation *since) {
    if (onProblem)
      onProblem(at, problem, since);
  }

  func::FuncOp function;
  OnProblem onProblem;
  bool words;
  std::optional<AsmState> names;
  DenseMap<Value, std::optional<ValueState>> states;
  /// Of all ops, or, without words, of those with a problem.
  DenseMap<Operation *, OpFlow> flows;
  /// Results whose types are the first to say what is not so.
  DenseMap<Value, std::string> claims;
  ConsumerReport result;
};

} // namespace

std::string Analysis::nameOf(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // The program may be one that would not print otherwise.
  if (!names)
    names.emplace(function, OpPrintingFlags().assumeVerified().useLocalScope());
  value.printAsOperand(os, *names);
  return text;
}

/// `'decoder.router' at layer.3.router`
std::string Analysis::describe(Operation *op) {
  std::string text = "'" + op->getName().getStringRef().str() + "'";
  if (StringAttr place = getPlace(op->getLoc()))
    text += " at " + place.str();
  return text;
}

/// The problem of an operand as a sentence.
std::string Analysis::fill(std::string problem, Operation *op,
                           unsigned operand) {
  if (size_t at = problem.find("{0}"); at != std::string::npos)
    problem.replace(at, 3,
                    nameOf(op->getOperand(operand)) + " (operand #" +
                        std::to_string(operand) + ")");
  return describe(op) + " " + problem;
}

//===----------------------------------------------------------------------===//
// Forwards: what the ranks hold
//===----------------------------------------------------------------------===//

/// What leaves is what the program's type promises.
void Analysis::flowReturn(Operation &op) {
  OpFlow &flow = flows[&op];
  flow.operands.resize(op.getNumOperands());
  for (auto [index, use] : llvm::enumerate(flow.operands)) {
    std::optional<ValueState> state = getState(op.getOperand(index));
    std::optional<ValueState> promised;
    if (index < function.getNumResults())
      promised = getDeclaredState(function.getResultTypes()[index]);
    if (!state || !promised)
      continue;
    StringRef rows = "rows";
    use.needs = describeState(*promised, rows);
    use.gets = describeState(*state, rows);
    if (!state->owes.empty()) {
      use.problem = "returns {0}, which owes a sum over " +
                    joinAxes(state->owes) + " that nothing pays";
      use.since = state->owedSince;
    } else if (!state->dims.empty() && state->dims[0].split &&
               state->dims[0].split.isRouted()) {
      use.problem = "returns {0}, of which each rank has only the rows of its "
                    "experts";
      use.since = state->dims[0].narrowedBy;
    } else if (!state->isLike(*promised)) {
      use.problem = "returns {0} as " + use.needs + ", but gets " + use.gets;
      for (const DimState &held : state->dims)
        use.since = use.since ? use.since : held.narrowedBy;
      if (use.since)
        use.problem += ": narrowed at " + describePlace(use.since) +
                       " and nothing gathers it";
    }
  }
}

/// Where a type first says something else than what the operands give. Behind
/// it the truth goes on, and readers are judged by that.
void Analysis::checkClaims(Operation &op) {
  auto isHonest = [&](Value value) {
    std::optional<ValueState> state = getState(value);
    std::optional<ValueState> declared = getDeclaredState(value.getType());
    return !state || !declared || state->isLike(*declared);
  };
  if (!llvm::all_of(op.getOperands(), isHonest))
    return;
  for (Value value : op.getResults()) {
    if (isHonest(value))
      continue;
    StringRef rows = "rows";
    claims[value] = describe(&op) + " gives " + nameOf(value) + " as " +
                    describeState(*getDeclaredState(value.getType()), rows) +
                    ", but its operands give " +
                    describeState(*getState(value), rows);
  }
}

/// What stands in a region of another op may be run by some ranks only, or
/// several times.
void Analysis::flowRegions(Operation &op) {
  for (Region &region : op.getRegions())
    region.walk([&](Operation *inner) {
      OpFlow &flow = flows[inner];
      flow.operands.resize(inner->getNumOperands());
      for (auto [operand, use] : llvm::zip(inner->getOperands(), flow.operands))
        if (getState(operand))
          use.problem = "reads {0} in a region of '" +
                        op.getName().getStringRef().str() +
                        "': what the ranks hold there is not known";
    });
}

void Analysis::flowOp(Operation &op) {
  if (auto fused = dyn_cast<FusedOp>(op); fused && !fused.getBody().empty()) {
    Block &body = fused.getBody().front();
    flowBlock(body);
    if (!body.empty())
      for (auto [result, yielded] :
           llvm::zip(op.getResults(), body.back().getOperands()))
        states[result] = getState(yielded);
    return;
  }
  if (isa<YieldOp>(op))
    return;
  if (isa<func::ReturnOp>(op))
    return flowReturn(op);
  flowRegions(op);
  SmallVector<std::optional<ValueState>> operands;
  for (Value operand : op.getOperands())
    operands.push_back(getState(operand));
  OpFlow flow = getFlow(&op, operands, words);
  for (auto [result, state] : llvm::zip(op.getResults(), flow.results))
    states[result] = state;
  if (!flow.hasProblem())
    checkClaims(op);
  if (words || flow.hasProblem())
    flows[&op] = std::move(flow);
}

void Analysis::flowBlock(Block &block) {
  for (Operation &op : block)
    flowOp(op);
}

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

/// How planning changed a value; empty if it is as every rank has always had
/// it.
StringRef Analysis::getForm(Value value) {
  Operation *op = value.getDefiningOp();
  std::optional<ValueState> state = getState(value);
  if (isa_and_nonnull<AllGatherOp>(op))
    return "gathered";
  if (isa_and_nonnull<SliceOp, ReduceScatterOp>(op))
    return "narrowed";
  if (isa_and_nonnull<DispatchOp>(op))
    return "dispatched";
  if (isa_and_nonnull<CombineOp>(op))
    return "combined";
  if (state && !state->owes.empty())
    return "deferred";
  if (isa_and_nonnull<AllReduceOp>(op))
    return "summed";
  if (isa_and_nonnull<CommEdgeOpInterface>(op))
    return "copied";
  if (state && llvm::any_of(state->dims, [](auto &dim) { return dim.pad; }))
    return "padded";
  // Tokens, not the features in front of a weight.
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  bool hasRows = tensor && tensor.getRank() && tensor.isDynamicDim(0);
  if (state && hasRows && state->dims[0].split)
    return "by rows";
  if (claims.contains(value))
    return "relabelled";
  // Not rewritten, and yet not what some reader needs.
  return hasUnfedReader(value) ? "as placed" : "";
}

bool Analysis::hasUnfedReader(Value value) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *reader = use.getOwner();
    unsigned operand = use.getOperandNumber();
    if (isa<YieldOp>(reader))
      return operand < reader->getParentOp()->getNumResults() &&
             hasUnfedReader(reader->getParentOp()->getResult(operand));
    auto flow = flows.find(reader);
    return flow != flows.end() && operand < flow->second.operands.size() &&
           !flow->second.operands[operand].problem.empty();
  });
}

/// Readers of a value; what a fused region yields is read outside.
void Analysis::addReaders(Value value, RewrittenValue &entry) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    uses.push_back(&use);
  // Uses are listed last first.
  for (OpOperand *use : llvm::reverse(uses)) {
    Operation *user = use->getOwner();
    unsigned operand = use->getOperandNumber();
    if (isa<YieldOp>(user)) {
      Operation *fused = user->getParentOp();
      if (operand < fused->getNumResults())
        addReaders(fused->getResult(operand), entry);
      continue;
    }
    Consumer consumer{
        user->getName().stripDialect().str(), {}, operand, {}, {}, {}};
    if (StringAttr place = getPlace(user->getLoc()))
      consumer.at = place.str();
    auto flow = flows.find(user);
    if (flow != flows.end() && operand < flow->second.operands.size()) {
      const OperandFlow &found = flow->second.operands[operand];
      consumer.needs = found.needs;
      consumer.gets = found.gets;
      if (!found.problem.empty()) {
        consumer.problem = fill(found.problem, user, operand);
        report(user->getLoc(), consumer.problem, found.since);
      }
    }
    entry.consumers.push_back(std::move(consumer));
  }
}

/// What is wrong with the number of readers, or with the value's type.
void Analysis::checkReaders(Value value, RewrittenValue &entry) {
  std::optional<ValueState> state = getState(value);
  bool owes = state && !state->owes.empty();
  size_t count = entry.consumers.size();
  Operation *op = value.getDefiningOp();
  auto claim = claims.find(value);
  if (claim == claims.end() && count != 0 && !(owes && count > 1))
    return;
  std::string name = nameOf(value);
  if (op)
    name += ", given by " + describe(op) + ",";
  if (claim != claims.end())
    entry.problem = claim->second;
  else if (owes)
    entry.problem =
        "the sum that " + name + " owes over " + joinAxes(state->owes) +
        " has " +
        (count ? std::to_string(count) + " readers: each would pay it"
               : "no reader: nothing pays it");
  // Of several results one may be there for people only: an indexer's scores.
  else if (op && op->use_empty())
    entry.problem = name + " has no reader: its rows are lost";
  else
    return;
  report(value.getLoc(), entry.problem, nullptr);
}

void Analysis::addValue(Value value, StringRef form) {
  RewrittenValue entry;
  Operation *op = value.getDefiningOp();
  if (StringAttr place = getPlace(value.getLoc()))
    entry.name = place.str();
  if (words)
    entry.value = nameOf(value);
  entry.op = op ? op->getName().stripDialect().str() : "argument";
  entry.form = form.str();
  if (LayoutAttr layout = getLayout(value.getType()))
    llvm::raw_string_ostream(entry.layout) << layout;
  addReaders(value, entry);
  checkReaders(value, entry);
  result.values.push_back(std::move(entry));
}

ConsumerReport Analysis::run() {
  result.function = function.getSymName().str();
  SmallVector<Value> values;
  for (Block &block : function.getBody()) {
    for (Value argument : block.getArguments()) {
      states[argument] = getDeclaredState(argument.getType());
      values.push_back(argument);
    }
    flowBlock(block);
  }
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<FusedOp>(op) && op != function)
      llvm::append_range(values, op->getResults());
  });
  for (Value value : values)
    if (StringRef form = getForm(value); !form.empty())
      addValue(value, form);
  if (words)
    result.work = countWork(function);
  return std::move(result);
}

ConsumerReport layline::analyzeConsumers(func::FuncOp function, bool words,
                                         OnProblem onProblem) {
  return Analysis(function, onProblem, words).run();
}

FailureOr<ConsumerReport> layline::verifyConsumers(func::FuncOp function) {
  ConsumerReport report =
      analyzeConsumers(function, /*words=*/false,
                       [](Location at, StringRef problem, Operation *since) {
                         InFlightDiagnostic diag = emitError(at) << problem;
                         if (since)
                           diag.attachNote(since->getLoc()) << "since here";
                       });
  if (!report.isFed())
    return failure();
  return report;
}
