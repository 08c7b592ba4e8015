// Kernels that must not pass: each breaks one rule of kernel_checks.py.
#include "kernels/platform/Platform.h"

namespace device = layline::device;

/// Keeps more numbers than a thread of a block of 1024 has registers.
extern "C" __global__ void __launch_bounds__(1024)
    control_spills(float *x, const float *y) {
  float kept[96];
#pragma unroll
  for (int i = 0; i < 96; ++i)
    kept[i] = y[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 96; ++i)
    x[i * 1024 + threadIdx.x] = kept[i] * kept[95 - i] + y[i];
}

/// Which number is asked for is known when it runs: memory on the stack.
extern "C" __global__ void control_stack(float *x, const int *which) {
  float kept[32];
  for (int i = 0; i < 32; ++i)
    kept[i] = x[i];
  for (int i = 0; i < 32; ++i)
    kept[which[i] & 31] += x[which[i]];
  x[threadIdx.x] = kept[which[threadIdx.x] & 31];
}

/// A flag that peers wait for, and nothing comes before it.
extern "C" __global__ void control_relaxed(std::uint32_t *flag) {
  device::st_relaxed_sys(flag, 1);
  while (device::ld_acquire_sys(flag + 1) == 0) {
  }
}

/// A flag that another card does not see.
extern "C" __global__ void control_scope(std::uint32_t *flag) {
  device::st_release_gpu(flag, 1);
  while (device::ld_acquire_sys(flag + 1) == 0) {
  }
}

extern "C" __global__ void control_volatile(volatile std::uint32_t *flag) {
  device::st_release_sys(const_cast<std::uint32_t *>(flag), 1);
  while (flag[1] == 0) {
  }
}

/// Four loads where one would do.
extern "C" __global__ void control_scalar(float *to, const float *from) {
  for (int i = 0; i < 4; ++i)
    device::st(to + threadIdx.x * 4 + i, device::ld(from + threadIdx.x * 4 + i));
}
