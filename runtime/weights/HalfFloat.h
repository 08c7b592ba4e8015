// The two 16-bit floating-point formats, widened exactly to float, and floats
// rounded to bfloat16.
#ifndef LAYLINE_RUNTIME_WEIGHTS_HALFFLOAT_H
#define LAYLINE_RUNTIME_WEIGHTS_HALFFLOAT_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace layline::runtime {

/// bfloat16: the upper half of a float.
inline float widenBF16(std::uint16_t bits) {
  std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// The nearest bfloat16, ties to even; what is beyond the largest by half a
/// step or more becomes infinite.
inline std::uint16_t narrowToBF16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  // Rounding could make an infinity of a NaN whose fraction is in the lower
  // half.
  if (std::isnan(value))
    return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  bits += 0x7fff + (bits >> 16 & 1);
  return static_cast<std::uint16_t>(bits >> 16);
}

/// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
inline float widenF16(std::uint16_t bits) {
  int exponent = bits >> 10 & 0x1f;
  auto fraction = static_cast<float>(bits & 0x3ff);
  float magnitude;
  if (exponent == 0x1f)
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, -24);
  else
    magnitude = std::ldexp(1024.0F + fraction, exponent - 25);
  return std::copysign(magnitude, bits & 0x8000 ? -1.0F : 1.0F);
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_WEIGHTS_HALFFLOAT_H
