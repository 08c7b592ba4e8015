// Tests on the machine's GPUs. Ends with 77, and says why, where there is none.
#include "Gpu.h"
#include "devices/cuda/Card.h"
#include "devices/cuda/KernelImages.h"
#include "plan/Error.h"

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <iostream>

namespace layline::test {

std::unique_ptr<Gpu> makeGpu(int, unsigned) { return std::make_unique<Gpu>(); }

} // namespace layline::test

int main(int argc, char **argv) {
  using namespace layline::runtime;
  try {
    cuda::driver();
    cuda::Card card(0);
    card.kernel("layline_elementwise");
    std::cout << "on " << card.name() << ", kernels of "
              << cuda::kernelImagesReason() << std::endl;
  } catch (const Error &error) {
    std::cerr << "gpu-test: nothing was tested: " << error.what() << std::endl;
    return 77;
  }
  return Catch::Session().run(argc, argv);
}
