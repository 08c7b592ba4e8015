// The scalar functions of activations, which runtime/devices/cpu/Functions.h
// has with the sources of their formulas; here in forms that float32 keeps to
// within a step of a 16-bit result.
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
  using std::erfc, std::exp;
#endif
  if constexpr (kFunction == Function::Silu)
    return x / (1.0F + exp(-x));
  else if constexpr (kFunction == Function::Gelu)
    // 1 + erf(z) = erfc(-z), which keeps its digits where the sum has none.
    return x * 0.5F * erfc(x * -0.70710678118654752440F);
  else if constexpr (kFunction == Function::GeluTanh)
    // 1 + tanh(z) = 2 / (1 + exp(-2 z)), for the same reason.
    return x / (1.0F + exp(-2.0F * 0.79788456080286535588F *
                           (x + 0.044715F * x * x * x)));
  else if constexpr (kFunction == Function::Relu)
    return x > 0.0F ? x : 0.0F;
  else if constexpr (kFunction == Function::Sigmoid)
    return 1.0F / (1.0F + exp(-x));
  else
    return x;
}

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_ACTIVATION_CUH
