// Norms of a row in registers.
#ifndef LAYLINE_RUNTIME_KERNELS_NORM_CUH
#define LAYLINE_RUNTIME_KERNELS_NORM_CUH

#include "Reduce.cuh"
#include "Rows.cuh"

namespace layline::kernels {

/// 1 / sqrt(mean(x^2) + eps); root and quotient are correctly rounded, so that
/// the emulator and a card agree.
template <typename Protocol, typename T, int VPT>
__device__ __forceinline__ float inverse_rms(Row<T, VPT> &row, float eps) {
  float squares = sum_of<Protocol>(row, [](float x) { return x * x; });
  squares = join_block<Sum, Protocol>(squares);
  return 1.0F / sqrtf(squares / static_cast<float>(row.width) + eps);
}

/// x * inverse * (offset + w)
template <typename Protocol, typename T, int VPT>
__device__ __forceinline__ void rms_norm(Row<T, VPT> &row, const void *weight,
                                         float eps, float offset) {
  float inverse = inverse_rms<Protocol>(row, eps);
  with_row<Protocol>(row, weight, 0, [=](float &x, float w) {
    x = x * inverse * (offset + w);
  });
}

/// (x - mean) / sqrt(var + eps) * (offset + w) + b
template <typename Protocol, typename T, int VPT>
__device__ __forceinline__ void layer_norm(Row<T, VPT> &row, const void *weight,
                                           const void *bias, float eps,
                                           float offset) {
  float sum = sum_of<Protocol>(row, [](float x) { return x; });
  float mean = join_block<Sum, Protocol>(sum) / static_cast<float>(row.width);
  map_row<Protocol>(row, [=](float x) { return x - mean; });
  rms_norm<Protocol>(row, weight, eps, offset);
  if (bias)
    with_row<Protocol>(row, bias, 0, [](float &x, float b) { x += b; });
}

template <NormKind kKind, typename Protocol, typename T, int VPT>
__device__ __forceinline__ void norm(Row<T, VPT> &row, const RowOperands &o) {
  if constexpr (kKind == NormKind::Rms)
    rms_norm<Protocol>(row, o.weight, o.eps, o.weightOffset);
  else if constexpr (kKind == NormKind::Layer)
    layer_norm<Protocol>(row, o.weight, o.normBias, o.eps, o.weightOffset);
}

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_NORM_CUH
