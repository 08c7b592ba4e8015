#include "Instances.cuh"

void layline::kernels::addBF16QuantKernels(KernelList &list) {
  addQuantizedGroup<bf16, 2>(list);
  addQuantizedGroup<bf16, 3>(list);
  addQuantizedGroup<bf16, 4>(list);
  addQuantizedGroup<bf16, 8>(list);
}
