//===- PlanChanges.h - what another plan does differently -------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_PLANCHANGES_H
#define LAYLINE_LIB_TRACE_PLANCHANGES_H

#include "SizedPlan.h"

namespace layline::trace {

/// The steps of two plans of a model beside each other, each at one token count
/// on one rank.
struct PlanChanges {
  const SizedVariant *before = nullptr, *after = nullptr;
  /// By step of `before`: the step of `after` of the same kind at the same
  /// place, or -1; and whether it has the same sizes.
  std::vector<int> counterpart;
  std::vector<bool> isSame;
  /// By step of `after`: the step of `before` that it is the counterpart of.
  std::vector<int> origin;

  /// Places where `before` pays sums, in order; the first is "begin".
  std::vector<std::string> boundaries;
  std::vector<size_t> boundaryBefore, boundaryAfter; ///< by step

  /// Of a gather: the value made of what it gathers goes over the wire too.
  bool isSecondGather(size_t stepAfter) const;
};

PlanChanges comparePlans(const SizedVariant &before, const SizedVariant &after);

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_PLANCHANGES_H
