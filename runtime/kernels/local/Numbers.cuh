// Numbers of a type that is known at the launch, as floats. One text for every
// combination of types: these kernels are bound by memory, and the branch is
// the same for all threads.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_NUMBERS_CUH
#define LAYLINE_RUNTIME_KERNELS_LOCAL_NUMBERS_CUH

#include "kernels/local/LocalParams.h"
#include "kernels/platform/Platform.h"

namespace layline::local {

using device::bf16;
using device::e4m3;
using device::e5m2;
using device::f16;

template <typename T>
__device__ __forceinline__ float numberAt(const void *data, std::int64_t i) {
  return device::to_float(device::ld(static_cast<const T *>(data) + i));
}

template <typename T>
__device__ __forceinline__ void setNumber(void *data, std::int64_t i, float x) {
  device::st(static_cast<T *>(data) + i, device::from_float<T>(x));
}

__device__ __forceinline__ float load(NumberType type, const void *data,
                                      std::int64_t i) {
  switch (type) {
  case NumberType::F32:
    return numberAt<float>(data, i);
  case NumberType::BF16:
    return numberAt<bf16>(data, i);
  case NumberType::F16:
    return numberAt<f16>(data, i);
  case NumberType::E4M3:
    return numberAt<e4m3>(data, i);
  case NumberType::E5M2:
    return numberAt<e5m2>(data, i);
  }
  return 0;
}

__device__ __forceinline__ float load(const Numbers &numbers, std::int64_t i) {
  return load(numbers.type, numbers.data, i);
}

/// Rounded to nearest, ties to even.
__device__ __forceinline__ void store(const Numbers &numbers, std::int64_t i,
                                      float x) {
  switch (numbers.type) {
  case NumberType::F32:
    return setNumber<float>(numbers.data, i, x);
  case NumberType::BF16:
    return setNumber<bf16>(numbers.data, i, x);
  case NumberType::F16:
    return setNumber<f16>(numbers.data, i, x);
  case NumberType::E4M3:
    return setNumber<e4m3>(numbers.data, i, x);
  case NumberType::E5M2:
    return setNumber<e5m2>(numbers.data, i, x);
  }
}

/// The first element of this thread, and how far it is to its next.
__device__ __forceinline__ std::int64_t firstOfThread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::int64_t strideOfGrid() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

/// The first fault of a run is kept.
__device__ __forceinline__ void report(const FaultPlace &place, Fault fault,
                                       std::int64_t row, std::int64_t value) {
  FaultRecord *record = place.record;
  if (device::atom_cas_relaxed_gpu(&record->fault, 0,
                                   static_cast<std::uint32_t>(fault)) != 0)
    return;
  device::st(&record->rank, place.rank);
  device::st(&record->step, place.step);
  device::st(&record->row, row);
  device::st(&record->value, value);
}

/// The sum, or the largest, of a value of every thread; the same bits on all
/// threads. Every thread of the block must call it.
template <typename Combine>
__device__ __forceinline__ float combineOfBlock(float value,
                                                const Combine &with) {
  constexpr int kWarps = kThreads / 32;
  LAYLINE_SHARED(float, ofWarp, kWarps);
  LAYLINE_UNROLL
  for (int by = 16; by > 0; by /= 2)
    value = with(value, __shfl_xor_sync(0xffffffffU, value, by));
  // The values of the call before are no longer read.
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    ofWarp[threadIdx.x / 32] = value;
  __syncthreads();
  float result = ofWarp[0];
  LAYLINE_UNROLL
  for (int warp = 1; warp < kWarps; ++warp)
    result = with(result, ofWarp[warp]);
  return result;
}

struct Plus {
  __device__ __forceinline__ float operator()(float a, float b) const {
    return a + b;
  }
};
struct Largest {
  __device__ __forceinline__ float operator()(float a, float b) const {
    return a > b ? a : b;
  }
};
/// As Largest, but a NaN stays.
struct LargestOrNaN {
  __device__ __forceinline__ float operator()(float a, float b) const {
    return a > b || a != a ? a : b;
  }
};

__device__ __forceinline__ float apply(Function function, float x) {
  switch (function) {
  case Function::Silu:
    return x / (1.0F + expf(-x));
  case Function::Gelu: // x * Phi(x), the exact form
    return x * 0.5F * (1.0F + erff(x * 0.70710678118654752440F));
  case Function::GeluTanh: { // Hendrycks & Gimpel 2016, eq. 2
    constexpr float kSqrt2OverPi = 0.79788456080286535588F;
    return 0.5F * x *
           (1.0F + tanhf(kSqrt2OverPi * (x + 0.044715F * x * x * x)));
  }
  case Function::Relu:
    return x > 0.0F ? x : 0.0F;
  case Function::Sigmoid:
    return 1.0F / (1.0F + expf(-x));
  }
  return x;
}

} // namespace layline::local

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_NUMBERS_CUH
