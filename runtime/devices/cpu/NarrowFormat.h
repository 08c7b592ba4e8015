// Numbers of the 8-bit formats, in a wider type.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_NARROWFORMAT_H
#define LAYLINE_RUNTIME_DEVICES_CPU_NARROWFORMAT_H

#include "plan/StepKind.h"

#include <algorithm>
#include <cmath>

namespace layline::runtime {

/// OCP 8-bit floating point, revision 1.0. E4M3 has no infinity and one NaN, so
/// that the largest exponent holds numbers too; E5M2 is as IEEE 754 has it.
struct NarrowFormat {
  int mantissaBits;
  int smallestExponent; ///< of normal numbers
  double largest;
};

inline NarrowFormat formatOf(QuantFormat format) {
  return format == QuantFormat::Fp8E4M3 ? NarrowFormat{3, -6, 448}
                                        : NarrowFormat{2, -14, 57344};
}

/// To the nearest number of the format, ties to even; what is beyond the
/// largest becomes that. NaN stays NaN.
template <typename T> T roundToFormat(T value, const NarrowFormat &format) {
  T magnitude = std::abs(value);
  if (magnitude >= static_cast<T>(format.largest))
    return std::copysign(static_cast<T>(format.largest), value);
  if (magnitude == T(0) || std::isnan(value))
    return value;
  int exponent = std::max(std::ilogb(magnitude), format.smallestExponent);
  // Powers of two divide and multiply without rounding: nearbyint rounds once,
  // in the default mode to nearest, ties to even.
  T step = std::ldexp(T(1), exponent - format.mantissaBits);
  return std::nearbyint(value / step) * step;
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_NARROWFORMAT_H
