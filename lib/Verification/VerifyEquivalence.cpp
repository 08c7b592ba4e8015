//===- VerifyEquivalence.cpp - planned programs compute the imported one --===//
#include "dialects/Decoder/Decoder.h"
#include "layline/Verification/Passes.h"
#include "llvm/ADT/MapVector.h"
#include <unordered_map>

namespace layline {
#define GEN_PASS_DEF_VERIFYEQUIVALENCE
#include "lib/Verification/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::grid;

namespace {

/// What an op computes: its name, its attributes, its operands by number, its
/// result's global type.
struct Computation {
  OperationName name;
  DictionaryAttr attributes;
  SmallVector<unsigned, 6> operands;
  SmallVector<Type, 2> results;

  friend bool operator==(const Computation &a, const Computation &b) {
    return a.name == b.name && a.attributes == b.attributes &&
           a.operands == b.operands && a.results == b.results;
  }
  llvm::hash_code hash() const {
    return llvm::hash_combine(
        name, attributes,
        llvm::hash_combine_range(operands.begin(), operands.end()),
        llvm::hash_combine_range(results.begin(), results.end()));
  }
};

/// Numbers values of several programs with one table, so that equal
/// computations have equal numbers.
class Numbering {
public:
  struct Program {
    SmallVector<unsigned> returned;
    /// Numbers of the caches' contents, which later steps read.
    SmallVector<unsigned> cached;
    /// Numbers of recorded values, and the op for messages.
    llvm::MapVector<StringAttr, std::pair<unsigned, Operation *>> recorded;
    /// The first op of a kind that no program before had, for messages.
    Operation *foreign = nullptr;
  };
  FailureOr<Program> number(func::FuncOp function);

private:
  void addRecorded(Operation &op, unsigned first, Program &program);
  LogicalResult numberBlock(Block &block, Program &program);
  LogicalResult numberOp(Operation &op, Program &program);

  std::unordered_multimap<size_t, std::pair<Computation, unsigned>> table;
  DenseMap<Value, unsigned> numbers;
  DenseSet<OperationName> known;
  unsigned next = 0;
};

} // namespace

static Type globalType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getEncoding() ? withLayout(tensor, {}) : type;
}

void Numbering::addRecorded(Operation &op, unsigned first, Program &program) {
  if (auto names =
          op.getAttrOfType<ArrayAttr>(decoder::DecoderDialect::kRecord))
    for (auto [index, name] : llvm::enumerate(names))
      program.recorded.insert({cast<StringAttr>(name), {first + index, &op}});
}

/// The attributes, but for the name that the value is recorded by: where rows
/// are sent on, that goes with them.
static DictionaryAttr getMeaning(Operation &op) {
  DictionaryAttr all = op.getAttrDictionary();
  if (!all.contains(decoder::DecoderDialect::kRecord))
    return all;
  NamedAttrList rest(all);
  rest.erase(decoder::DecoderDialect::kRecord);
  return rest.getDictionary(op.getContext());
}

LogicalResult Numbering::numberOp(Operation &op, Program &program) {
  // What these give is the same global tensor: their verifiers see to it.
  // The results of one are its first operands.
  if (isa<CommEdgeOpInterface, SliceOp, PadOp, UnpadOp>(op)) {
    for (auto [index, result] : llvm::enumerate(op.getResults()))
      numbers[result] = numbers.lookup(op.getOperand(index));
    addRecorded(op, numbers.lookup(op.getResult(0)), program);
    return success();
  }
  if (auto fused = dyn_cast<FusedOp>(op)) {
    Block &body = fused.getBody().front();
    if (failed(numberBlock(body, program)))
      return failure();
    for (auto [result, yielded] :
         llvm::zip(op.getResults(), body.getTerminator()->getOperands()))
      numbers[result] = numbers.lookup(yielded);
    return success();
  }
  if (op.getNumRegions())
    return op.emitOpError("has a region: its value has no number");

  // An op with a factor model says which rows it gives.
  if (known.insert(op.getName()).second && !program.foreign &&
      !isa<LayoutOpInterface>(op))
    program.foreign = &op;
  Computation computation{op.getName(), getMeaning(op), {}, {}};
  for (Value operand : op.getOperands())
    computation.operands.push_back(numbers.lookup(operand));
  // a + b = b + a
  if (op.hasTrait<OpTrait::IsCommutative>())
    llvm::sort(computation.operands);
  for (Type type : op.getResultTypes())
    computation.results.push_back(globalType(type));

  size_t hash = computation.hash();
  std::optional<unsigned> first;
  for (auto [it, end] = table.equal_range(hash); it != end; ++it)
    if (it->second.first == computation)
      first = it->second.second;
  if (!first) {
    first = next;
    next += std::max(1u, op.getNumResults());
    table.emplace(hash, std::make_pair(std::move(computation), *first));
  }
  for (auto [index, result] : llvm::enumerate(op.getResults()))
    numbers[result] = *first + index;
  auto carrier = dyn_cast<RowCarrierOpInterface>(op);
  if (carrier && carrier.prependsHistory())
    program.cached.push_back(*first);
  addRecorded(op, *first, program);
  return success();
}

