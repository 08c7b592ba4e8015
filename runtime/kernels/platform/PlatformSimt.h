// The platform layer on the emulator (devices/simt): CUDA's words as macros and
// functions for the host's compiler. No CUDA header is needed.
#ifndef LAYLINE_RUNTIME_KERNELS_PLATFORM_PLATFORMSIMT_H
#define LAYLINE_RUNTIME_KERNELS_PLATFORM_PLATFORMSIMT_H

#include "Numeric.h"
#include "devices/simt/DeviceCalls.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __grid_constant__
#if defined(__clang__)
#define LAYLINE_UNROLL _Pragma("unroll")
#else
#define LAYLINE_UNROLL _Pragma("GCC unroll 16")
#endif
#define LAYLINE_ROLLED

#define LAYLINE_KERNEL(threads, blocks, signature, ...)                        \
  void signature {                                                             \
    ::layline::simt::checkLaunchBounds(threads);                               \
    __VA_ARGS__;                                                               \
  }

#define threadIdx (::layline::simt::thisThread->threadIndex)
#define blockIdx (::layline::simt::thisThread->blockIndex)
#define blockDim (::layline::simt::thisThread->blockSize)
#define gridDim (::layline::simt::thisThread->gridSize)

// The address of a static names the array: one for each place in the text and
// each instance of a template.
#define LAYLINE_SHARED(T, name, N)                                             \
  static const char name##_key = 0;                                            \
  const ::layline::simt::SharedArray<T> name(&name##_key, #name, N)
#define LAYLINE_DYNAMIC_SHARED(T, name)                                        \
  const ::layline::simt::SharedArray<T> name(#name)

// The line is the barrier's name in reports, and what tells that threads of one
// block are at different barriers.
inline void __syncthreads(const char *file = __builtin_FILE(),
                          int line = __builtin_LINE()) {
  ::layline::simt::syncBlock(0, {file, line});
}
inline int __syncthreads_or(int value, const char *file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
  return ::layline::simt::syncBlock(value != 0, {file, line}) != 0;
}
inline int __syncthreads_count(int value, const char *file = __builtin_FILE(),
                               int line = __builtin_LINE()) {
  return static_cast<int>(::layline::simt::syncBlock(value != 0, {file, line}));
}

inline void __syncwarp(unsigned mask = 0xffffffffU) {
  ::layline::simt::warpOperation(mask, 0, ::layline::simt::WarpOp::Sync, 0);
}
template <typename T> inline T __shfl_xor_sync(unsigned mask, T value, int by) {
  return ::layline::simt::shuffle(mask, value,
                                  ::layline::simt::WarpOp::ShuffleXor, by);
}
template <typename T> inline T __shfl_sync(unsigned mask, T value, int lane) {
  return ::layline::simt::shuffle(mask, value, ::layline::simt::WarpOp::Shuffle,
                                  lane);
}
template <typename T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned by) {
  return ::layline::simt::shuffle(
      mask, value, ::layline::simt::WarpOp::ShuffleDown, static_cast<int>(by));
}
template <typename T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned by) {
  return ::layline::simt::shuffle(
      mask, value, ::layline::simt::WarpOp::ShuffleUp, static_cast<int>(by));
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(::layline::simt::warpOperation(
      mask, predicate != 0, ::layline::simt::WarpOp::Ballot, 0));
}
inline int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) == mask;
}

inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }

namespace layline::device {

template <typename T> using SharedSpan = simt::SharedArray<T>;

template <typename T>
inline T shared_add(const SharedSpan<T> &array, unsigned index, T value) {
  return array.add(index, value);
}

#define LAYLINE_FLAG(order, ofOrder, scope, ofScope)                           \
  inline void st_##order##_##scope(std::uint32_t *flag, std::uint32_t value) { \
    simt::storeFlag(flag, value, simt::Order::ofOrder, simt::Scope::ofScope);  \
  }
LAYLINE_FLAG(relaxed, Relaxed, sys, Sys)
LAYLINE_FLAG(relaxed, Relaxed, gpu, Gpu)
LAYLINE_FLAG(release, Release, sys, Sys)
LAYLINE_FLAG(release, Release, gpu, Gpu)
#undef LAYLINE_FLAG

#define LAYLINE_FLAG(order, ofOrder, scope, ofScope)                           \
  inline std::uint32_t ld_##order##_##scope(const std::uint32_t *flag) {       \
    return simt::loadFlag(flag, simt::Order::ofOrder, simt::Scope::ofScope);   \
  }
LAYLINE_FLAG(relaxed, Relaxed, sys, Sys)
LAYLINE_FLAG(relaxed, Relaxed, gpu, Gpu)
LAYLINE_FLAG(acquire, Acquire, sys, Sys)
LAYLINE_FLAG(acquire, Acquire, gpu, Gpu)
#undef LAYLINE_FLAG

#define LAYLINE_FLAG(order, ofOrder, scope, ofScope)                           \
  inline std::uint32_t atom_add_##order##_##scope(std::uint32_t *flag,         \
                                                  std::uint32_t value) {       \
    return simt::updateFlag(flag, simt::Update::Add, value, 0,                 \
                            simt::Order::ofOrder, simt::Scope::ofScope);       \
  }                                                                            \
  inline void red_add_##order##_##scope(std::uint32_t *flag,                   \
                                        std::uint32_t value) {                 \
    simt::updateFlag(flag, simt::Update::Add, value, 0, simt::Order::ofOrder,  \
                     simt::Scope::ofScope);                                    \
  }
