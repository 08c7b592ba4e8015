//===- Interpreter.cpp - a program on all ranks, exactly ------------------===//
#include "layline/Exact/Interpreter.h"
#include "Collectives.h"
#include "Prepared.h"

using namespace layline;
using namespace layline::exact;

class Interpreter::Executor {
public:
  Executor(const PreparedProgram &prepared, const Run &run, Memo &memo,
           const Observer &observe)
      : prepared(prepared), program(*prepared.sampled.program), run(run),
        memo(memo), observe(observe), layouts(prepared.table, run),
        ranks(program.ranks()), values(program.values.size()) {}

  Execution execute();

private:
  /// Runs one op on all ranks; false after a fault.
  bool runOp(size_t index);
  bool check(const PreparedProgram::PreparedOp &op, KernelCall &call);
  bool runLocal(KernelCall &call);
  Tensor compute(KernelCall &call, const Digest &key, size_t result);
  bool runTogether(KernelCall &call);
  bool checkResult(KernelCall &call, size_t result);
  Digest keyOnRanks(const KernelCall &call) const;
  bool fail(const KernelCall &call) {
    execution.fault = {call.opIndex, call.rank, call.fault};
    return false;
  }

  const PreparedProgram &prepared;
  const Program &program;
  const Run &run;
  Memo &memo;
  const Observer &observe;
  RunLayouts layouts;
  int64_t ranks;
  std::vector<RankValue> values;
  /// Results of the op that runs, by result and rank.
  std::vector<Tensor> results[3];
  /// Results of the op on the ranks before.
  std::vector<std::pair<Digest, Tensor>> recent;
  size_t nextRecent = 0;
  Execution execution;
};

