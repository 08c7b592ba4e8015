//===- Layouts.cpp - who holds what of every value in a run ---------------===//
#include "Layouts.h"
#include <unordered_map>

using namespace layline;
using namespace layline::exact;

static void addExpr(const Expr &expr, Hasher &hasher) {
  hasher.add(uint64_t(expr.op()));
  if (expr.isConstant()) {
    hasher.add(uint64_t(expr.constant()));
    return;
  }
  hasher.add(expr.name());
  for (const Expr &operand : expr.operands())
    addExpr(operand, hasher);
}

DimTable::DimTable(const SampledProgram &sampled) : sampled(sampled) {
  static const DimLayout whole;
  std::unordered_map<Digest, unsigned, DigestHash> known;
  const std::vector<Value> &values = sampled.program->values;
  for (ValueId id = 0; id < values.size(); ++id) {
    std::vector<unsigned> &own = ids.emplace_back();
    for (unsigned i = 0; i < values[id].shape.size(); ++i) {
      const DimLayout &layout =
          i < values[id].dims.size() ? values[id].dims[i] : whole;
      Hasher key("dimension");
      key.add(uint64_t(reinterpret_cast<uintptr_t>(sampled.items[id][i])));
      addExpr(values[id].shape[i], key);
      key.add(uint64_t(layout.unit)).add(uint64_t(layout.pad.has_value()));
      if (layout.pad)
        addExpr(*layout.pad, key);
      for (const Link &link : layout.links)
        key.add(uint64_t(link.axis)).add(link.identity);
      auto [entry, isNew] = known.try_emplace(key.digest(), dims.size());
      if (isNew)
        dims.push_back({sampled.items[id][i], &values[id].shape[i], &layout});
      own.push_back(entry->second);
    }
  }
}

RunLayouts::RunLayouts(const DimTable &table, const Run &run) : table(table) {
  for (const DimTable::Dim &dim : table.getDims()) {
    parts.push_back(getParts(dim, run));
    Hasher hasher("parts of the ranks");
    hasher.add(uint64_t(
        evaluateExtent(*dim.extent, run.tokens, run.past).value_or(-1)));
    for (const DimPart &part : parts.back()) {
      sound &= part.fault.empty();
      hasher.add(part.digest);
    }
    digests.push_back(hasher.digest());
  }
}

std::vector<DimPart> RunLayouts::getParts(const DimTable::Dim &dim,
                                          const Run &run) const {
  // Of what depends on tokens; nobody asks for a run of so many.
  constexpr int64_t kLargest = 4096;
  const Program &program = getProgram();
  std::optional<int64_t> extent =
      evaluateExtent(*dim.extent, run.tokens, run.past);
  std::optional<int64_t> pad = 0;
  if (dim.layout->pad)
    pad = evaluateExtent(*dim.layout->pad, run.tokens, run.past);
  DimPart none;
  if (!extent || !pad || *extent < 0 ||
      (!dim.items && (*extent > kLargest || *pad > kLargest)))
    none.fault = "an extent has no value, or no sensible one";
  if (!none.fault.empty())
    return {none};
  std::vector<DimPart> list;
  int64_t ranks = dim.layout->links.empty() ? 1 : program.ranks();
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::string fault;
    std::vector<Segment> segments = getLocalSegments(
        program, *dim.layout, *extent, program.coordinates(rank), fault);
    list.push_back(getDimPart(segments, dim.items, *pad));
    list.back().fault = std::move(fault);
  }
  return list;
}
