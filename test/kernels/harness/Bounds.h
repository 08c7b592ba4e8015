// Numbers in float64 with a bound of what float32 may be off: a running error
// analysis (Higham, Accuracy and Stability of Numerical Algorithms, 3.3).
// Beside each exact number x goes e such that float32 has a number within
// x +- e:
//
//   a sum of P addends in any order   (P - 1) u (|a_1| + ... + |a_P|)
//   an operation with the result y    what its operands bring, and u |y|
//
// with u = 2^-24. A result that is rounded once from a float within y +- e is
// no less than y - e rounded and no more than y + e rounded; where nothing
// cancels these are the same number of the type or neighbours.
#ifndef LAYLINE_TEST_KERNELS_HARNESS_BOUNDS_H
#define LAYLINE_TEST_KERNELS_HARNESS_BOUNDS_H

#include "kernels/platform/Numeric.h"

#include <cmath>
#include <cstdio>
#include <string>

namespace layline::kernels::test {

constexpr double kUnit = 0x1p-24;
/// Below float's normal numbers errors are no longer relative.
constexpr double kTiny = 0x1p-126;

/// Exact, and with how much float32 may be off.
struct Near {
  double x = 0, e = 0;
};

inline Near rounded(double y, double e) {
  return {y, e + kUnit * (std::abs(y) + e) + kTiny};
}
inline Near operator+(Near a, Near b) { return rounded(a.x + b.x, a.e + b.e); }
inline Near operator*(Near a, Near b) {
  return rounded(a.x * b.x,
                 std::abs(a.x) * b.e + std::abs(b.x) * a.e + a.e * b.e);
}

template <typename T> Near exactly(T value) {
  return {static_cast<double>(device::to_float(value)), 0};
}

/// Whether `got` is none of the numbers of T that a float within x +- e rounds
/// to.
template <typename T> bool isOutside(T got, Near want) {
  float value = device::to_float(got);
  if (std::isnan(want.x) || std::isnan(value))
    return std::isnan(want.x) != std::isnan(value);
  auto edge = [&](double x) {
    return device::to_float(device::from_float<T>(static_cast<float>(x)));
  };
  return value < edge(want.x - want.e) || value > edge(want.x + want.e);
}

/// "found 1.5, expected 1 within 6e-08"
template <typename T> std::string foundAndExpected(T got, Near want) {
  char text[96];
  std::snprintf(text, sizeof text, "found %.9g, expected %.9g within %.2g",
                static_cast<double>(device::to_float(got)), want.x, want.e);
  return text;
}

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_HARNESS_BOUNDS_H
