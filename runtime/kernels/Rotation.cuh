// The angles of rotary position embeddings.
#ifndef LAYLINE_RUNTIME_KERNELS_ROTATION_CUH
#define LAYLINE_RUNTIME_KERNELS_ROTATION_CUH

#include "platform/Platform.h"

#include <cstdint>

#if !defined(__CUDACC__)
#include <cmath>
#endif

namespace layline::kernels {

struct Rotation {
  float cosine, sine;
};

/// By position * halfTurns * pi. Angles are taken in double, a float loses
/// their fraction at long contexts, and in half turns: sincospi reduces those
/// exactly in registers, where sincos takes a table on the stack for large
/// angles, and nothing is divided.
__device__ __forceinline__ Rotation rotation(std::int64_t position,
                                             double halfTurns,
                                             float attentionFactor) {
  double angle = static_cast<double>(position) * halfTurns, sine, cosine;
#if defined(__CUDACC__)
  sincospi(angle, &sine, &cosine);
#else
  constexpr double kPi = 3.14159265358979323846;
  angle = std::remainder(angle, 2.0) * kPi;
  sine = std::sin(angle);
  cosine = std::cos(angle);
#endif
  return {static_cast<float>(cosine * attentionFactor),
          static_cast<float>(sine * attentionFactor)};
}

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_ROTATION_CUH
