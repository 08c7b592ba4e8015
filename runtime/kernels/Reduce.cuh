// Sums and maxima over the threads of a block, in an order that the block's
// size alone decides.
#ifndef LAYLINE_RUNTIME_KERNELS_REDUCE_CUH
#define LAYLINE_RUNTIME_KERNELS_REDUCE_CUH

#include "platform/Platform.h"

namespace layline::kernels {
using namespace layline::device;

constexpr unsigned kWarp = 32, kMaxWarps = 32;
constexpr unsigned kWholeWarp = 0xffffffffU;

__device__ __forceinline__ int bits_set(unsigned bits) {
#if defined(__CUDACC__)
  return __popc(bits);
#else
  return __builtin_popcount(bits);
#endif
}

struct Sum {
  static __device__ __forceinline__ float join(float a, float b) {
    return a + b;
  }
};
/// Unlike fmaxf this keeps a NaN: a row with one gets scales of NaN.
struct Max {
  static __device__ __forceinline__ float join(float a, float b) {
    return a > b || a != a ? a : b;
  }
};

/// Over neighbours of `lanes`, a power of two up to a warp: butterfly, largest
/// distance first.
template <typename Op, typename Protocol>
__device__ __forceinline__ float join_lanes(float value, int lanes) {
  for (int distance = lanes / 2; distance; distance /= 2)
    value = Op::join(value,
                     __shfl_xor_sync(Protocol::warp_mask(), value, distance));
  return value;
}

/// Over all threads of a block of whole warps; every thread gets it.
template <typename Op, typename Protocol>
__device__ __forceinline__ float join_block(float value) {
  LAYLINE_SHARED(float, parts, kMaxWarps);
  value = join_lanes<Op, Protocol>(value, kWarp);
  Protocol::before_parts(); // the last row's parts have been read
  if (threadIdx.x % kWarp == 0)
    parts[threadIdx.x / kWarp] = value;
  __syncthreads();
  float all = parts[0];
  for (unsigned warp = 1; warp < blockDim.x / kWarp; ++warp)
    all = Op::join(all, parts[warp]);
  return all;
}

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_REDUCE_CUH
