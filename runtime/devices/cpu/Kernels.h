// The step kinds on a CPU: one function each, the formulas of
// docs/plan-format.md.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_KERNELS_H
#define LAYLINE_RUNTIME_DEVICES_CPU_KERNELS_H

#include "devices/cpu/RankContext.h"

namespace layline::runtime {

template <typename T>
using KernelFunction = void (*)(RankContext<T> &, const Step &);

/// The id of an expert where a row did not come to the rank.
inline constexpr std::int64_t kNoExpert = -1;

/// Never null except for `fused`, which has no kernel but a body.
template <typename T> KernelFunction<T> kernelOf(StepKind kind);

#define LAYLINE_KERNEL(name)                                                   \
  template <typename T> void name(RankContext<T> &context, const Step &step)

// GemmKernels.cpp
LAYLINE_KERNEL(embedding);
LAYLINE_KERNEL(linear);
// RowKernels.cpp
LAYLINE_KERNEL(norm);
LAYLINE_KERNEL(rowSquares);
LAYLINE_KERNEL(normBy);
LAYLINE_KERNEL(rope);
// MoEKernels.cpp
LAYLINE_KERNEL(router);
LAYLINE_KERNEL(experts);
LAYLINE_KERNEL(addExpertBias);
// AttentionKernels.cpp
LAYLINE_KERNEL(cacheAppend);
LAYLINE_KERNEL(attention);
// LatentKernels.cpp
LAYLINE_KERNEL(latentAttention);
LAYLINE_KERNEL(indexer);
// ElementwiseKernels.cpp
LAYLINE_KERNEL(activation);
LAYLINE_KERNEL(gatedActivation);
LAYLINE_KERNEL(add);
LAYLINE_KERNEL(addBias);
LAYLINE_KERNEL(mul);
LAYLINE_KERNEL(scale);
LAYLINE_KERNEL(softcap);
LAYLINE_KERNEL(cast);
LAYLINE_KERNEL(slice);
// ColumnKernels.cpp
LAYLINE_KERNEL(sliceColumns);
LAYLINE_KERNEL(concatColumns);
LAYLINE_KERNEL(rowScale);
// QuantizeKernels.cpp
LAYLINE_KERNEL(quantize);
LAYLINE_KERNEL(dequantize);
// RoutingKernels.cpp
LAYLINE_KERNEL(dispatch);
LAYLINE_KERNEL(combine);
// CollectiveKernels.cpp
LAYLINE_KERNEL(allReduce);
LAYLINE_KERNEL(reduceScatter);
LAYLINE_KERNEL(allGather);
LAYLINE_KERNEL(broadcast);

#undef LAYLINE_KERNEL

/// Instantiates a kernel for both precisions.
#define LAYLINE_INSTANTIATE(name)                                              \
  template void name<float>(RankContext<float> &, const Step &);               \
  template void name<double>(RankContext<double> &, const Step &);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_KERNELS_H
