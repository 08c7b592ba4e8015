//===- Decisions.h - choices on tables with rows held out -------*- C++ -*-===//
//
// Alternatives whose parts were all measured at the same sizes are compared as
// measured and as a model predicts them that did not see some of the rows.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_TEST_UNIT_COST_DECISIONS_H
#define LAYLINE_TEST_UNIT_COST_DECISIONS_H

#include "LatencyTables.h"
#include <string>
#include <vector>

namespace layline::test {

/// Which rows the model does not see.
enum class Split {
  Fitted,   ///< it sees all
  Versions, ///< every second size of the newest versions; older ones are known
  Sizes     ///< every second size of all versions
};
const char *getName(Split split);

struct Decision {
  std::string place; ///< "h200_sxm, 4 ranks, 512 tokens, 1/2 of the width"
  std::string chosen, best;
  double regret = 0; ///< time of the chosen one by that of the best, less 1
};

struct Tally {
  std::vector<Decision> decisions;

  size_t count() const { return decisions.size(); }
  size_t numBest() const;
  size_t numWithin(double regret) const;
  double worst() const;
  Tally &operator+=(const Tally &other);
};

/// An all_reduce or a reduce_scatter and an all_gather of 1, 1/2, 1/4 and 1/8
/// of the bytes (a norm's row, one of 8 bits, a latent), for 1 to 32,768 tokens
/// of 8192 elements of 16 bits.
Tally decideForms(const std::string &card, int64_t ranks, Split split,
                  Curve::Axes axes);

/// Which algorithm runs an all_reduce.
Tally decideAlgorithms(const std::string &card, int64_t ranks, Split split,
                       Curve::Axes axes);

/// TokenWeave's tables alone, 64 to 32,768 tokens: all_reduce and norm by
/// multimem or NCCL, the same split by rows, the fused kernel, the all_reduce
/// with a norm of all rows in one kernel.
Tally decideBoundaries(Split split, Curve::Axes axes);

/// Errors of what is between two rows, each interior row left out in turn.
struct Errors {
  std::vector<double> relative; ///< absolute values, rising

  void add(double predicted, double measured);
  double quantile(double share) const;
};
Errors leaveOneOut(const std::string &card, const std::string &op,
                   Curve::Axes axes);

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_COST_DECISIONS_H
