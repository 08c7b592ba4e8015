// Tests on the machine's GPUs. Ends with 77, and says why, where there is none.
#include "CellWatchdog.h"
#include "Gpu.h"
#include "GpuTests.h"

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cstdlib>
#include <iostream>

namespace layline::test {

std::unique_ptr<Gpu> makeGpu(int, unsigned) { return std::make_unique<Gpu>(); }

} // namespace layline::test

int main(int argc, char **argv) {
  using namespace layline::test;
  // References of large cells take seconds.
  CellWatchdog watchdog(std::chrono::minutes(2), [](const std::string &cell) {
    std::cerr << "gpu-test: " << cell
              << ": nothing came back, and no wait of a kernel ended it"
              << std::endl;
    std::_Exit(1);
  });
  GpuTestsOn on;
  on.runGolden = [&] { return Catch::Session().run(1, argv); };
  on.watch = [&](const std::string &cell, std::uint64_t waitNanoseconds) {
    watchdog.begin(cell, waitNanoseconds);
  };
  return runGpuTests({argv + 1, argv + argc}, on, std::cout, std::cerr);
}
