// The local side of a mixture of experts: choices sorted by expert, rows put
// into that order for the grouped product, results merged again.
//
// The order is a function of the ids alone (choices of an expert keep the order
// of their rows), so that the same batch gives the same bits in every run. No
// atomics: one block counts for one expert.
#ifndef LAYLINE_RUNTIME_KERNELS_EXPERTS_CUH
#define LAYLINE_RUNTIME_KERNELS_EXPERTS_CUH

#include "Reduce.cuh"
#include "Rows.cuh"

namespace layline::kernels {

/// How many threads of the block before this one say yes, and how many in all.
struct Votes {
  int before, all;
};
__device__ __forceinline__ Votes count_votes(bool yes) {
  LAYLINE_SHARED(int, counts, kMaxWarps);
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const unsigned ballot = __ballot_sync(kWholeWarp, yes);
  __syncthreads(); // the last counts have been read
  if (lane == 0)
    counts[warp] = bits_set(ballot);
  __syncthreads();
  Votes votes{bits_set(ballot & ((1U << lane) - 1)), 0};
  for (unsigned other = 0; other < blockDim.x / kWarp; ++other) {
    int count = counts[other];
    votes.before += other < warp ? count : 0;
    votes.all += count;
  }
  return votes;
}

/// Places of all choices of one expert; block b is the expert's. The last block
/// also writes the end of the last one, and every block takes a share of the
/// choices that are no choice of this rank's.
template <typename Protocol>
__device__ __forceinline__ void run_sort_by_expert(const ExpertParams &p) {
  Protocol::begin();
  const std::int64_t choices = p.tokens * p.chosen;
  const int expert = static_cast<int>(blockIdx.x);
  // Choices of lower experts come first.
  std::int64_t lower = 0;
  for (std::int64_t base = 0; base < choices; base += blockDim.x) {
    const std::int64_t i = base + threadIdx.x;
    const int id = i < choices ? ld(p.ids + i) - p.firstExpert : -1;
    lower += count_votes(id >= 0 && id < expert).all;
  }
  std::int64_t next = lower;
  for (std::int64_t base = 0; base < choices; base += blockDim.x) {
    const std::int64_t i = base + threadIdx.x;
    const int id = i < choices ? ld(p.ids + i) - p.firstExpert : -1;
    const Votes votes = count_votes(id == expert && i < choices);
    if (i < choices) {
      if (id == expert)
        st(p.places + i, next + votes.before);
      else if ((id < 0 || id >= p.experts) && expert == 0)
        st(p.places + i, std::int64_t(-1));
    }
    next += votes.all;
  }
  if (threadIdx.x == 0) {
    st(p.offsets + expert, lower);
    if (expert == p.experts - 1)
      st(p.offsets + expert + 1, next);
  }
  Protocol::end();
}

/// A block takes a choice at a time.
template <typename T, typename Protocol>
__device__ __forceinline__ void run_permute_rows(const ExpertParams &p) {
  Protocol::begin();
  const std::int64_t choices = p.tokens * p.chosen;
  const int vectors = p.width / kWidth<T>;
  for (std::int64_t i = blockIdx.x; i < choices; i += gridDim.x) {
    const std::int64_t place = ld(p.places + i);
    if (place < 0)
      continue;
    for (int v = threadIdx.x; v < vectors; v += blockDim.x)
      st_v4(vector_of<T, Protocol>(p.sorted, place, p.width, v),
            ld_v4(vector_of<T, Protocol>(p.rows, i / p.chosen, p.width, v)));
  }
  Protocol::end();
}

/// merged = scale * sum over the choices of weight * result + shared, in the
/// order of the choices. A block takes a row at a time.
template <typename T, typename Protocol>
__device__ __forceinline__ void run_merge_experts(const ExpertParams &p) {
  Protocol::begin();
  const int vectors = p.width / kWidth<T>;
  for (std::int64_t t = blockIdx.x; t < p.tokens; t += gridDim.x)
    for (int v = threadIdx.x; v < vectors; v += blockDim.x) {
      float sum[kWidth<T>] = {};
      for (int c = 0; c < p.chosen; ++c) {
        const std::int64_t place = ld(p.places + t * p.chosen + c);
        if (place < 0)
          continue;
        const float weight = ld(p.weights + t * p.chosen + c);
        float x[kWidth<T>];
        widen<T>(ld_v4(vector_of<T, Protocol>(p.results, place, p.width, v)),
                 x);
        LAYLINE_IN_REGISTERS
        for (int j = 0; j < kWidth<T>; ++j)
          sum[j] += weight * x[j];
      }
      float shared[kWidth<T>] = {};
      if (p.shared)
        widen<T>(ld_v4(vector_of<T, Protocol>(p.shared, t, p.width, v)),
                 shared);
      LAYLINE_IN_REGISTERS
      for (int j = 0; j < kWidth<T>; ++j)
        sum[j] = sum[j] * p.scale + shared[j];
      st_v4(vector_of<T, Protocol>(p.merged, t, p.width, v), narrow<T>(sum));
    }
  Protocol::end();
}

template <int THREADS, typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1,
               sort_by_expert(const __grid_constant__ ExpertParams p),
               run_sort_by_expert<Protocol>(p))
template <typename T, int THREADS, typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1, permute_rows(const __grid_constant__ ExpertParams p),
               run_permute_rows<T, Protocol>(p))
template <typename T, int THREADS, typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1,
               merge_experts(const __grid_constant__ ExpertParams p),
               run_merge_experts<T, Protocol>(p))

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_EXPERTS_CUH
