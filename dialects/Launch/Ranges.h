//===- Ranges.h - parts of tensors on the ranks of a plan -------*- C++ -*-===//
#ifndef LAYLINE_DIALECTS_LAUNCH_RANGES_H
#define LAYLINE_DIALECTS_LAUNCH_RANGES_H

#include "dialects/Grid/Grid.h"
#include <string>

namespace layline::launch {

class PlanOp;

/// The name of the range by which `split` deals out a dimension of `size`
/// elements (dynamic: the tokens): "tokens/tp", "n64/tp", "kv8of64/tp". The
/// number is that of the items, so that a dimension of heads and one of their
/// features have the same range.
std::string getRangeName(grid::SplitAttr split, int64_t size);

int64_t getElementBytes(mlir::Type element);

/// Bytes of the tensor's part on the rank that holds most, for `tokens` rows.
/// Axes split dimensions independently, so the largest parts meet on one rank.
int64_t getLargestBytes(PlanOp plan, mlir::RankedTensorType tensor,
                        int64_t tokens);

} // namespace layline::launch

#endif // LAYLINE_DIALECTS_LAUNCH_RANGES_H
