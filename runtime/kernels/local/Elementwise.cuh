// Element by element: sums, products, scales, activations, biases.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_ELEMENTWISE_CUH
#define LAYLINE_RUNTIME_KERNELS_LOCAL_ELEMENTWISE_CUH

#include "kernels/local/Numbers.cuh"

namespace layline::local {

__device__ __forceinline__ float elementOf(const ElementwiseParams &p,
                                           std::int64_t i) {
  float x = load(p.inputs[0], i);
  switch (p.op) {
  case ElementwiseOp::Add:
    for (int j = 1; j < p.inputCount; ++j)
      x += load(p.inputs[j], i);
    return x;
  case ElementwiseOp::Mul:
    for (int j = 1; j < p.inputCount; ++j)
      x *= load(p.inputs[j], i);
    return x;
  case ElementwiseOp::Scale:
    return x * p.factor;
  case ElementwiseOp::Softcap:
    return p.factor * tanhf(x / p.factor);
  case ElementwiseOp::Activate:
    return apply(p.function, x);
  case ElementwiseOp::Gate:
    return apply(p.function, x) * load(p.inputs[1], i);
  case ElementwiseOp::AddColumn:
    return x + load(p.inputs[1], i % p.width);
  case ElementwiseOp::ScaleRow:
    return x * load(p.inputs[1], i / p.width);
  }
  return x;
}

/// All inputs of an element are read before it is written: the output may be
/// one of them.
__device__ __forceinline__ void elementwise(const ElementwiseParams &p) {
  for (std::int64_t i = firstOfThread(); i < p.count; i += strideOfGrid())
    store(p.output, i, elementOf(p, i));
}

} // namespace layline::local

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_ELEMENTWISE_CUH
