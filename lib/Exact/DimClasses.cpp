//===- DimClasses.cpp - dimensions that are the same ----------------------===//
#include "DimClasses.h"
#include "Parts.h"

using namespace layline;
using namespace layline::exact;

DimClasses::DimClasses(const std::vector<const Program *> &programs)
    : programs(programs) {
  for (const Program *program : programs) {
    std::vector<unsigned> &first = firstNode.emplace_back();
    for (const Value &value : program->values) {
      first.push_back(nodes());
      for (const Expr &dim : value.shape) {
        extents.push_back(&dim);
        parents.push_back(nodes());
      }
    }
  }
  for (size_t program = 0; program < programs.size(); ++program)
    joinProgram(program);
  joinFactors();
}

unsigned DimClasses::addNode(int64_t extent) {
  extents.push_back(&ownExtents.emplace_back(extent));
  parents.push_back(nodes());
  return nodes() - 1;
}

unsigned DimClasses::find(unsigned node) {
  while (parents[node] != node)
    node = parents[node] = parents[parents[node]];
  return node;
}

void DimClasses::joinAs(const Digest &key, unsigned node) {
  auto [entry, isNew] = known.try_emplace(key, node);
  if (!isNew && isSameExtent(extent(entry->second), extent(node)))
    unite(entry->second, node);
}

void DimClasses::joinValue(const Hasher &key, size_t program, ValueId value) {
  const Program &p = *programs[program];
  if (value >= p.values.size())
    return;
  for (unsigned dim = 0; dim < p.values[value].shape.size(); ++dim)
    joinAs(Hasher(key).add(uint64_t(dim)).digest(), node(program, value, dim));
}

/// Dimensions of one checkpoint tensor are the same wherever it is used; a
/// window of its rows is a dimension of its own.
void DimClasses::joinWeight(size_t program, const Op &op) {
  const StoredTensor &stored = op.attrs.weight;
  for (unsigned dim = 0; dim < stored.shape.size() + stored.isStacked; ++dim) {
    bool isExpert = stored.isStacked && dim == 0;
    uint64_t own = isExpert ? ~uint64_t(0) : dim - stored.isStacked;
    Hasher key("weight dimension");
    key.add(stored.key).add(own);
    if (own == 0 && stored.rows)
      key.add(uint64_t(stored.rows->begin))
          .add(uint64_t(stored.rows->size))
          .add(uint64_t(stored.period));
    joinAs(key.digest(), node(program, op.results[0], dim));
  }
}

std::string DimClasses::joinOp(size_t program, size_t index) {
  const Program &p = *programs[program];
  const Op &op = p.ops[index];
  OpDims dims = describeDims(p, op);
  auto nodeOf = [&](DimRef ref) {
    return node(program, valueOf(op, ref), ref.dim);
  };
  for (const OpDims::Same &same : dims.same) {
    const Expr &a = extent(nodeOf(same.a)), &b = extent(nodeOf(same.b));
    if (!isSameExtent(a, b))
      return describe(same.a) + " is " + describeExtent(a) + ", " +
             describe(same.b) + " is " + describeExtent(b);
    unite(nodeOf(same.a), nodeOf(same.b));
  }
  for (const OpDims::Flat &flat : dims.flats) {
    Flat entry = {nodeOf(flat.flat), nodeOf(flat.outer), nodeOf(flat.inner),
                  program, index};
    Expr outer = extent(entry.outer), inner = extent(entry.inner);
    if (!outer.isConstant() || !inner.isConstant() || inner.constant() < 1 ||
        !isSameExtent(extent(entry.flat), outer * inner))
      return describe(flat.flat) + " is " + describeExtent(extent(entry.flat)) +
             ", but heads and width are " + describeExtent(outer) + " and " +
             describeExtent(inner);
    flats.push_back(entry);
  }
  for (const OpDims::Grouped &pair : dims.groups)
    flats.push_back({nodeOf(pair.flat), nodeOf(pair.groups), addNode(pair.size),
                     program, index});
  for (const OpDims::Readers &pair : dims.readers) {
    Readers entry = {nodeOf(pair.heads), nodeOf(pair.kvHeads)};
    const Expr &heads = extent(entry.heads), &kv = extent(entry.kvHeads);
    if (!heads.isConstant() || !kv.isConstant() || kv.constant() < 1 ||
        heads.constant() % kv.constant() != 0)
      return describeExtent(heads) + " query heads are no multiple of " +
             describeExtent(kv) + " KV heads";
    readers.push_back(entry);
  }
  for (const OpDims::Window &window : dims.windows) {
    Window entry = {nodeOf(window.whole), nodeOf(window.part), window.begin};
    const Expr &whole = extent(entry.whole), &part = extent(entry.part);
    if (!whole.isConstant() || !part.isConstant() || entry.begin < 0 ||
        entry.begin > whole.constant() - part.constant())
      return describeExtent(part) + " columns from " +
             std::to_string(entry.begin) + " on are not within " +
             describeExtent(whole);
    windows.push_back(entry);
  }
  for (DimRef ref : dims.choices)
    choices.push_back(nodeOf(ref));
  for (DimRef ref : dims.rotated)
    rotations.push_back({nodeOf(ref), op.attrs.rope.get()});
  for (const OpDims::Reordered &pair : dims.reordered)
    reorderings.push_back(
        {nodeOf(pair.from), nodeOf(pair.to), op.attrs.rope.get()});
  if (dims.fault.empty() && op.kind == OpKind::Weight)
    joinWeight(program, op);
  if (dims.fault.empty() && op.kind == OpKind::Embedding)
    vocabularies.push_back(nodeOf({1, 0}));
  return dims.fault;
}

