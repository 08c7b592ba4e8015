//===- Interpreter.cpp - a program on all ranks, exactly ------------------===//
#include "layline/Exact/Interpreter.h"
#include "Collectives.h"
#include "Layouts.h"

using namespace layline;
using namespace layline::exact;

namespace {

void addRope(const RopeTable &table, Hasher &hasher) {
  auto addNumbers = [&](const RopeTable::Numbers &numbers) {
    hasher.add(numbers.factor).add(uint64_t(numbers.inverseFrequencies.size()));
    for (double frequency : numbers.inverseFrequencies)
      hasher.add(frequency);
  };
  hasher.add(uint64_t(table.isInterleaved)).add(uint64_t(table.longAbove));
  addNumbers(table.numbers);
  hasher.add(uint64_t(table.longNumbers.has_value()));
  if (table.longNumbers)
    addNumbers(*table.longNumbers);
}

/// Everything but operands and coordinates that results depend on.
Digest signatureOf(const Op &op) {
  const Attributes &attrs = op.attrs;
  Hasher hasher("op");
  hasher.add(uint64_t(op.kind)).add(uint64_t(attrs.role)).add(attrs.input);
  const StoredTensor &stored = attrs.weight;
  hasher.add(stored.key).add(stored.shape).add(uint64_t(stored.isStacked));
  if (stored.rows)
    hasher.add(uint64_t(stored.rows->begin)).add(uint64_t(stored.rows->size));
  for (const std::string *text :
       {&attrs.function, &attrs.format, &attrs.from, &attrs.to, &attrs.plane})
    hasher.add(*text);
  for (double number : {attrs.eps, attrs.weightOffset, attrs.factor})
    hasher.add(number);
  if (attrs.rope)
    addRope(*attrs.rope, hasher);
  for (int64_t number :
       {attrs.layer, int64_t(attrs.isCausal), attrs.window.value_or(-1),
        attrs.topK, int64_t(attrs.renormalize), int64_t(attrs.dim), attrs.root})
    hasher.add(uint64_t(number));
  return hasher.digest();
}

} // namespace

struct Interpreter::Prepared {
  /// Two dimensions of which every rank holds as much; only those whose layouts
  /// differ have to be looked at.
  struct Check {
    DimRef a, b;
    unsigned idA, idB;
  };
  struct Flat {
    unsigned flat, outer, inner;
  };
  struct PreparedOp {
    Digest signature;
    std::vector<Check> checks;
    std::vector<Flat> flats;
    std::vector<ValueId> lastUses; ///< values that nobody needs afterwards
  };

  explicit Prepared(const SampledProgram &sampled);

  const SampledProgram &sampled;
  DimTable table;
  std::vector<PreparedOp> ops;
};

Interpreter::Prepared::Prepared(const SampledProgram &sampled)
    : sampled(sampled), table(sampled), ops(sampled.program->ops.size()) {
  const Program &program = *sampled.program;
  std::vector<size_t> lastUse(program.values.size(), 0);
  for (size_t index = 0; index < ops.size(); ++index) {
    const Op &op = program.ops[index];
    if (!sampled.faults[index].empty())
      break; // no run gets further
    PreparedOp &own = ops[index];
    own.signature = signatureOf(op);
    OpDims dims = describeDims(program, op);
    auto id = [&](DimRef ref) { return table.id(valueOf(op, ref), ref.dim); };
    for (const OpDims::Same &same : dims.same)
      if (same.isLocal && id(same.a) != id(same.b))
        own.checks.push_back({same.a, same.b, id(same.a), id(same.b)});
    for (const OpDims::Flat &flat : dims.flats)
      own.flats.push_back({id(flat.flat), id(flat.outer), id(flat.inner)});
    for (ValueId value : op.operands)
      lastUse[value] = index;
    for (ValueId value : op.results)
      lastUse[value] = index;
  }
  for (ValueId value = 0; value < lastUse.size() && !ops.empty(); ++value)
    ops[lastUse[value]].lastUses.push_back(value);
}

class Interpreter::Executor {
public:
  Executor(const Prepared &prepared, const Run &run, Memo &memo,
           const Observer &observe)
      : prepared(prepared), program(*prepared.sampled.program), run(run),
        memo(memo), observe(observe), layouts(prepared.table, run),
        ranks(program.ranks()), values(program.values.size()) {}

  Execution execute();

private:
  /// Runs one op on all ranks; false after a fault.
  bool runOp(size_t index);
  bool check(const Prepared::PreparedOp &op, KernelCall &call);
  bool runLocal(KernelCall &call);
  bool runTogether(KernelCall &call);
  bool checkResult(KernelCall &call, size_t result);
  bool fail(const KernelCall &call) {
    execution.fault = {call.opIndex, call.rank, call.fault};
    return false;
  }

  const Prepared &prepared;
  const Program &program;
  const Run &run;
  Memo &memo;
  const Observer &observe;
  RunLayouts layouts;
  int64_t ranks;
  std::vector<std::vector<Tensor>> values; ///< by value and rank
  Execution execution;
};

