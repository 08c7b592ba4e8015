// Emulation of a 16-bit engine on floats (LAYLINE_PRECISION_BF16): where values
// leave a kernel they are rounded to their type of the plan. docs/numerics.md
// lists the points.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_ROUNDING_H
#define LAYLINE_RUNTIME_DEVICES_CPU_ROUNDING_H

#include "layline/runtime.h"
#include "plan/Plan.h"
#include "weights/HalfFloat.h"

#include <cstdint>

namespace layline::runtime {

/// Whether a run of this precision keeps values of `dtype` in 16 bits.
inline bool isRounded(layline_precision precision, DType dtype) {
  return precision == LAYLINE_PRECISION_BF16 && dtype == DType::BF16;
}

/// To the nearest bfloat16, ties to even.
inline void roundToBF16(float *values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = widenBF16(narrowToBF16(values[i]));
}

/// No run rounds to 16 bits and computes in double.
inline void roundToBF16(double *, std::int64_t) {}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_ROUNDING_H
