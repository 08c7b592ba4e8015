//===- PeriodSearch.h - one count after the other ---------------*- C++ -*-===//
#ifndef LAYLINE_LIB_VERIFICATION_PERIODSEARCH_H
#define LAYLINE_LIB_VERIFICATION_PERIODSEARCH_H

#include "layline/Support/Partition.h"
#include <optional>
#include <string>

namespace layline {

struct SearchResult {
  enum class Outcome {
    Proved,
    Refuted, ///< `count` is the least number of items with a fault
    Open,    ///< no fault below `count` items
    NoValue  ///< an expression has no value for `count` items
  };
  Outcome outcome = Outcome::Open;
  int64_t count = 0;
  std::string fault; ///< as findFault says it
};

/// Looks at 0, 1, .. items on all ranks. For a known rank, begins and sizes
/// repeat: f(n + period) = f(n) + slope from some n on. Where the parts are a
/// partition for two periods, in the same order of those that are not empty,
/// and no size shrinks, all that a partition says are equations of functions
/// that are linear in the number of periods and hold for two of them: they
/// hold for all counts. Strided parts grow by whole runs of a period instead.
/// Ends as Open when it gets long.
SearchResult searchCounts(const std::vector<SegmentExpr> &segments,
                          const std::string &axis, int64_t ranks);

} // namespace layline

#endif // LAYLINE_LIB_VERIFICATION_PERIODSEARCH_H
