// The number formats of kernels and their conversions: to float exactly, from
// float to nearest, ties to even. nvcc takes NVIDIA's intrinsics, which are one
// instruction each; the host's compiler takes the functions below, so that the
// emulator needs no CUDA header. A test compares the two bit for bit.
#ifndef LAYLINE_RUNTIME_KERNELS_PLATFORM_NUMERIC_H
#define LAYLINE_RUNTIME_KERNELS_PLATFORM_NUMERIC_H

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#define LAYLINE_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define LAYLINE_HOST_DEVICE inline
#endif

namespace layline::device {

/// bfloat16: the upper half of a float.
struct bf16 {
  std::uint16_t bits;
};
/// IEEE 754 binary16: 5 exponent bits (bias 15), 10 of fraction.
struct f16 {
  std::uint16_t bits;
};
/// OCP FP8 E4M3: bias 7; no infinity, S.1111.111 is NaN, the largest is 448.
struct e4m3 {
  std::uint8_t bits;
};
/// OCP FP8 E5M2: bias 15, infinities and NaNs as in binary16; the largest is
/// 57344.
struct e5m2 {
  std::uint8_t bits;
};

LAYLINE_HOST_DEVICE std::uint32_t float_bits(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
LAYLINE_HOST_DEVICE float float_of_bits(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// The nearest T. FP8 takes the largest finite number for what is beyond it,
/// infinities too; NaN becomes the NaN with all bits but the sign.
template <typename T> LAYLINE_HOST_DEVICE T from_float(float value);

LAYLINE_HOST_DEVICE float to_float(float value) { return value; }
template <> LAYLINE_HOST_DEVICE float from_float<float>(float value) {
  return value;
}

LAYLINE_HOST_DEVICE float to_float(bf16 value) {
  return float_of_bits(static_cast<std::uint32_t>(value.bits) << 16);
}

#if defined(__CUDACC__)

LAYLINE_HOST_DEVICE float to_float(f16 value) {
  return __half2float(__ushort_as_half(value.bits));
}
LAYLINE_HOST_DEVICE float to_float(e4m3 value) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(value.bits, __NV_E4M3)));
}
LAYLINE_HOST_DEVICE float to_float(e5m2 value) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(value.bits, __NV_E5M2)));
}
template <> LAYLINE_HOST_DEVICE bf16 from_float<bf16>(float value) {
  return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
}
template <> LAYLINE_HOST_DEVICE f16 from_float<f16>(float value) {
  return {__half_as_ushort(__float2half_rn(value))};
}
template <> LAYLINE_HOST_DEVICE e4m3 from_float<e4m3>(float value) {
  return {__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3)};
}
template <> LAYLINE_HOST_DEVICE e5m2 from_float<e5m2>(float value) {
  return {__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2)};
}

#else

LAYLINE_HOST_DEVICE float to_float(f16 value) {
  std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000) << 16;
  std::uint32_t rest = value.bits & 0x7fff;
  if (rest > 0x7c00)
    return float_of_bits(0x7fffffff);
  if (rest == 0x7c00)
    return float_of_bits(sign | 0x7f800000);
  if (rest < 0x400) // subnormal: units of 2^-24
    return float_of_bits(sign |
                         float_bits(static_cast<float>(rest) * 0x1p-24F));
  return float_of_bits(sign | (rest + (112 << 10)) << 13);
}
LAYLINE_HOST_DEVICE float to_float(e5m2 value) {
  return to_float(f16{static_cast<std::uint16_t>(value.bits << 8)});
}
LAYLINE_HOST_DEVICE float to_float(e4m3 value) {
  std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x80) << 24;
  std::uint32_t rest = value.bits & 0x7f;
  if (rest == 0x7f)
    return float_of_bits(0x7fffffff);
  if (rest < 8) // subnormal: units of 2^-9
    return float_of_bits(sign | float_bits(static_cast<float>(rest) * 0x1p-9F));
  return float_of_bits(sign | (rest + (120 << 3)) << 20);
}

