//===- Comparison.h - values of a program and of the reference --*- C++ -*-===//
#ifndef LAYLINE_LIB_EXACT_COMPARISON_H
#define LAYLINE_LIB_EXACT_COMPARISON_H

#include "Layouts.h"
#include "layline/Exact/Interpreter.h"
#include <map>

namespace layline::exact {

/// A value of a program that has to be a value of the reference.
struct Pair {
  ValueId value, reference;
};

/// What corresponds in two programs.
struct Correspondence {
  /// Outputs, caches and recorded names: what is compared.
  std::vector<Pair> compared;
  /// Besides, results of ops of the same place and kind: they help to find
  /// where a difference begins, though a legal program may differ in them.
  std::vector<Pair> located;
  /// What the programs do not have in common, or empty.
  std::string fault;
};
Correspondence findCorrespondence(const Program &program,
                                  const Program &reference);

struct Difference {
  int64_t rank = -1;
  std::vector<int64_t> element; ///< true global coordinates
  std::string message;          ///< what is wrong, if not the element's value
};

/// Compares a value on all ranks with the whole one of the reference. Owed sums
/// are taken; every element has to be on some rank.
std::optional<Difference> findDifference(const Computed &computed,
                                         const LocalTensor &reference,
                                         ValueId referenceValue,
                                         const RunLayouts &referenceLayouts);

} // namespace layline::exact

#endif // LAYLINE_LIB_EXACT_COMPARISON_H
