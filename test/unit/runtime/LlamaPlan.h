// The launch plan of test/golden/llama by hand, in the three forms that a
// compiler may choose between.
#ifndef LAYLINE_TEST_UNIT_RUNTIME_LLAMAPLAN_H
#define LAYLINE_TEST_UNIT_RUNTIME_LLAMAPLAN_H

#include "PlanBuilder.h"

namespace layline::test {

enum class Boundaries {
  Whole, ///< all_reduce, add, norm on every rank
  Rows,  ///< reduce_scatter, add and norm by rows, all_gather
  Fused  ///< the same in one kernel
};

/// How the rows are split over a context-parallel axis: "block", "zigzag" or
/// "cyclic". Boundaries by rows split a rank's rows again over tp.
struct Context {
  std::int64_t ranks = 1;
  std::string kind = "zigzag";
  std::int64_t interleave = 1; ///< cyclic
};

/// Tokens below `wholeBelow` run a variant with whole boundaries.
Json llamaPlan(std::int64_t ranks, Boundaries boundaries,
               std::int64_t wholeBelow = 1, const Context &context = {});

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_RUNTIME_LLAMAPLAN_H