void DimClasses::joinProgram(size_t program) {
  const Program &p = *programs[program];
  std::vector<bool> isDefined(p.values.size());
  faults.emplace_back(p.ops.size());
  for (size_t index = 0; index < p.ops.size(); ++index) {
    const Op &op = p.ops[index];
    std::string &fault = faults[program][index];
    fault = findMalformed(p, op);
    for (size_t i = 0; fault.empty() && i < op.operands.size(); ++i)
      if (!isDefined[op.operands[i]])
        fault = "operand " + std::to_string(i) + " has no value yet";
    for (size_t i = 0; fault.empty() && i < op.results.size(); ++i) {
      if (isDefined[op.results[i]])
        fault = "result " + std::to_string(i) + " has a value already";
      isDefined[op.results[i]] = true;
    }
    if (!fault.empty())
      continue;
    fault = joinOp(program, index);
    if (op.kind == OpKind::Cache)
      joinValue(Hasher("cache dimension")
                    .add(uint64_t(op.attrs.layer))
                    .add(op.attrs.plane),
                program, op.results[0]);
    for (size_t i = 0; i < std::min(op.names.size(), op.results.size()); ++i)
      if (!op.names[i].empty())
        joinValue(Hasher("named dimension").add(op.names[i]), program,
                  op.results[i]);
  }
  for (size_t i = 0; i < p.outputs.size(); ++i)
    joinValue(Hasher("output dimension").add(uint64_t(i)), program,
              p.outputs[i]);
}

/// Run whole, a dimension is the same set of elements in whatever factors; of a
/// large one that would take too long.
void DimClasses::contradict(const Flat &flat, const Flat &other) {
  constexpr int64_t kLargestWhole = 512;
  for (const Flat *each : {&flat, &other})
    for (unsigned node : {each->flat, each->outer, each->inner})
      contradictions.push_back(node);
  std::string &fault = faults[flat.program][flat.op];
  if (extent(flat.flat).constant() > kLargestWhole && fault.empty())
    fault = "heads are " + describeExtent(extent(flat.inner)) + " wide, but " +
            describeExtent(extent(other.inner)) + " at " +
            programs[other.program]->ops[other.op].place;
}

/// A flat dimension that two places see as heads of the same width has the same
/// heads in both; of different widths, it is a contradiction.
void DimClasses::joinFactors() {
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    std::unordered_map<unsigned, const Flat *> first;
    contradictions.clear();
    for (const Flat &flat : flats) {
      auto [entry, isNew] = first.try_emplace(find(flat.flat), &flat);
      if (isNew)
        continue;
      const Flat &other = *entry->second;
      if (!isSameExtent(extent(flat.inner), extent(other.inner))) {
        contradict(flat, other);
        continue;
      }
      for (auto [a, b] : {std::pair(flat.outer, other.outer),
                          std::pair(flat.inner, other.inner)})
        if (find(a) != find(b)) {
          unite(a, b);
          isChanged = true;
        }
    }
  }
}
