// The platform layer as nvcc sees it. The only file with PTX.
#ifndef LAYLINE_RUNTIME_KERNELS_PLATFORM_PLATFORMCUDA_H
#define LAYLINE_RUNTIME_KERNELS_PLATFORM_PLATFORMCUDA_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define LAYLINE_SHARED(T, name, N) __shared__ T name[N]
#define LAYLINE_DYNAMIC_SHARED(T, name)                                        \
  extern __shared__ __align__(16) unsigned char layline_dynamic_shared[];      \
  T *const name = reinterpret_cast<T *>(layline_dynamic_shared)
#define LAYLINE_UNROLL _Pragma("unroll")
#define LAYLINE_ROLLED _Pragma("unroll 1")
#define LAYLINE_KERNEL(threads, blocks, signature, ...)                        \
  __global__ void __launch_bounds__(threads, blocks) signature { __VA_ARGS__; }

namespace layline::device {

struct bf16;
struct f16;

template <typename T> using SharedSpan = T *;

template <typename T>
__device__ __forceinline__ T shared_add(T *array, unsigned index, T value) {
  return atomicAdd(array + index, value);
}

// The "memory" clobbers keep the compiler from moving plain accesses over a
// flag; the orders do it for the hardware.

#define LAYLINE_FLAG_STORE(order, scope)                                       \
  __device__ __forceinline__ void st_##order##_##scope(std::uint32_t *flag,    \
                                                       std::uint32_t value) {  \
    asm volatile("st." #order "." #scope ".global.u32 [%0], %1;" ::"l"(flag),  \
                 "r"(value)                                                    \
                 : "memory");                                                  \
  }
LAYLINE_FLAG_STORE(relaxed, sys)
LAYLINE_FLAG_STORE(relaxed, gpu)
LAYLINE_FLAG_STORE(release, sys)
LAYLINE_FLAG_STORE(release, gpu)
#undef LAYLINE_FLAG_STORE

#define LAYLINE_FLAG_LOAD(order, scope)                                        \
  __device__ __forceinline__ std::uint32_t ld_##order##_##scope(               \
      const std::uint32_t *flag) {                                             \
    std::uint32_t value;                                                       \
    asm volatile("ld." #order "." #scope ".global.u32 %0, [%1];"               \
                 : "=r"(value)                                                 \
                 : "l"(flag)                                                   \
                 : "memory");                                                  \
    return value;                                                              \
  }
LAYLINE_FLAG_LOAD(relaxed, sys)
LAYLINE_FLAG_LOAD(relaxed, gpu)
LAYLINE_FLAG_LOAD(acquire, sys)
LAYLINE_FLAG_LOAD(acquire, gpu)
#undef LAYLINE_FLAG_LOAD

#define LAYLINE_FLAG_ADD(order, scope)                                         \
  __device__ __forceinline__ std::uint32_t atom_add_##order##_##scope(         \
      std::uint32_t *flag, std::uint32_t value) {                              \
    std::uint32_t before;                                                      \
    asm volatile("atom." #order "." #scope ".global.add.u32 %0, [%1], %2;"     \
                 : "=r"(before)                                                \
                 : "l"(flag), "r"(value)                                       \
                 : "memory");                                                  \
    return before;                                                             \
  }
LAYLINE_FLAG_ADD(relaxed, sys)
LAYLINE_FLAG_ADD(relaxed, gpu)
LAYLINE_FLAG_ADD(release, sys)
LAYLINE_FLAG_ADD(release, gpu)
LAYLINE_FLAG_ADD(acq_rel, sys)
LAYLINE_FLAG_ADD(acq_rel, gpu)
#undef LAYLINE_FLAG_ADD

#define LAYLINE_FLAG_REDUCE(order, scope)                                      \
  __device__ __forceinline__ void red_add_##order##_##scope(                   \
      std::uint32_t *flag, std::uint32_t value) {                              \
    asm volatile("red." #order "." #scope                                      \
                 ".global.add.u32 [%0], %1;" ::"l"(flag),                      \
                 "r"(value)                                                    \
                 : "memory");                                                  \
  }
LAYLINE_FLAG_REDUCE(relaxed, sys)
LAYLINE_FLAG_REDUCE(relaxed, gpu)
LAYLINE_FLAG_REDUCE(release, sys)
LAYLINE_FLAG_REDUCE(release, gpu)
#undef LAYLINE_FLAG_REDUCE

__device__ __forceinline__ std::uint32_t
atom_exch_relaxed_gpu(std::uint32_t *word, std::uint32_t value) {
  std::uint32_t before;
  asm volatile("atom.relaxed.gpu.global.exch.b32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(word), "r"(value)
               : "memory");
  return before;
}

__device__ __forceinline__ std::uint32_t
atom_cas_relaxed_gpu(std::uint32_t *word, std::uint32_t expected,
                     std::uint32_t value) {
  std::uint32_t before;
  asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(before)
               : "l"(word), "r"(expected), "r"(value)
               : "memory");
  return before;
}

