//===- TensorComparison.h - a run against recorded tensors ------*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_TENSORCOMPARISON_H
#define LAYLINE_TOOLS_LAYLINE_TENSORCOMPARISON_H

#include "layline/runtime.h"
#include "layline/safetensors.h"
#include <ostream>
#include <string>

namespace layline::tool {

struct ComparisonResult {
  int64_t compared = 0; ///< tensors
  int64_t failed = 0;   ///< of them beyond the bound
  std::string error;    ///< the comparison could not be made
};

/// Of a run: all values that it recorded, or its outputs alone.
enum class Compared { All, Outputs };

/// Compares every tensor of `file` with what the run recorded under the same
/// name (or those that are outputs), its rows from `first` on with the run's
/// `tokens` rows, and prints the largest error of each: the largest absolute
/// difference over the largest absolute reference value. Integers must be
/// equal. A reference may have a leading dimension of 1, and then has heads
/// before tokens ([1, heads, tokens, width]). Experts chosen by a router are
/// compared as a set per row, and their weights with them: references list them
/// in ascending order.
ComparisonResult compareRun(layline_engine *engine,
                            const safetensors::File &file, int64_t first,
                            int64_t tokens, double rtol, Compared compared,
                            std::ostream &os);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_TENSORCOMPARISON_H
