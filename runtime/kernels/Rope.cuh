// Rotary position embedding of own rows, which stay or are gathered by all.
//
// Pair i of a head is rotated by position * halfTurns[i] * pi. The position is
// an operand: a row's local number is not it.
#ifndef LAYLINE_RUNTIME_KERNELS_ROPE_CUH
#define LAYLINE_RUNTIME_KERNELS_ROPE_CUH

#include "Flags.cuh"
#include "Rotation.cuh"
#include "Rows.cuh"

namespace layline::kernels {

/// Rotated features of a head are twice that at most.
constexpr int kMaxPairs = 256;

/// W elements of a head, in one access if they are a vector.
template <typename T, int W>
__device__ __forceinline__ void load_part(const T *from, float (&x)[W]) {
  if constexpr (W == kWidth<T>) {
    widen<T>(ld_v4(from), x);
  } else {
    static_assert(W == 1, "a vector or one element");
    x[0] = to_float(ld(from));
  }
}

/// Into the memory of every rank that gets the rows.
template <typename T, int P, Output kOutput, int W>
__device__ __forceinline__ void
store_part(const RopeParams<P> &p, std::int64_t at, const float (&x)[W]) {
  LAYLINE_UNROLL
  for (int step = 0; step < (kOutput == Output::Own ? 1 : P); ++step) {
    T *to = static_cast<T *>(p.out[(p.peers.rank + step) % P]) + at;
    if constexpr (W == kWidth<T>)
      st_v4(to, narrow<T>(x));
    else
      st(to, from_float<T>(x[0]));
  }
}

/// Pairs [W u, W u + W) of a head at `head`, of the tensor at `to`.
template <typename T, int P, RopeStyle kStyle, Output kOutput, int W,
          typename Floats>
__device__ __forceinline__ void
rotate_pairs(const RopeParams<P> &p, const T *head, std::int64_t to, int u,
             const Floats &cosines, const Floats &sines) {
  constexpr bool kFromHalf = kStyle == RopeStyle::Half,
                 kToHalf = kStyle != RopeStyle::Interleaved;
  const int pairs = p.rotary / 2, first = W * u;
  float a[W], b[W], x[2 * W], y[2 * W];
  load_part<T>(head + (kFromHalf ? first : 2 * first), a);
  load_part<T>(head + (kFromHalf ? pairs + first : 2 * first + W), b);
  LAYLINE_UNROLL
  for (int j = 0; j < W; ++j) {
    x[j] = a[j];
    x[W + j] = b[j];
  }
  LAYLINE_UNROLL
  for (int j = 0; j < W; ++j) {
    const float xa = x[kFromHalf ? j : 2 * j],
                xb = x[kFromHalf ? W + j : 2 * j + 1];
    const float cosine = cosines[first + j], sine = sines[first + j];
    y[kToHalf ? j : 2 * j] = xa * cosine - xb * sine;
    y[kToHalf ? W + j : 2 * j + 1] = xb * cosine + xa * sine;
  }
  LAYLINE_UNROLL
  for (int j = 0; j < W; ++j) {
    a[j] = y[j];
    b[j] = y[W + j];
  }
  store_part<T, P, kOutput>(p, to + (kToHalf ? first : 2 * first), a);
  store_part<T, P, kOutput>(p, to + (kToHalf ? pairs + first : 2 * first + W),
                            b);
}

template <typename T, int P, RopeStyle kStyle, Output kOutput, int W,
          typename Protocol>
__device__ __forceinline__ void run_rope(const RopeParams<P> &p) {
  LAYLINE_SHARED(float, cosines, kMaxPairs);
  LAYLINE_SHARED(float, sines, kMaxPairs);
  Protocol::begin();
  PeerVisit<P, Protocol> visit(p.peers);
  if (!visit.enter())
    return;
  const RowBlock mine = Protocol::own_rows(p.tokens, P, p.peers.rank);
  const int rotated = p.rotary / 2 / W, copied = (p.headWidth - p.rotary) / W,
            units = rotated + copied;
  for (std::int64_t own = blockIdx.x; own < mine.size; own += gridDim.x) {
    const std::int64_t index = kOutput == Output::Own ? own : mine.begin + own;
    const std::int64_t position = ld(p.positions + own);
    __syncthreads(); // the last row's angles have been read
    for (int i = threadIdx.x; i < p.rotary / 2; i += blockDim.x) {
      const Rotation by =
          rotation(position, ld(p.halfTurns + i), p.attentionFactor);
      cosines[i] = by.cosine;
      sines[i] = by.sine;
    }
    __syncthreads();
    const int width = p.heads * p.headWidth;
    const T *row =
        static_cast<const T *>(p.rows) + Protocol::offset(own, width);
    for (int i = threadIdx.x; i < p.heads * units; i += blockDim.x) {
      const int head = i / units * p.headWidth, unit = i % units;
      const std::int64_t to = Protocol::offset(index, width) + head;
      if (unit < rotated) {
        rotate_pairs<T, P, kStyle, kOutput, W>(p, row + head, to, unit, cosines,
                                               sines);
      } else {
        const int at = p.rotary + (unit - rotated) * W;
        float x[W];
        load_part<T>(row + head + at, x);
        store_part<T, P, kOutput>(p, to + at, x);
      }
    }
  }
  visit.leave();
  Protocol::end();
}

/// W: elements of an access. A vector where `rotary` is a multiple of two of
/// them and the head of one, else 1. One block takes a row at a time.
template <typename T, int P, RopeStyle kStyle, Output kOutput, int W,
          int THREADS, typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1, rope(const __grid_constant__ RopeParams<P> p),
               run_rope<T, P, kStyle, kOutput, W, Protocol>(p))

/// P ranks on one card, for tests: the grid's y is the rank, `all` has the
/// parameters of each. All blocks must be resident: one cooperative launch.
template <typename T, int P, RopeStyle kStyle, Output kOutput, int W,
          int THREADS, typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1, virtual_rope(const RopeParams<P> *all),
               run_rope<T, P, kStyle, kOutput, W, Protocol>(all[blockIdx.y]))

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_ROPE_CUH
