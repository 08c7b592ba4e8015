//===- PeriodSearch.cpp - one count after the other -----------------------===//
#include "PeriodSearch.h"
#include "ExprTools.h"
#include "Runs.h"
#include <algorithm>
#include <numeric>

using namespace layline;

namespace {

/// How often segments are evaluated: about a second.
constexpr int64_t kMostEvaluations = 600000;

/// From where on and with which period all expressions of all ranks repeat;
/// none if that is too far, or they do so in a way that proves nothing.
std::optional<Tail> getCommonTail(const std::vector<SegmentExpr> &segments,
                                  const std::string &axis, int64_t ranks,
                                  int64_t limit) {
  Tail common;
  struct Part {
    Tail begin, size;
    const SegmentExpr *segment;
  };
  std::vector<Part> parts;
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (const SegmentExpr &segment : segments) {
      auto tailOf = [&](const Expr &expr) {
        return getTail(substitute(expr, "rank." + axis, rank), "tokens", limit);
      };
      std::optional<Tail> begin = tailOf(segment.begin);
      std::optional<Tail> size = tailOf(segment.size);
      if (!begin || !size)
        return std::nullopt;
      for (const Tail &tail : {*begin, *size}) {
        common.from = std::max(common.from, tail.from);
        common.period = std::lcm(common.period, tail.period);
      }
      if (segment.stride > 0)
        common.period = std::lcm(common.period, segment.stride);
      if (common.period > limit)
        return std::nullopt;
      parts.push_back({*begin, *size, &segment});
    }
  bool isStrided = segments.front().stride > 0;
  for (const Part &part : parts) {
    int64_t slope = part.size.slope * (common.period / part.size.period);
    if (slope < 0 || (part.segment->stride > 0) != isStrided)
      return std::nullopt;
    if (!isStrided || slope == 0)
      continue;
    // The new items of a period are those of the period before, moved by it.
    if (part.begin.slope != 0 || slope % part.segment->block != 0 ||
        slope / part.segment->block * part.segment->stride != common.period)
      return std::nullopt;
  }
  return common;
}

} // namespace

SearchResult layline::searchCounts(const std::vector<SegmentExpr> &segments,
                                   const std::string &axis, int64_t ranks) {
  using Outcome = SearchResult::Outcome;
  int64_t perCount = ranks * static_cast<int64_t>(segments.size());
  int64_t limit = std::max<int64_t>(kMostEvaluations / perCount, 8);
  std::optional<Tail> tail;
  // The order of the parts of the last period, for contiguous ones.
  std::vector<std::vector<int64_t>> orders;
  bool isStrided = segments.front().stride > 0;
  int64_t repeated = 0; // counts in a row whose order is that a period before
  for (int64_t n = 0; n < limit; ++n) {
    std::optional<std::vector<Run>> runs = getAllRuns(segments, axis, ranks, n);
    if (!runs)
      return {Outcome::NoValue, n, ""};
    std::string fault = findFault(*runs, n);
    if (!fault.empty())
      return {Outcome::Refuted, n, fault};
    // Most faults show at once; what repeats is only of interest without one.
    constexpr int64_t kFirstCounts = 8;
    if (n == std::min(kFirstCounts, limit - 1))
      tail = getCommonTail(segments, axis, ranks, limit);
    std::vector<int64_t> order;
    if (!isStrided)
      for (const Run &run : *runs)
        order.push_back(run.rank * static_cast<int64_t>(segments.size()) +
                        run.segment);
    orders.push_back(std::move(order));
    if (!tail)
      continue;
    if (repeated == 0 && n < tail->from + tail->period)
      continue;
    bool isSame = orders[n] == orders[n - tail->period];
    repeated = isSame ? repeated + 1 : 0;
    if (repeated >= tail->period)
      return {Outcome::Proved, n, ""};
  }
  return {Outcome::Open, limit, ""};
}