/// Whether what the rank holds of the operands and results fits together.
bool Interpreter::Executor::check(const PreparedProgram::PreparedOp &op,
                                  KernelCall &call) {
  auto text = [](DimRef ref, const DimPart &part) {
    std::string text = describe(ref) + " has " +
                       std::to_string(part.extent + part.padding) + " elements";
    return part.labels.empty()
               ? text
               : text + " (from " + std::to_string(part.labels.front()) + ")";
  };
  for (size_t result = 0; !layouts.isSound() && result < call.op.results.size();
       ++result)
    for (unsigned dim = 0; dim < call.dims(-1 - int(result)); ++dim)
      if (const DimPart &part = call.part({-1 - int(result), dim});
          !part.fault.empty())
        call.fail(part.fault);
  for (const PreparedProgram::Check &each : op.checks) {
    const DimPart &a = layouts.part(each.idA, call.rank);
    const DimPart &b = layouts.part(each.idB, call.rank);
    if (!a.fits(b))
      call.fail(text(each.a, a) + ", " + text(each.b, b));
  }
  for (const PreparedProgram::Flat &flat : op.flats) {
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
  const Tensor &tensor = results[result][call.rank];
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
  Hasher prefix("result");
  prefix.add(call.signature);
  recent.clear();
  for (call.rank = 0; call.rank < ranks; ++call.rank) {
    Hasher hasher = prefix;
    call.operands.clear();
    for (ValueId operand : call.op.operands) {
      call.operands.push_back(values[operand]->ranks[call.rank]);
      hasher.add(call.operands.back()->digest);
    }
    if (!check(prepared.ops[call.opIndex], call))
      return fail(call);
    addCoordinates(call, hasher);
    for (size_t result = 0; result < call.op.results.size(); ++result) {
      Digest key = hasher.add(uint64_t(result)).digest();
      Tensor &tensor = results[result][call.rank];
      tensor = compute(call, key, result);
      if (!tensor || !checkResult(call, result))
        return fail(call);
    }
  }
  return true;
}

/// The result of this key: of a rank before, of the memo, or new.
Tensor Interpreter::Executor::compute(KernelCall &call, const Digest &key,
                                      size_t result) {
  // Few ranks hold different data of a value; further ones are looked up.
  constexpr size_t kRecent = 4;
  for (const auto &known : recent)
    if (known.first == key)
      return known.second;
  bool isLasting = call.op.kind == OpKind::Weight;
  Tensor tensor = memo.find(key, isLasting);
  if (!tensor) {
    runKernel(call);
    if (!call.fault.empty())
      return nullptr;
    tensor = call.results[result];
    memo.insert(key, tensor, isLasting);
  }
  if (recent.size() < kRecent)
    recent.emplace_back(key, tensor);
  else
    recent[nextRecent++ % kRecent] = {key, tensor};
  return tensor;
}

bool Interpreter::Executor::runTogether(KernelCall &call) {
  for (call.rank = 0; call.rank < ranks; ++call.rank)
    if (!check(prepared.ops[call.opIndex], call))
      return fail(call);
  std::vector<std::vector<Tensor>> inputs(call.op.operands.size()),
      outputs(call.op.results.size());
  for (int64_t first = 0; first < ranks; ++first) {
    if (results[0][first])
      continue; // as a member of an earlier one's group
    std::vector<int64_t> group = program.group(first, call.attrs().axes);
    for (size_t operand = 0; operand < inputs.size(); ++operand) {
      inputs[operand].clear();
      for (int64_t member : group)
        inputs[operand].push_back(
            values[call.op.operands[operand]]->ranks[member]);
    }
    if (isRouting(call.op.kind))
      runRouting(call, group, inputs, outputs);
    else
      runCollective(call, group, inputs[0], outputs[0]);
    if (!call.fault.empty())
      return fail(call);
    for (size_t member = 0; member < group.size(); ++member) {
      call.rank = group[member];
      for (size_t result = 0; result < outputs.size(); ++result) {
        results[result][call.rank] = outputs[result][member];
        if (!checkResult(call, result))
          return fail(call);
      }
    }
  }
  return true;
}

/// What the op depends on, ranks and layouts together.
Digest Interpreter::Executor::keyOnRanks(const KernelCall &call) const {
  const PreparedProgram::PreparedOp &own = prepared.ops[call.opIndex];
  Hasher hasher("op on ranks");
  hasher.add(own.signature).add(own.groups);
  hasher.add(uint64_t(run.tokens)).add(uint64_t(run.past));
  hasher.add(uint64_t(run.base));
  auto addLayout = [&](ValueId value) {
    for (unsigned dim = 0; dim < layouts.dims(value); ++dim)
      hasher.add(layouts.digest(value, dim));
  };
  for (ValueId operand : call.op.operands) {
    hasher.add(values[operand]->digest);
    addLayout(operand);
  }
  for (ValueId result : call.op.results)
    addLayout(result);
  return hasher.digest();
}

bool Interpreter::Executor::runOp(size_t index) {
  const Op &op = program.ops[index];
  KernelCall call(prepared.sampled, op, prepared.ops[index].signature, run,
                  layouts, memo);
  call.opIndex = index;
  call.fault = prepared.sampled.faults[index];
  if (!call.fault.empty())
    return fail(call);
  execution.operations += ranks;
  // Garbage is another one in every op.
  bool isShared = layouts.isSound() && !prepared.ops[index].mayShowGarbage;
  Digest key = isShared ? keyOnRanks(call) : Digest{};
  auto keyOf = [&](size_t result) {
    return Hasher("result").add(key).add(uint64_t(result)).digest();
  };
  bool isKnown = isShared;
  for (size_t result = 0; isKnown && result < op.results.size(); ++result) {
    values[op.results[result]] = memo.findOnRanks(keyOf(result));
    isKnown = values[op.results[result]] != nullptr;
  }
  if (isKnown)
    return true;
  for (size_t result = 0; result < op.results.size(); ++result)
    results[result].assign(ranks, nullptr);
  if (!(isCollective(op.kind) ? runTogether(call) : runLocal(call)))
    return false;
  for (size_t result = 0; result < op.results.size(); ++result) {
    auto value =
        std::make_shared<const RankTensors>(std::move(results[result]));
    values[op.results[result]] = value;
    if (isShared)
      memo.insertOnRanks(keyOf(result), std::move(value));
  }
  return true;
}

Execution Interpreter::Executor::execute() {
  for (size_t index = 0; index < program.ops.size(); ++index) {
    if (!runOp(index))
      break;
    for (ValueId result : program.ops[index].results)
      if (observe && !observe({index, result, *values[result], layouts, memo}))
        return std::move(execution);
    for (ValueId value : prepared.ops[index].lastUses)
      values[value] = nullptr;
  }
  return std::move(execution);
}

Interpreter::Interpreter(const SampledProgram &sampled)
    : prepared(std::make_unique<const PreparedProgram>(sampled)) {}
Interpreter::Interpreter(Interpreter &&) noexcept = default;
Interpreter::~Interpreter() = default;

Execution Interpreter::run(const Run &run, Memo &memo,
                           const Observer &observe) const {
  if (prepared->sampled.program->hasSensibleMesh())
    return Executor(*prepared, run, memo, observe).execute();
  Execution execution;
  execution.fault = {0, 0, "the mesh has no sensible size"};
  return execution;
}