LogicalResult Numbering::numberBlock(Block &block, Program &program) {
  for (Operation &op : block.without_terminator())
    if (failed(numberOp(op, program)))
      return failure();
  return success();
}

FailureOr<Numbering::Program> Numbering::number(func::FuncOp function) {
  Program program;
  Block &block = function.getBody().front();
  // Arguments are the same by their place.
  for (BlockArgument argument : block.getArguments())
    numbers[argument] = argument.getArgNumber();
  next = std::max<unsigned>(next, block.getNumArguments());
  if (failed(numberBlock(block, program)))
    return failure();
  for (Value value : block.getTerminator()->getOperands())
    program.returned.push_back(numbers.lookup(value));
  llvm::sort(program.cached);
  return program;
}

/// Whoever calls the imported program gets all of a result; a part of it is the
/// same global tensor, but not the same result.
static LogicalResult verifyReturnsAll(func::FuncOp function) {
  Operation *end = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    LayoutAttr layout = getLayout(value.getType());
    if (layout &&
        llvm::any_of(layout.getDims(), [](SplitAttr s) { return !!s; }))
      return end->emitOpError("returns result #")
             << index << " in parts, as " << layout
             << ": the imported program returns all of it; gather it first";
  }
  return success();
}

/// Arguments stand for one another by their place: they must be the same
/// inputs.
static LogicalResult compareInputs(func::FuncOp function,
                                   func::FuncOp reference) {
  auto describe = [](func::FuncOp of, unsigned index) {
    Attribute name = of.getArgAttr(index, decoder::DecoderDialect::kInput);
    return std::make_pair(name, globalType(of.getArgumentTypes()[index]));
  };
  unsigned count = function.getNumArguments();
  bool same = count == reference.getNumArguments();
  for (unsigned i = 0; same && i < count; ++i)
    same = describe(function, i) == describe(reference, i);
  if (same)
    return success();
  InFlightDiagnostic diag =
      function.emitOpError("takes other inputs than the imported program");
  diag.attachNote(reference.getLoc()) << "imported here";
  return diag;
}

namespace {
struct VerifyEquivalence
    : layline::impl::VerifyEquivalenceBase<VerifyEquivalence> {
  using VerifyEquivalenceBase::VerifyEquivalenceBase;

  /// Most often the cause: something that relabels what it does not gather.
  static void noteForeign(InFlightDiagnostic &diag,
                          const Numbering::Program &found) {
    if (found.foreign)
      diag.attachNote(found.foreign->getLoc())
          << "'" << found.foreign->getName()
          << "' is no op of the imported program, and no collective: what it "
             "does to the order of rows is not known";
  }

  LogicalResult compare(func::FuncOp function, const Numbering::Program &found,
                        func::FuncOp reference,
                        const Numbering::Program &expected) {
    // Recorded values in program order: the first that differs is where the
    // programs part.
    for (auto &[name, value] : expected.recorded) {
      auto it = found.recorded.find(name);
      if (it == found.recorded.end())
        return function.emitOpError("does not compute the recorded value ")
               << name << " of the imported program";
      if (it->second.first == value.first)
        continue;
      InFlightDiagnostic diag = it->second.second->emitOpError("gives ")
                                << name
                                << ", but not the value that the imported "
                                   "program gives it";
      diag.attachNote(value.second->getLoc())
          << "there it is computed by '" << value.second->getName()
          << "' from other operands or attributes";
      noteForeign(diag, found);
      return diag;
    }
    for (auto [index, pair] :
         llvm::enumerate(llvm::zip_longest(found.returned, expected.returned)))
      if (std::get<0>(pair) != std::get<1>(pair)) {
        InFlightDiagnostic diag = function.emitOpError("returns as result #")
                                  << index
                                  << " another value than the imported program";
        diag.attachNote(reference.getLoc()) << "imported here";
        noteForeign(diag, found);
        return diag;
      }
    if (failed(verifyReturnsAll(function)))
      return failure();
    if (found.cached != expected.cached) {
      InFlightDiagnostic diag = function.emitOpError(
          "leaves other rows in its caches than the imported program");
      diag.attachNote(reference.getLoc()) << "imported here";
      noteForeign(diag, found);
      return diag;
    }
    return success();
  }

  void runOnOperation() override {
    func::FuncOp reference;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() &&
          function->hasAttr(decoder::DecoderDialect::kReference))
        reference = function;
    if (!reference) {
      getOperation().emitError("has no reference program (attribute '")
          << decoder::DecoderDialect::kReference << "') to compare with";
      return signalPassFailure();
    }
    Numbering numbering;
    FailureOr<Numbering::Program> expected = numbering.number(reference);
    if (failed(expected))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function == reference || function.isExternal())
        continue;
      if (failed(compareInputs(function, reference))) {
        signalPassFailure();
        continue;
      }
      FailureOr<Numbering::Program> found = numbering.number(function);
      if (failed(found) ||
          failed(compare(function, *found, reference, *expected)))
        signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