template <> LAYLINE_HOST_DEVICE bf16 from_float<bf16>(float value) {
  std::uint32_t bits = float_bits(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return {0x7fff};
  bits += 0x7fff + (bits >> 16 & 1);
  return {static_cast<std::uint16_t>(bits >> 16)};
}

namespace numeric {

/// The bits without the sign of the nearest number with `fractionBits` and an
/// exponent of that bias. `magnitude` is finite, not negative, and rounds to no
/// more than the format holds.
template <int fractionBits, int bias>
inline std::uint32_t roundMagnitude(float magnitude) {
  constexpr int dropped = 23 - fractionBits;
  constexpr float smallestNormal =
      bias == 15 ? 0x1p-14F : 0x1p-6F; // 2^(1 - bias)
  static_assert(bias == 15 || bias == 7, "smallestNormal is of these");
  if (magnitude < smallestNormal) {
    // A float of this size has the subnormal's unit as its last bit: adding
    // rounds to it.
    constexpr float unit =
        smallestNormal / static_cast<float>(1 << fractionBits);
    constexpr float shifter = unit * static_cast<float>(1 << 23);
    return float_bits(magnitude + shifter) - float_bits(shifter);
  }
  std::uint32_t bits = float_bits(magnitude);
  bits += (1U << (dropped - 1)) - 1 + (bits >> dropped & 1);
  return (bits - (static_cast<std::uint32_t>(127 - bias) << 23)) >> dropped;
}

template <int fractionBits, int bias>
inline std::uint8_t roundToFP8(float value, float largest) {
  std::uint32_t bits = float_bits(value), sign = bits >> 24 & 0x80;
  float magnitude = float_of_bits(bits & 0x7fffffff);
  if (magnitude != magnitude)
    return static_cast<std::uint8_t>(0x7f);
  if (magnitude > largest)
    magnitude = largest;
  return static_cast<std::uint8_t>(
      sign | roundMagnitude<fractionBits, bias>(magnitude));
}

} // namespace numeric

template <> LAYLINE_HOST_DEVICE f16 from_float<f16>(float value) {
  std::uint32_t bits = float_bits(value), sign = bits >> 16 & 0x8000;
  std::uint32_t rest = bits & 0x7fffffff;
  if (rest > 0x7f800000)
    return {0x7fff};
  // Half a step beyond 65504, the largest, ties to the infinity.
  std::uint32_t rounded =
      rest >= 0x477ff000 ? 0x7c00
                         : numeric::roundMagnitude<10, 15>(float_of_bits(rest));
  return {static_cast<std::uint16_t>(sign | rounded)};
}
template <> LAYLINE_HOST_DEVICE e4m3 from_float<e4m3>(float value) {
  return {numeric::roundToFP8<3, 7>(value, 448.0F)};
}
template <> LAYLINE_HOST_DEVICE e5m2 from_float<e5m2>(float value) {
  return {numeric::roundToFP8<2, 15>(value, 57344.0F)};
}

#endif

/// Two neighbours as one word of memory, the first in its lower half: one
/// instruction, where one for each would leave four to put the halves together.
#if defined(__CUDACC__)
template <typename T>
LAYLINE_HOST_DEVICE std::uint32_t pack_pair(float low, float high);
template <>
LAYLINE_HOST_DEVICE std::uint32_t pack_pair<bf16>(float low, float high) {
  __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  std::uint32_t word;
  memcpy(&word, &pair, sizeof word);
  return word;
}
template <>
LAYLINE_HOST_DEVICE std::uint32_t pack_pair<f16>(float low, float high) {
  __half2 pair = __floats2half2_rn(low, high);
  std::uint32_t word;
  memcpy(&word, &pair, sizeof word);
  return word;
}
template <>
LAYLINE_HOST_DEVICE std::uint32_t pack_pair<e4m3>(float low, float high) {
  return __nv_cvt_float2_to_fp8x2({low, high}, __NV_SATFINITE, __NV_E4M3);
}
template <>
LAYLINE_HOST_DEVICE std::uint32_t pack_pair<e5m2>(float low, float high) {
  return __nv_cvt_float2_to_fp8x2({low, high}, __NV_SATFINITE, __NV_E5M2);
}
#else
template <typename T>
LAYLINE_HOST_DEVICE std::uint32_t pack_pair(float low, float high) {
  return from_float<T>(low).bits |
         static_cast<std::uint32_t>(from_float<T>(high).bits)
             << (8 * sizeof(T));
}
#endif

} // namespace layline::device

#endif // LAYLINE_RUNTIME_KERNELS_PLATFORM_NUMERIC_H
