//===- Runs.cpp - parts at one number of items ----------------------------===//
#include "Runs.h"
#include "ExprTools.h"
#include <algorithm>
#include <set>
#include <tuple>

using namespace layline;

std::optional<std::vector<Run>>
layline::getRuns(const std::vector<SegmentExpr> &segments,
                 const std::string &axis, int64_t rank, int64_t items) {
  Bindings bindings = {{"tokens", items}, {"rank." + axis, rank}};
  std::vector<Run> runs;
  for (size_t i = 0; i < segments.size(); ++i) {
    const SegmentExpr &segment = segments[i];
    std::optional<int64_t> size = evaluate(segment.size, bindings);
    std::optional<int64_t> begin = evaluate(segment.begin, bindings);
    if (!begin || !size)
      return std::nullopt;
    bool isStrided = segment.stride > 0 && *size > 0;
    if (isStrided && segment.block < 1)
      return std::nullopt;
    int64_t step = isStrided ? segment.block : std::max<int64_t>(*size, 1);
    if (*size < 0)
      runs.push_back({*begin, *size, rank, static_cast<int64_t>(i)});
    for (int64_t j = 0; j < *size; j += step)
      runs.push_back({*begin + j / step * segment.stride,
                      std::min(step, *size - j), rank,
                      static_cast<int64_t>(i)});
  }
  return runs;
}

std::optional<std::vector<Run>>
layline::getAllRuns(const std::vector<SegmentExpr> &segments,
                    const std::string &axis, int64_t ranks, int64_t items) {
  std::vector<Run> all;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::optional<std::vector<Run>> runs = getRuns(segments, axis, rank, items);
    if (!runs)
      return std::nullopt;
    all.insert(all.end(), runs->begin(), runs->end());
  }
  std::sort(all.begin(), all.end(), [](const Run &a, const Run &b) {
    return std::tie(a.begin, a.rank, a.segment) <
           std::tie(b.begin, b.rank, b.segment);
  });
  return all;
}

/// "item 3 is held by ranks 1 and 2", by all that hold it.
static std::string holders(const std::vector<Run> &runs, int64_t item) {
  std::vector<int64_t> ranks;
  for (const Run &run : runs)
    if (run.begin <= item && item < run.begin + run.size)
      ranks.push_back(run.rank);
  std::sort(ranks.begin(), ranks.end());
  std::string text = "item " + std::to_string(item) + " is held ";
  std::set<int64_t> distinct(ranks.begin(), ranks.end());
  if (distinct.size() < ranks.size() && distinct.size() == 1)
    return text + "twice by rank " + std::to_string(ranks.front());
  return text + "by " + rankList({distinct.begin(), distinct.end()});
}

std::string layline::findFault(const std::vector<Run> &sorted, int64_t items) {
  const Run *negative = nullptr;
  for (const Run &run : sorted)
    if (run.size < 0 && (!negative || run.rank < negative->rank))
      negative = &run;
  if (negative)
    return "rank " + std::to_string(negative->rank) + " has a negative size";
  int64_t next = 0;
  for (const Run &run : sorted) {
    if (run.begin < 0)
      return "rank " + std::to_string(run.rank) + " holds item " +
             std::to_string(run.begin) + ", before the first";
    if (run.begin > next || run.begin >= items)
      break;
    if (run.begin < next)
      return holders(sorted, run.begin);
    // An item past the last is worse than none, but not the first such item.
    next = std::min(run.begin + run.size, items);
  }
  if (next < items)
    return "item " + std::to_string(next) + " is held by nobody";
  for (const Run &run : sorted)
    if (run.begin + run.size > items)
      return "rank " + std::to_string(run.rank) + " holds item " +
             std::to_string(std::max(run.begin, items)) + ", past the last";
  return {};
}

std::string layline::introduce(const std::string &axis, int64_t ranks,
                               int64_t items) {
  return "with " + std::to_string(items) +
         (items == 1 ? " item over " : " items over ") + std::to_string(ranks) +
         (ranks == 1 ? " rank of \"" : " ranks of \"") + axis + "\", ";
}