/// Whether what the rank holds of the operands and results fits together.
bool Interpreter::Executor::check(const Prepared::PreparedOp &op,
                                  KernelCall &call) {
  auto text = [](DimRef ref, const DimPart &part) {
    std::string text = describe(ref) + " has " +
                       std::to_string(part.extent + part.padding) + " elements";
    return part.labels.empty()
               ? text
               : text + " (from " + std::to_string(part.labels.front()) + ")";
  };
  for (size_t result = 0; result < call.op.results.size(); ++result)
    for (unsigned dim = 0; dim < call.dims(-1 - int(result)); ++dim)
      if (const DimPart &part = call.part({-1 - int(result), dim});
          !part.fault.empty())
        call.fail(part.fault);
  for (const Prepared::Check &each : op.checks) {
    const DimPart &a = layouts.part(each.idA, call.rank);
    const DimPart &b = layouts.part(each.idB, call.rank);
    if (!a.fits(b))
      call.fail(text(each.a, a) + ", " + text(each.b, b));
  }
  for (const Prepared::Flat &flat : op.flats) {
    const DimPart &whole = layouts.part(flat.flat, call.rank);
    const DimPart &outer = layouts.part(flat.outer, call.rank);
    const DimPart &inner = layouts.part(flat.inner, call.rank);
    if (whole.extent != outer.extent * inner.extent ||
        whole.size() != outer.size() * inner.size())
      call.fail(std::to_string(whole.extent) + " elements are no " +
                std::to_string(outer.extent) + " heads of " +
                std::to_string(inner.extent));
  }
  return call.fault.empty();
}

/// Whether the result is as large as its layout says.
bool Interpreter::Executor::checkResult(KernelCall &call, size_t result) {
  const Tensor &tensor = values[call.op.results[result]][call.rank];
  for (unsigned dim = 0; dim < tensor->shape.size(); ++dim) {
    const DimPart &part = call.part({-1 - int(result), dim});
    if (tensor->dim(dim) != part.size())
      call.fail("dimension " + std::to_string(dim) + " of the result, " +
                std::to_string(part.extent + part.padding) +
                " long in its layout, does not hold what is computed");
  }
  return call.fault.empty();
}

bool Interpreter::Executor::runLocal(KernelCall &call) {
  for (call.rank = 0; call.rank < ranks; ++call.rank) {
    call.operands.clear();
    Hasher hasher("result");
    hasher.add(call.signature);
    for (ValueId operand : call.op.operands) {
      call.operands.push_back(values[operand][call.rank]);
      hasher.add(call.operands.back()->digest);
    }
    if (!check(prepared.ops[call.opIndex], call))
      return fail(call);
    addCoordinates(call, hasher);
    for (size_t result = 0; result < call.op.results.size(); ++result) {
      Digest key = Hasher(hasher).add(uint64_t(result)).digest();
      Tensor &tensor = values[call.op.results[result]][call.rank];
      tensor = memo.find(key);
      if (!tensor) {
        runKernel(call);
        if (!call.fault.empty())
          return fail(call);
        tensor = call.results[result];
        memo.insert(key, tensor);
      }
      if (!checkResult(call, result))
        return fail(call);
    }
  }
  return true;
}

bool Interpreter::Executor::runTogether(KernelCall &call) {
  for (call.rank = 0; call.rank < ranks; ++call.rank)
    if (!check(prepared.ops[call.opIndex], call))
      return fail(call);
  std::vector<Tensor> inputs, outputs;
  std::vector<Tensor> &results = values[call.op.results[0]];
  for (int64_t first = 0; first < ranks; ++first) {
    if (results[first])
      continue; // as a member of an earlier one's group
    std::vector<int64_t> group = program.group(first, call.attrs().axes);
    inputs.clear();
    for (int64_t member : group)
      inputs.push_back(values[call.op.operands[0]][member]);
    runCollective(call, group, inputs, outputs);
    if (!call.fault.empty())
      return fail(call);
    for (size_t member = 0; member < group.size(); ++member) {
      call.rank = group[member];
      results[call.rank] = outputs[member];
      if (!checkResult(call, 0))
        return fail(call);
    }
  }
  return true;
}

bool Interpreter::Executor::runOp(size_t index) {
  const Op &op = program.ops[index];
  KernelCall call(prepared.sampled, op, prepared.ops[index].signature, run,
                  layouts, memo);
  call.opIndex = index;
  call.fault = prepared.sampled.faults[index];
  if (!call.fault.empty())
    return fail(call);
  for (ValueId result : op.results)
    values[result].resize(ranks);
  if (!(isCollective(op.kind) ? runTogether(call) : runLocal(call)))
    return false;
  execution.operations += ranks;
  return true;
}

Execution Interpreter::Executor::execute() {
  for (size_t index = 0; index < program.ops.size(); ++index) {
    if (!runOp(index))
      break;
    for (ValueId result : program.ops[index].results)
      if (observe && !observe({index, result, values[result], layouts}))
        return std::move(execution);
    for (ValueId value : prepared.ops[index].lastUses)
      values[value] = {};
  }
  return std::move(execution);
}

Interpreter::Interpreter(const SampledProgram &sampled)
    : prepared(std::make_unique<const Prepared>(sampled)) {}
Interpreter::~Interpreter() = default;

Execution Interpreter::run(const Run &run, Memo &memo,
                           const Observer &observe) const {
  if (prepared->sampled.program->hasSensibleMesh())
    return Executor(*prepared, run, memo, observe).execute();
  Execution execution;
  execution.fault = {0, 0, "the mesh has no sensible size"};
  return execution;
}
