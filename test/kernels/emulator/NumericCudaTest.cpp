// Our conversions of the number formats against NVIDIA's own headers, which are
// plain host code to a host's compiler: bit for bit.
#include "kernels/platform/Numeric.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <catch2/catch.hpp>

#include <random>

using namespace layline::device;

namespace {

/// How many of the four formats round the number otherwise.
int differencesOf(float x) {
  return (from_float<bf16>(x).bits !=
          __bfloat16_as_ushort(__float2bfloat16_rn(x))) +
         (from_float<f16>(x).bits != __half_as_ushort(__float2half_rn(x))) +
         (from_float<e4m3>(x).bits !=
          __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)) +
         (from_float<e5m2>(x).bits !=
          __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2));
}

} // namespace

TEST_CASE("all 16-bit and 8-bit patterns widen as NVIDIA's do") {
  int differing = 0;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<std::uint16_t>(bits);
    differing += float_bits(to_float(bf16{half})) !=
                 float_bits(__bfloat162float(__ushort_as_bfloat16(half)));
    differing += float_bits(to_float(f16{half})) !=
                 float_bits(__half2float(__ushort_as_half(half)));
  }
  for (unsigned bits = 0; bits < 0x100; ++bits) {
    auto byte = static_cast<std::uint8_t>(bits);
    auto theirs = [&](__nv_fp8_interpretation_t format) {
      return float_bits(
          __half2float(__half(__nv_cvt_fp8_to_halfraw(byte, format))));
    };
    differing += float_bits(to_float(e4m3{byte})) != theirs(__NV_E4M3);
    differing += float_bits(to_float(e5m2{byte})) != theirs(__NV_E5M2);
  }
  CHECK(differing == 0);
}

TEST_CASE("floats round as NVIDIA's do") {
  int differing = 0;
  // Every upper half with lower halves at, below and above all ties.
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper)
    for (std::uint32_t lower :
         {0x0000U, 0x0001U, 0x0fffU, 0x1000U, 0x1001U, 0x2000U, 0x7fffU,
          0x8000U, 0x8001U, 0xf000U, 0xffffU})
      differing += differencesOf(float_of_bits(upper << 16 | lower));
  std::mt19937 draw(1);
  for (int i = 0; i < 500000; ++i)
    differing +=
        differencesOf(float_of_bits(static_cast<std::uint32_t>(draw())));
  CHECK(differing == 0);
}

TEST_CASE("pairs are packed as NVIDIA's are") {
  int differing = 0;
  std::mt19937 draw(2);
  for (int i = 0; i < 200000; ++i) {
    float low = float_of_bits(static_cast<std::uint32_t>(draw())),
          high = float_of_bits(static_cast<std::uint32_t>(draw()));
    auto differs = [](std::uint32_t ours, const auto &theirs) {
      std::uint32_t word = 0;
      std::memcpy(&word, &theirs, sizeof theirs);
      return ours != word;
    };
    differing +=
        differs(pack_pair<bf16>(low, high), __floats2bfloat162_rn(low, high)) +
        differs(pack_pair<f16>(low, high), __floats2half2_rn(low, high));
    for (auto format : {__NV_E4M3, __NV_E5M2}) {
      auto ours = format == __NV_E4M3 ? pack_pair<e4m3>(low, high)
                                      : pack_pair<e5m2>(low, high);
      differing += differs(
          ours, __nv_cvt_float2_to_fp8x2({low, high}, __NV_SATFINITE, format));
    }
  }
  CHECK(differing == 0);
}