__device__ __forceinline__ void fence_acq_rel_sys() {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}
__device__ __forceinline__ void fence_acq_rel_gpu() {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

// ---- Data
// --------------------------------------------------------------------

template <typename T> __device__ __forceinline__ T ld(const T *from) {
  return *from;
}
template <typename T> __device__ __forceinline__ void st(T *to, T value) {
  *to = value;
}

// By name: the compiler takes an access of a uint4 apart where it likes its
// words better, and does not always put them together again.
__device__ __forceinline__ Vec16 ld_v4(const void *from) {
  Vec16 v;
  asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
}
__device__ __forceinline__ void st_v4(void *to, Vec16 v) {
  asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

__device__ __forceinline__ Vec16 ld_relaxed_v4(const void *from) {
  Vec16 v;
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
}
__device__ __forceinline__ void st_relaxed_v4(void *to, Vec16 v) {
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to),
               "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}
__device__ __forceinline__ Vec16 ld_volatile_v4(const void *from) {
  Vec16 v;
  asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
}

// ---- Multicast
// ---------------------------------------------------------------

/// The sum over all replicas, added in float32 and rounded once. The switch
/// chooses the order.
template <typename T>
__device__ __forceinline__ Vec16 mm_ld_reduce(const void *from);
/// Adds to every replica.
template <typename T>
__device__ __forceinline__ void mm_red_add_v4(void *to, Vec16 v);

#define LAYLINE_MULTIMEM(T, width, accumulate)                                 \
  template <>                                                                  \
  __device__ __forceinline__ Vec16 mm_ld_reduce<T>(const void *from) {         \
    Vec16 v;                                                                   \
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add" accumulate        \
                 ".v4." width " {%0,%1,%2,%3}, [%4];"                          \
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                  \
                 : "l"(from)                                                   \
                 : "memory");                                                  \
    return v;                                                                  \
  }                                                                            \
  template <>                                                                  \
  __device__ __forceinline__ void mm_red_add_v4<T>(void *to, Vec16 v) {        \
    asm volatile("multimem.red.relaxed.sys.global.add.v4." width               \
                 " [%0], {%1,%2,%3,%4};" ::"l"(to),                            \
                 "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)                        \
                 : "memory");                                                  \
  }
LAYLINE_MULTIMEM(bf16, "bf16x2", ".acc::f32")
LAYLINE_MULTIMEM(f16, "f16x2", ".acc::f32")
#undef LAYLINE_MULTIMEM

template <>
__device__ __forceinline__ Vec16 mm_ld_reduce<float>(const void *from) {
  float a, b, c, d;
  asm volatile(
      "multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0,%1,%2,%3}, [%4];"
      : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
      : "l"(from)
      : "memory");
  return {__float_as_uint(a), __float_as_uint(b), __float_as_uint(c),
          __float_as_uint(d)};
}
template <>
__device__ __forceinline__ void mm_red_add_v4<float>(void *to, Vec16 v) {
  asm volatile("multimem.red.relaxed.sys.global.add.v4.f32 "
               "[%0], {%1,%2,%3,%4};" ::"l"(to),
               "f"(__uint_as_float(v.x)), "f"(__uint_as_float(v.y)),
               "f"(__uint_as_float(v.z)), "f"(__uint_as_float(v.w))
               : "memory");
}

/// Stores the same 16 bytes into every replica.
__device__ __forceinline__ void mm_st_v4(void *to, Vec16 v) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 "
               "[%0], {%1,%2,%3,%4};" ::"l"(to),
               "f"(__uint_as_float(v.x)), "f"(__uint_as_float(v.y)),
               "f"(__uint_as_float(v.z)), "f"(__uint_as_float(v.w))
               : "memory");
}
/// The same of 4 and of 8 bytes.
__device__ __forceinline__ void mm_st(std::uint32_t *to, std::uint32_t value) {
  asm volatile("multimem.st.relaxed.sys.global.u32 [%0], %1;" ::"l"(to),
               "r"(value)
               : "memory");
}
__device__ __forceinline__ void mm_st(std::uint64_t *to, std::uint64_t value) {
  asm volatile("multimem.st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to),
               "l"(value)
               : "memory");
}
__device__ __forceinline__ void mm_st_release_sys(std::uint32_t *flag,
                                                  std::uint32_t value) {
  asm volatile("multimem.st.release.sys.global.u32 [%0], %1;" ::"l"(flag),
               "r"(value)
               : "memory");
}
__device__ __forceinline__ void mm_red_add_relaxed_sys(std::uint32_t *flag,
                                                       std::uint32_t value) {
  asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], %1;" ::"l"(flag),
               "r"(value)
               : "memory");
}
__device__ __forceinline__ void mm_red_add_release_sys(std::uint32_t *flag,
                                                       std::uint32_t value) {
  asm volatile("multimem.red.release.sys.global.add.u32 [%0], %1;" ::"l"(flag),
               "r"(value)
               : "memory");
}

// ---- Launches, barriers, time
// ------------------------------------------------

/// Waits until all launches before this one in the stream are complete and
/// their stores visible. Does nothing in a launch that is not programmatic.
__device__ __forceinline__ void griddep_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
/// Lets the next launch begin once every block has said so or left. Promises
/// nothing about what it sees.
__device__ __forceinline__ void griddep_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// Barrier 1..15 of the block for `threads` threads, a multiple of 32.
__device__ __forceinline__ void bar_sync(unsigned barrier, unsigned threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
/// The same without waiting.
__device__ __forceinline__ void bar_arrive(unsigned barrier, unsigned threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Nanoseconds; the resolution is the device's, about a microsecond.
__device__ __forceinline__ std::uint64_t globaltimer() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

} // namespace layline::device

#endif // LAYLINE_RUNTIME_KERNELS_PLATFORM_PLATFORMCUDA_H
