// The scalar functions of activations. Sources of the formulas:
// runtime/devices/cpu/Functions.h, whose results these are in f32.
#ifndef LAYLINE_RUNTIME_KERNELS_ACTIVATION_CUH
#define LAYLINE_RUNTIME_KERNELS_ACTIVATION_CUH

#include "Params.h"
#include "platform/Platform.h"

#if !defined(__CUDACC__)
#include <cmath>
#endif

namespace layline::kernels {

template <Function kFunction>
__device__ __forceinline__ float activate(float x) {
#if !defined(__CUDACC__)
  using std::erf, std::exp, std::tanh;
#endif
  if constexpr (kFunction == Function::Silu)
    return x / (1.0F + exp(-x));
  else if constexpr (kFunction == Function::Gelu)
    return x * 0.5F * (1.0F + erf(x * 0.70710678118654752440F));
  else if constexpr (kFunction == Function::GeluTanh)
    return 0.5F * x *
           (1.0F + tanh(0.79788456080286535588F * (x + 0.044715F * x * x * x)));
  else if constexpr (kFunction == Function::Relu)
    return x > 0.0F ? x : 0.0F;
  else if constexpr (kFunction == Function::Sigmoid)
    return 1.0F / (1.0F + exp(-x));
  else
    return x;
}

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_ACTIVATION_CUH
