//===- Prepared.h - what is known of a program before a run -----*- C++ -*-===//
#ifndef LAYLINE_LIB_EXACT_PREPARED_H
#define LAYLINE_LIB_EXACT_PREPARED_H

#include "Layouts.h"
#include "OpDims.h"

namespace layline::exact {

/// A program, and what can be known of it before a run.
struct PreparedProgram {
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
    Digest signature;            ///< everything but operands and coordinates
    Digest groups;               ///< who takes part in a collective
    bool mayShowGarbage = false; ///< in padding, or where there is no data
    std::vector<Check> checks;
    std::vector<Flat> flats;
    std::vector<ValueId> lastUses; ///< values that nobody needs afterwards
  };

  explicit PreparedProgram(const SampledProgram &sampled);

  const SampledProgram &sampled;
  DimTable table;
  std::vector<PreparedOp> ops;
};

} // namespace layline::exact

#endif // LAYLINE_LIB_EXACT_PREPARED_H
