// The cards that a test runs on: emulated ones, or in layline-gpu-tests those
// of the machine. The tests are the same text.
#ifndef LAYLINE_TEST_KERNELS_CUDA_GPU_H
#define LAYLINE_TEST_KERNELS_CUDA_GPU_H

#include <memory>
#include <string>

namespace layline::test {

class Gpu {
public:
  virtual ~Gpu() = default;
  /// Kernels run on the emulator: slowly, and rounding as the host does.
  virtual bool isEmulated() const { return false; }
  /// What was acquired and not given back, as far as anybody counts.
  virtual int liveCount() const { return 0; }
  /// What the emulator found wrong, "" if nothing.
  virtual std::string fault() const { return ""; }
};

/// GpuFake.cpp: emulated cards; `seed` draws the schedule of their threads.
/// GpuReal.cpp: the machine's.
std::unique_ptr<Gpu> makeGpu(int cards = 1, unsigned seed = 0);

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_GPU_H