LAYLINE_FLAG(relaxed, Relaxed, sys, Sys)
LAYLINE_FLAG(relaxed, Relaxed, gpu, Gpu)
LAYLINE_FLAG(release, Release, sys, Sys)
LAYLINE_FLAG(release, Release, gpu, Gpu)
#undef LAYLINE_FLAG

inline std::uint32_t atom_add_acq_rel_sys(std::uint32_t *flag,
                                          std::uint32_t value) {
  return simt::updateFlag(flag, simt::Update::Add, value, 0,
                          simt::Order::AcquireRelease, simt::Scope::Sys);
}
inline std::uint32_t atom_add_acq_rel_gpu(std::uint32_t *flag,
                                          std::uint32_t value) {
  return simt::updateFlag(flag, simt::Update::Add, value, 0,
                          simt::Order::AcquireRelease, simt::Scope::Gpu);
}
inline std::uint32_t atom_exch_relaxed_gpu(std::uint32_t *word,
                                           std::uint32_t value) {
  return simt::updateFlag(word, simt::Update::Exchange, value, 0,
                          simt::Order::Relaxed, simt::Scope::Gpu);
}
inline std::uint32_t atom_cas_relaxed_gpu(std::uint32_t *word,
                                          std::uint32_t expected,
                                          std::uint32_t value) {
  return simt::updateFlag(word, simt::Update::CompareExchange, value, expected,
                          simt::Order::Relaxed, simt::Scope::Gpu);
}

inline void fence_acq_rel_sys() { simt::fence(simt::Scope::Sys); }
inline void fence_acq_rel_gpu() { simt::fence(simt::Scope::Gpu); }

template <typename T> inline T ld(const T *from) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8,
                "a scalar of at most 8 bytes");
  T value;
  simt::loadPlain(&value, from, sizeof(T));
  return value;
}
template <typename T> inline void st(T *to, T value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8,
                "a scalar of at most 8 bytes");
  simt::storePlain(to, &value, sizeof(T));
}

inline Vec16 ld_v4(const void *from) {
  Vec16 value;
  simt::loadPlain(&value, from, sizeof value);
  return value;
}
inline void st_v4(void *to, Vec16 value) {
  simt::storePlain(to, &value, sizeof value);
}
inline Vec16 ld_relaxed_v4(const void *from) {
  Vec16 value;
  simt::loadFourWords(&value, from, "ld.relaxed.sys.v4");
  return value;
}
inline void st_relaxed_v4(void *to, Vec16 value) {
  simt::storeFourWords(to, &value);
}
inline Vec16 ld_volatile_v4(const void *from) {
  Vec16 value;
  simt::loadFourWords(&value, from, "ld.volatile.v4");
  return value;
}

template <typename T> constexpr simt::Element elementOf();
template <> constexpr simt::Element elementOf<bf16>() {
  return simt::Element::BF16;
}
template <> constexpr simt::Element elementOf<f16>() {
  return simt::Element::F16;
}
template <> constexpr simt::Element elementOf<float>() {
  return simt::Element::F32;
}

template <typename T> inline Vec16 mm_ld_reduce(const void *from) {
  Vec16 value;
  simt::multicastLoadReduce(&value, from, elementOf<T>());
  return value;
}
template <typename T> inline void mm_red_add_v4(void *to, Vec16 value) {
  simt::multicastReduce(to, &value, elementOf<T>());
}
inline void mm_st_v4(void *to, Vec16 value) {
  simt::multicastStore(to, &value, sizeof value);
}
inline void mm_st(std::uint32_t *to, std::uint32_t value) {
  simt::multicastStore(to, &value, sizeof value);
}
inline void mm_st(std::uint64_t *to, std::uint64_t value) {
  simt::multicastStore(to, &value, sizeof value);
}
inline void mm_st_release_sys(std::uint32_t *flag, std::uint32_t value) {
  simt::multicastStoreFlag(flag, value, simt::Order::Release);
}
inline void mm_red_add_relaxed_sys(std::uint32_t *flag, std::uint32_t value) {
  simt::multicastAddFlag(flag, value, simt::Order::Relaxed);
}
inline void mm_red_add_release_sys(std::uint32_t *flag, std::uint32_t value) {
  simt::multicastAddFlag(flag, value, simt::Order::Release);
}

inline void griddep_wait() { simt::waitForPrerequisites(); }
inline void griddep_launch_dependents() { simt::launchDependents(); }
inline void bar_sync(unsigned barrier, unsigned threads) {
  simt::namedBarrier(barrier, threads, true);
}
inline void bar_arrive(unsigned barrier, unsigned threads) {
  simt::namedBarrier(barrier, threads, false);
}
inline std::uint64_t globaltimer() { return simt::virtualTime(); }

} // namespace layline::device

#endif // LAYLINE_RUNTIME_KERNELS_PLATFORM_PLATFORMSIMT_H
