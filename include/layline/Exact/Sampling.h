//===- Sampling.h - which coordinates of a model are run --------*- C++ -*-===//
//
// A model is checked at its true sizes, at some of its true coordinates: every
// dimension of constant size is restricted to a set of global coordinates, and
// a rank holds the intersection of the set and its part. Ranges, windows and
// head numbers are those of the whole model. The set of a dimension holds the
// first and the last element of every rank's part, so that what a rank holds
// too much, too little or from elsewhere is seen.
//
// A dimension of one value is that of another one where an op, a checkpoint
// tensor, a cache, a recorded name or an output says so; all of them share one
// set, in all the programs compared. Tokens are not sampled.
//
// A contraction over a set is the contraction with all other weights zero. Two
// programs that differ at all differ, as polynomials, in a monomial of few
// coordinates; symmetry of the model within a rank's part carries it to the
// sampled ones.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_EXACT_SAMPLING_H
#define LAYLINE_EXACT_SAMPLING_H

#include "layline/Exact/Program.h"
#include <deque>

namespace layline::exact {

using Items = std::vector<int64_t>;

/// A program and what is run of it.
struct SampledProgram {
  const Program *program = nullptr;
  /// By value and dimension: the sampled elements, ascending; null for all.
  std::vector<std::vector<const Items *>> items;
  /// By op: why it cannot run with any sizes, or empty.
  std::vector<std::string> faults;
  /// What token ids are drawn from.
  const Items *vocabulary = nullptr;
};

class Sampling {
public:
  /// The first program is the one the others are compared with; they outlive
  /// this object.
  explicit Sampling(const std::vector<const Program *> &list);
  Sampling(const Sampling &) = delete;
  Sampling &operator=(const Sampling &) = delete;

  size_t size() const { return programs.size(); }
  const SampledProgram &operator[](size_t index) const {
    return programs[index];
  }

private:
  std::vector<SampledProgram> programs;
  std::deque<Items> sets;
};

} // namespace layline::exact

#endif // LAYLINE_EXACT_SAMPLING_H
