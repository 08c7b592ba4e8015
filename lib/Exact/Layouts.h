//===- Layouts.h - who holds what of every value in a run -------*- C++ -*-===//
#ifndef LAYLINE_LIB_EXACT_LAYOUTS_H
#define LAYLINE_LIB_EXACT_LAYOUTS_H

#include "Parts.h"
#include "layline/Exact/Interpreter.h"
#include "layline/Exact/Sampling.h"

namespace layline::exact {

/// The different dimensions of a program; most values share a few.
class DimTable {
public:
  explicit DimTable(const SampledProgram &sampled);

  unsigned id(ValueId value, unsigned dim) const { return ids[value][dim]; }
  struct Dim {
    const Items *items;
    const Expr *extent;
    const DimLayout *layout;
  };
  const std::vector<Dim> &getDims() const { return dims; }
  const SampledProgram &getSampled() const { return sampled; }

private:
  const SampledProgram &sampled;
  std::vector<std::vector<unsigned>> ids; ///< by value and dimension
  std::vector<Dim> dims;
};

/// Their parts on all ranks, at given sizes.
class RunLayouts {
public:
  RunLayouts(const DimTable &table, const Run &run);

  const DimPart &part(unsigned id, int64_t rank) const {
    return parts[id][parts[id].size() == 1 ? 0 : rank];
  }
  const DimPart &part(ValueId value, unsigned dim, int64_t rank) const {
    return part(table.id(value, dim), rank);
  }
  unsigned dims(ValueId value) const {
    return getProgram().values[value].shape.size();
  }
  /// Of the whole extent and the parts of all ranks.
  const Digest &digest(ValueId value, unsigned dim) const {
    return digests[table.id(value, dim)];
  }
  /// No part has a fault.
  bool isSound() const { return sound; }
  const Program &getProgram() const { return *table.getSampled().program; }

private:
  std::vector<DimPart> getParts(const DimTable::Dim &dim, const Run &run) const;

  const DimTable &table;
  /// By dimension; one part alone where all ranks hold the same.
  std::vector<std::vector<DimPart>> parts;
  std::vector<Digest> digests; ///< by dimension
  bool sound = true;
};

} // namespace layline::exact

#endif // LAYLINE_LIB_EXACT_LAYOUTS_H
