//===- EveryChoice.h - form graphs by exhaustive search ---------*- C++ -*-===//
#ifndef LAYLINE_TEST_UNIT_PLANNING_EVERYCHOICE_H
#define LAYLINE_TEST_UNIT_PLANNING_EVERYCHOICE_H

#include "layline/Planning/FormGraph.h"
#include <random>

namespace layline::test {

/// The least cost of all choices, by trying every mode of every op, every set
/// of conversions and every set of pieces. Shares no code with the solver. At
/// most 64 events.
double searchEveryChoice(const FormGraph &graph, const FormCosts &costs);

/// A random graph of at most 14 values with costs, in segments; with pieces or
/// without. Costs are such that sums in different orders are equal.
struct RandomProblem {
  FormGraph graph;
  FormCosts costs;
};
RandomProblem makeRandomProblem(std::mt19937 &random, bool withPieces);

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_PLANNING_EVERYCHOICE_H
