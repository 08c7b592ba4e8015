#include "Instances.cuh"

void layline::kernels::addF32Kernels(KernelList &list) {
  addKernelsOf<float>(list);
}
