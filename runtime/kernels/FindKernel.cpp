// Apart from the catalogue, which needs no kernels to be linked.
#include "kernels/Catalogue.h"

namespace layline::kernels {

const Kernel *findKernel(const Variant &variant, std::string &error) {
  for (const Kernel &kernel : getKernels())
    if (kernel.variant == variant)
      return &kernel;
  error = "no kernel is " + variant.name() + "; there are";
  for (const Kernel &kernel : getKernels())
    if (kernel.variant.family == variant.family)
      error += "\n  " + kernel.variant.name();
  return nullptr;
}

} // namespace layline::kernels
