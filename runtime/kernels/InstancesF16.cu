#include "Instances.cuh"

void layline::kernels::addF16Kernels(KernelList &list) {
  addKernelsOf<f16>(list);
}
