// All that kernels know of the machine below them. Kernel text uses CUDA's
// words for what CUDA's words say (threadIdx, __syncthreads, __shfl_xor_sync);
// whatever takes inline PTX, or what the emulator has to see, is a function
// here:
//
//   LAYLINE_KERNEL(threads, blocks, signature, statement)
//                                a kernel of blocks of at most `threads`, so
//                                many of which are to be resident on a
//                                multiprocessor (its launch bounds)
//   LAYLINE_SHARED(T, name, N)   N elements in the block's shared memory; index
//                                it, do not take its address
//   LAYLINE_DYNAMIC_SHARED(T, n) the launch's dynamic shared memory as T[]
//   SharedSpan<T>                such an array as a parameter of a function
//   shared_add(array, i, value)  atomic; the value before
//   LAYLINE_UNROLL               before a loop: unroll it
//   LAYLINE_ROLLED               before a loop: do not
//
//   flags, u32                   st_{relaxed,release}_{sys,gpu}
//                                ld_{relaxed,acquire}_{sys,gpu}
//                                atom_add_{relaxed,release,acq_rel}_{sys,gpu}
//                                red_add_{relaxed,release}_{sys,gpu}
//                                atom_exch_relaxed_gpu
//                                atom_cas_relaxed_gpu
//                                fence_acq_rel_{sys,gpu}
//   16 bytes                     ld_v4, st_v4: plain
//                                ld_relaxed_v4, st_relaxed_v4: .relaxed.sys,
//                                  four accesses of a word each to the memory
//                                  model
//                                ld_volatile_v4
//   1, 2, 4, 8 bytes             ld, st: plain
//   multicast addresses          mm_ld_reduce<T>, T in {bf16, f16, float}
//                                mm_st_v4, mm_st: 4 and 8 bytes; relaxed
//                                mm_st_release_sys
//                                mm_red_add_v4<T>
//                                mm_red_add_{relaxed,release}_sys: u32
//   programmatic launches        griddep_wait, griddep_launch_dependents
//   barriers of part of a block  bar_sync, bar_arrive
//   time                         globaltimer: ns
//
// Every access to global memory goes through these; an access that does not is
// invisible to the emulator's race check, bounds check and traffic counts.
// Names follow PTX: <operation>_<order>_<scope>. Source: PTX ISA 9.0.
#ifndef LAYLINE_RUNTIME_KERNELS_PLATFORM_PLATFORM_H
#define LAYLINE_RUNTIME_KERNELS_PLATFORM_PLATFORM_H

#include <cstdint>
#include <cstring>

namespace layline::device {

/// 16 bytes, the widest access of sm_90: 8 numbers of 16 bits or 4 of 32.
struct alignas(16) Vec16 {
  std::uint32_t x, y, z, w;
};

} // namespace layline::device

#if defined(__CUDACC__)
#include "PlatformCuda.h"
#else
#include "PlatformSimt.h"
#endif

#include "Numeric.h"

namespace layline::device {

/// A Vec16 seen as numbers.
template <typename T> struct alignas(16) Pack16 {
  static constexpr int size = 16 / sizeof(T);
  T v[size];
};

template <typename T>
__device__ __forceinline__ Pack16<T> as_pack(const Vec16 &words) {
  static_assert(sizeof(Pack16<T>) == sizeof(Vec16), "must fill 16 bytes");
  Pack16<T> numbers;
  memcpy(&numbers, &words, sizeof numbers);
  return numbers;
}

template <typename T>
__device__ __forceinline__ Vec16 as_vec16(const Pack16<T> &numbers) {
  static_assert(sizeof(Pack16<T>) == sizeof(Vec16), "must fill 16 bytes");
  Vec16 words;
  memcpy(&words, &numbers, sizeof words);
  return words;
}

} // namespace layline::device

#endif // LAYLINE_RUNTIME_KERNELS_PLATFORM_PLATFORM_H
