// A collective as a kernel of this emulator's tests: reduce_scatter by pulling,
// all_gather by pushing, one barrier of peers before and one after. `fault` is
// one thing left out of it.
#ifndef LAYLINE_TEST_KERNELS_EMULATOR_TWOSHOT_CUH
#define LAYLINE_TEST_KERNELS_EMULATOR_TWOSHOT_CUH

#include "BoundedSpin.h"

namespace layline::test {

using namespace layline::device;

enum class Fault {
  None,
  NoEntryBarrier,
  NoExitBarrier,
  RelaxedStore,
  RelaxedLoad,
  NoSyncthreads,
  FenceOfGpu,
  FlagOfGpu,
  PlainFlag,
  WholeGrid,
  StaleEpoch
};

template <int P> struct TwoShotArguments {
  float *input[P];         ///< symmetric, [rows][4 * vectors]
  float *output[P];        ///< symmetric, as input
  std::uint32_t *flags[P]; ///< symmetric, [2][blocks][P], 0 at first
  SpinBound bound;
  int rank, rows, vectors;
  std::uint32_t epoch; ///< 1, 2, ... of launches
};

template <int P, Fault fault>
__device__ __forceinline__ bool meetPeers(const TwoShotArguments<P> &a,
                                          unsigned phase) {
  if (fault != Fault::NoSyncthreads)
    __syncthreads();
  bool isLost = false;
  if (threadIdx.x < P) {
    unsigned peer = threadIdx.x;
    unsigned row = phase * gridDim.x + blockIdx.x;
    std::uint32_t *to = a.flags[peer] + row * P + a.rank;
    std::uint32_t epoch = fault == Fault::StaleEpoch ? 1 : a.epoch;
    if (fault == Fault::RelaxedStore) {
      st_relaxed_sys(to, epoch);
    } else if (fault == Fault::FenceOfGpu) {
      fence_acq_rel_gpu();
      st_relaxed_sys(to, epoch);
    } else if (fault == Fault::FlagOfGpu) {
      st_release_gpu(to, epoch);
    } else if (fault == Fault::PlainFlag) {
      st(to, epoch);
    } else {
      st_release_sys(to, epoch);
    }
    unsigned first = fault == Fault::WholeGrid ? 0 : blockIdx.x;
    unsigned last = fault == Fault::WholeGrid ? gridDim.x : blockIdx.x + 1;
    for (unsigned block = first; block < last; ++block) {
      unsigned number = (phase * gridDim.x + block) * P + peer;
      const std::uint32_t *from = a.flags[a.rank] + number;
      if (fault == Fault::RelaxedLoad)
        while (!has_reached(ld_relaxed_sys(from), epoch)) {
        }
      else
        isLost |= !wait_for_epoch(from, epoch, number, a.bound);
    }
  }
  return __syncthreads_or(isLost) == 0;
}

template <int P, Fault fault>
__global__ void twoShot(const __grid_constant__ TwoShotArguments<P> a) {
  if (fault != Fault::NoEntryBarrier && !meetPeers<P, fault>(a, 0))
    return;
  for (int row = static_cast<int>(blockIdx.x) * P + a.rank; row < a.rows;
       row += static_cast<int>(gridDim.x) * P)
    for (int vector = static_cast<int>(threadIdx.x); vector < a.vectors;
         vector += static_cast<int>(blockDim.x)) {
      int at = (row * a.vectors + vector) * 4;
      Pack16<float> sum{};
      LAYLINE_UNROLL
      for (int peer = 0; peer < P; ++peer) {
        auto part = as_pack<float>(ld_v4(a.input[peer] + at));
        for (int i = 0; i < 4; ++i)
          sum.v[i] += part.v[i];
      }
      LAYLINE_UNROLL
      for (int step = 0; step < P; ++step)
        st_v4(a.output[(a.rank + step) % P] + at, as_vec16(sum));
    }
  if (fault != Fault::NoExitBarrier)
    meetPeers<P, fault>(a, 1);
}

/// What stands before and after a collective in its stream.
static __global__ void copyVectors(const float *from, float *to, int vectors) {
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
       i < vectors; i += static_cast<int>(gridDim.x * blockDim.x))
    st_v4(to + 4 * i, ld_v4(from + 4 * i));
}

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_EMULATOR_TWOSHOT_CUH
