//===- Runs.h - parts at one number of items --------------------*- C++ -*-===//
#ifndef LAYLINE_LIB_VERIFICATION_RUNS_H
#define LAYLINE_LIB_VERIFICATION_RUNS_H

#include "layline/Support/Partition.h"
#include <optional>
#include <string>
#include <vector>

namespace layline {

/// Consecutive items that a rank holds. `size` is below 0 only for a segment
/// that says so.
struct Run {
  int64_t begin = 0;
  int64_t size = 0;
  int64_t rank = 0;
  int64_t segment = 0; ///< the how manieth of the rank
};

/// The runs of one rank, in the order of its segments, without empty ones. None
/// if an expression has no value.
std::optional<std::vector<Run>>
getRuns(const std::vector<SegmentExpr> &segments, const std::string &axis,
        int64_t rank, int64_t items);

/// The runs of all ranks, sorted by their begins.
std::optional<std::vector<Run>>
getAllRuns(const std::vector<SegmentExpr> &segments, const std::string &axis,
           int64_t ranks, int64_t items);

/// What is wrong with sorted runs as a partition of 0..items-1, empty if
/// nothing is: a size below 0, or the first item that is not held once.
std::string findFault(const std::vector<Run> &sorted, int64_t items);

/// `with 5 items over 4 ranks of "cp", `
std::string introduce(const std::string &axis, int64_t ranks, int64_t items);

} // namespace layline

#endif // LAYLINE_LIB_VERIFICATION_RUNS_H
