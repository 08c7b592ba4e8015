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

/// Tokens below `wholeBelow` run a variant with whole boundaries.
Json llamaPlan(std::int64_t ranks, Boundaries boundaries,
               std::int64_t wholeBelow = 1);

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_RUNTIME_LLAMAPLAN_H
