#include "devices/cpu/Kernels.h"

#include <array>

namespace layline::runtime {

template <typename T> KernelFunction<T> kernelOf(StepKind kind) {
  // In the order of StepKind.
  static const std::array<KernelFunction<T>, kStepKinds> kernels = {
      embedding<T>,     norm<T>,
      linear<T>,        rope<T>,
      cacheAppend<T>,   attention<T>,
      activation<T>,    gatedActivation<T>,
      router<T>,        experts<T>,
      add<T>,           addBias<T>,
      mul<T>,           scale<T>,
      cast<T>,          slice<T>,
      allReduce<T>,     reduceScatter<T>,
      allGather<T>,     broadcast<T>,
      nullptr,          sliceColumns<T>,
      concatColumns<T>, rowScale<T>,
      addExpertBias<T>, latentAttention<T>,
      indexer<T>,       softcap<T>,
      rowSquares<T>,    normBy<T>,
      quantize<T>,      dequantize<T>,
      dispatch<T>,      combine<T>};
  return kernels[static_cast<std::size_t>(kind)];
}

template KernelFunction<float> kernelOf<float>(StepKind);
template KernelFunction<double> kernelOf<double>(StepKind);

} // namespace layline::runtime
