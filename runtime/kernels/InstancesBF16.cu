#include "Instances.cuh"

void layline::kernels::addBF16Kernels(KernelList &list) {
  addKernelsOf<bf16>(list);
}
