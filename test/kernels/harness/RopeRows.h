// Rows that rope rotates, and what it must give.
#ifndef LAYLINE_TEST_KERNELS_HARNESS_ROPEROWS_H
#define LAYLINE_TEST_KERNELS_HARNESS_ROPEROWS_H

#include "kernels/Catalogue.h"

#include <cstdint>
#include <string>
#include <vector>

namespace layline::kernels::test {

struct RopeCase {
  Variant variant;
  std::int64_t tokens; ///< of all ranks
  int heads, headWidth, rotary;
  std::int64_t firstPosition = 0;
  float attentionFactor = 1;

  std::int64_t width() const { return std::int64_t(heads) * headWidth; }
};

/// Rows that stay on one rank, or are gathered by several.
Variant ropeOf(DType dtype, int ranks, RopeStyle style, bool byElement);

/// Of all ranks.
template <typename T> struct RopeInputs {
  std::vector<T> rows;                 ///< [tokens][heads][headWidth]
  std::vector<std::int64_t> positions; ///< [tokens], in no order
  std::vector<double> frequencies;     ///< [rotary / 2], radians a position
  std::vector<double> halfTurns;       ///< the same by pi
};
/// `salt` makes launches differ.
template <typename T>
RopeInputs<T> makeRopeInputs(const RopeCase &rope, std::uint32_t salt);

/// The first number of `got` that is farther from the rotated rows, in float64
/// by the text of RopeParams, than float32 and one rounding can be; or nothing.
template <typename T>
std::string ropeOutsideOf(const RopeCase &rope, const RopeInputs<T> &inputs,
                          const std::vector<T> &got);

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_HARNESS_ROPEROWS_H
