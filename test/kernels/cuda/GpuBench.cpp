// Times on this machine's GPUs (Bench.h). Ends with 77, and says why, where
// there is no GPU.
#include "Bench.h"
#include "devices/cuda/Driver.h"
#include "plan/Error.h"

#include <iostream>

int main() {
  using layline::runtime::Error;
  try {
    layline::runtime::cuda::driver();
  } catch (const Error &error) {
    std::cerr << "gpu-bench: nothing was measured: " << error.what()
              << std::endl;
    return 77;
  }
  try {
    layline::test::bench({}, std::cout, std::cerr);
  } catch (const Error &error) {
    std::cerr << "gpu-bench: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
