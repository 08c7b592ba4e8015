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
    device::st(to + threadIdx.x * 4 + i,
               device::ld(from + threadIdx.x * 4 + i));
}

/// Four stores where one would do.
extern "C" __global__ void control_words(std::uint32_t *to, const void *from) {
  const device::Vec16 v = device::ld_v4(from);
  device::st(to, v.x);
  device::st(to + 2, v.y);
  device::st(to + 4, v.z);
  device::st(to + 6, v.w);
}

/// A mailbox that the compiler may read once for all.
extern "C" __global__ void control_plain_mailbox(std::uint32_t *to,
                                                 const void *box) {
  device::fence_acq_rel_sys();
  device::Vec16 v;
  do {
    v = device::ld_v4(box);
  } while (v.x == 0x80008000U);
  device::st(to, v.y);
}

/// What was emptied is seen by the own card alone.
extern "C" __global__ void control_gpu_fence(std::uint32_t *to,
                                             const void *box) {
  device::fence_acq_rel_gpu();
  device::st(to, device::ld_relaxed_v4(box).x);
}

/// Adds what the switch would have added.
extern "C" __global__ void control_own_sum(float *to, const float *a,
                                           const float *b) {
  device::st(to + threadIdx.x,
             device::ld(a + threadIdx.x) + device::ld(b + threadIdx.x));
}

/// More numbers than its budget has registers.
extern "C" __global__ void control_registers(float *x, const float *y) {
  float kept[48];
#pragma unroll
  for (int i = 0; i < 48; ++i)
    kept[i] = y[i * 256 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 48; ++i)
    x[i * 256 + threadIdx.x] = kept[i] * kept[47 - i];
}

/// Scales for everyone, and a payload that stays.
extern "C" __global__ void control_own_payload(std::uint64_t *payload,
                                               std::uint32_t *scales,
                                               std::uint64_t bytes) {
  device::st(payload, bytes);
  device::mm_st(scales, 1U);
}
