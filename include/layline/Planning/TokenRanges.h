//===- TokenRanges.h - where the best choice changes ------------*- C++ -*-===//
#ifndef LAYLINE_PLANNING_TOKENRANGES_H
#define LAYLINE_PLANNING_TOKENRANGES_H

#include <cstdint>
#include <functional>
#include <vector>

namespace layline {

/// A range of token counts that one choice serves.
struct TokenRange {
  int64_t min = 0, max = 0;
  int choice = 0;
  /// How much more than the best the choice costs at most, at the counts that
  /// were looked at: 0.01 is 1 %.
  double regret = 0;
};

struct RangeSearch {
  std::vector<TokenRange> ranges;
  int64_t counts = 0; ///< token counts that were solved
  int choices = 0;    ///< different choices among them
};

/// Finds the ranges of [min, max] in which one choice is best: `solve` gives
/// the number of the best choice at a token count (equal choices, equal
/// numbers, from 0 on), `price` what a choice costs at a count.
///
/// Token counts are looked at in steps of half an octave and, between
/// two that differ, by bisection down to the crossing. Choices that alternate
/// between two looked-at counts of one choice are not seen. Of all divisions in
/// which no choice costs more than `allowed` above the best, it takes one of
/// the fewest ranges, and of these the one with the least regret.
///
/// `prepare`, if any, is told counts that will be solved next, so that they can
/// be worked on together.
RangeSearch searchRanges(
    int64_t min, int64_t max, double allowed,
    const std::function<int(int64_t)> &solve,
    const std::function<double(int, int64_t)> &price,
    const std::function<void(const std::vector<int64_t> &)> &prepare = {});

} // namespace layline

#endif // LAYLINE_PLANNING_TOKENRANGES_H
