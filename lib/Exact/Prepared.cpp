//===- Prepared.cpp - what is known of a program before a run -------------===//
#include "Prepared.h"

using namespace layline;
using namespace layline::exact;

namespace {

void addRope(const RopeTable &table, Hasher &hasher) {
  auto addNumbers = [&](const RopeTable::Numbers &numbers) {
    hasher.add(numbers.factor).add(uint64_t(numbers.inverseFrequencies.size()));
    for (double frequency : numbers.inverseFrequencies)
      hasher.add(frequency);
  };
  hasher.add(uint64_t(table.isReordered))
      .add(uint64_t(table.isInterleaved))
      .add(uint64_t(table.longAbove));
  addNumbers(table.numbers);
  hasher.add(uint64_t(table.longNumbers.has_value()));
  if (table.longNumbers)
    addNumbers(*table.longNumbers);
}

/// Everything but operands and coordinates that results depend on.
Digest signatureOf(const Program &program, const Op &op) {
  const Attributes &attrs = op.attrs;
  Hasher hasher("op");
  for (const std::vector<ValueId> *values : {&op.operands, &op.results})
    for (ValueId value : *values)
      hasher.add(uint64_t(program.values[value].elements));
  hasher.add(uint64_t(op.kind)).add(uint64_t(attrs.role)).add(attrs.input);
  const StoredTensor &stored = attrs.weight;
  hasher.add(stored.key).add(stored.shape).add(uint64_t(stored.isStacked));
  hasher.add(uint64_t(stored.isOneTensor)).add(uint64_t(stored.isTransposed));
  if (stored.rows)
    hasher.add(uint64_t(stored.rows->begin))
        .add(uint64_t(stored.rows->size))
        .add(uint64_t(stored.period));
  for (const std::string *text : {&attrs.function, &attrs.format, &attrs.from,
                                  &attrs.to, &attrs.plane, &attrs.groupScore})
    hasher.add(*text);
  for (double number :
       {attrs.eps, attrs.weightOffset, attrs.factor, attrs.alpha,
        attrs.upOffset, attrs.limit.value_or(0), attrs.softcap})
    hasher.add(number);
  if (attrs.rope)
    addRope(*attrs.rope, hasher);
  for (int64_t number :
       {attrs.layer, int64_t(attrs.isCausal), attrs.window.value_or(-1),
        attrs.topK, int64_t(attrs.renormalize), attrs.groups,
        attrs.chosenGroups, attrs.begin, attrs.width, int64_t(attrs.dim),
        attrs.root, attrs.experts})
    hasher.add(uint64_t(number));
  return hasher.digest();
}

Digest groupsOf(const Program &program, const Op &op) {
  Hasher hasher("groups");
  for (const Axis &axis : program.axes)
    hasher.add(uint64_t(axis.size));
  for (unsigned axis : op.attrs.axes)
    hasher.add(uint64_t(axis));
  return hasher.digest();
}

} // namespace

PreparedProgram::PreparedProgram(const SampledProgram &sampled)
    : sampled(sampled), table(sampled), ops(sampled.program->ops.size()) {
  const Program &program = *sampled.program;
  std::vector<size_t> lastUse(program.values.size(), 0);
  for (size_t index = 0; index < ops.size(); ++index) {
    const Op &op = program.ops[index];
    if (!sampled.faults[index].empty())
      break; // no run gets further
    PreparedOp &own = ops[index];
    own.signature = signatureOf(program, op);
    own.groups = groupsOf(program, op);
    own.mayShowGarbage = op.kind == OpKind::Relabel;
    for (ValueId result : op.results)
      for (const DimLayout &layout : program.values[result].dims)
        own.mayShowGarbage |= layout.pad.has_value();
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
