// A run of a kernel of the catalogue, held against what it must give.
#ifndef LAYLINE_TEST_KERNELS_FUSED_CHECK_H
#define LAYLINE_TEST_KERNELS_FUSED_CHECK_H

#include "harness/Rows.h"

#include <catch2/catch.hpp>

namespace layline::kernels::test {

/// The bits of an ordered float32 sum on every rank, as near to the exact
/// numbers as float32 is, no races, and the bytes and flags of the formula.
template <typename T>
void check(const RowCase &rowCase, Mode mode, std::uint64_t seed) {
  INFO(rowCase.variant.name()
       << ", " << rowCase.problem.tokens << " rows of " << rowCase.problem.width
       << ", grid " << rowCase.shape.grid << " x " << rowCase.shape.block
       << ", " << nameOf(mode) << ", seed " << seed);
  auto inputs = makeInputs<T>(rowCase, static_cast<std::uint32_t>(seed) + 1);
  RowResults<T> got;
  simt::Report report = runCatalogue<T>(
      rowCase, inputs, optionsOf(mode, seed, rowCase.shape.grid), got);
  INFO(report.text);
  REQUIRE(report.ok());
  REQUIRE(report.races == 0);
  REQUIRE(differenceOf(got, expectOrdered(rowCase, inputs)) == "");
  REQUIRE(disagreementOf(rowCase, got) == "");
  REQUIRE(miscountOf(rowCase, got) == "");
  REQUIRE(outsideOf(rowCase, inputs, got) == "");
}

inline void check(const RowCase &rowCase, Mode mode, std::uint64_t seed) {
  switch (rowCase.variant.dtype) {
  case DType::BF16:
    return check<bf16>(rowCase, mode, seed);
  case DType::F16:
    return check<f16>(rowCase, mode, seed);
  case DType::F32:
    return check<float>(rowCase, mode, seed);
  }
}

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_FUSED_CHECK_H
