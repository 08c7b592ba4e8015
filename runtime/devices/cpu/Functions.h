// The scalar functions of `activation` and `gated_activation`.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_FUNCTIONS_H
#define LAYLINE_RUNTIME_DEVICES_CPU_FUNCTIONS_H

#include "plan/StepKind.h"

#include <cmath>

namespace layline::runtime {

template <typename T> T applyFunction(Function function, T x) {
  switch (function) {
  case Function::Silu:
    return x / (T(1) + std::exp(-x));
  case Function::Gelu: // x * Phi(x), the exact form
    return x * T(0.5) * (T(1) + std::erf(x * T(0.70710678118654752440)));
  case Function::GeluTanh: { // Hendrycks & Gimpel 2016, eq. 2
    constexpr T kSqrt2OverPi = T(0.79788456080286535588);
    return T(0.5) * x *
           (T(1) + std::tanh(kSqrt2OverPi * (x + T(0.044715) * x * x * x)));
  }
  case Function::Relu:
    return x > T(0) ? x : T(0);
  case Function::Sigmoid:
    return T(1) / (T(1) + std::exp(-x));
  }
  return x;
}

/// Keeps x within -cap and cap.
template <typename T> T applySoftcap(T cap, T x) {
  return cap * std::tanh(x / cap);
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_FUNCTIONS_H
