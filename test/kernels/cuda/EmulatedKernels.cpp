// The kernels of device 'cuda', compiled for the emulator.
#include "FakeGpu.h"
#include "kernels/local/LocalKernels.cuh"

namespace layline::test {

const std::map<std::string, KernelBody> &emulatedKernels() {
  static const std::map<std::string, KernelBody> kernels = {
#define LAYLINE_ENTRY(symbol, params, function)                                \
  {#symbol, [](Address parameters) {                                           \
     symbol(reinterpret_cast<const local::params *>(parameters));              \
   }},
      LAYLINE_LOCAL_KERNELS(LAYLINE_ENTRY)
#undef LAYLINE_ENTRY
  };
  return kernels;
}

} // namespace layline::test
