// reduce_scatter, row-wise work and all_gather in one kernel, whole or in part:
//
//   Input    Output
//   Owed     Everyone   reduce_scatter + work + all_gather; without work an
//                       all_reduce
//   Owed     Own        reduce_scatter + work, rows stay
//   Own      Everyone   work + all_gather
//   Own      Own        local work (P = 1)
//
// Rows are summed by their owner alone, in rank order: every rank gets the same
// bits, in every run. Addends are pulled, results pushed: stores do not wait.
// One block takes a row at a time.
#ifndef LAYLINE_RUNTIME_KERNELS_ROWCOLLECTIVE_CUH
#define LAYLINE_RUNTIME_KERNELS_ROWCOLLECTIVE_CUH

#include "Flags.cuh"
#include "RowChain.cuh"

namespace layline::kernels {

/// The addends of one vector, all loads before the first sum.
template <typename T, int P, typename Protocol>
__device__ __forceinline__ void
sum_addends(const void *const (&addends)[P], std::int64_t index, int width,
            std::uint32_t rank, int vector, float (&x)[kWidth<T>]) {
  Vec16 of[P];
  LAYLINE_UNROLL
  for (int place = 0; place < P; ++place) {
    int peer = Protocol::addend(place, static_cast<int>(rank), P);
    of[place] =
        ld_v4(vector_of<T, Protocol>(addends[peer], index, width, vector));
  }
  widen<T>(of[0], x);
  LAYLINE_UNROLL
  for (int place = 1; place < P; ++place) {
    float a[kWidth<T>];
    widen<T>(of[place], a);
    LAYLINE_IN_REGISTERS
    for (int j = 0; j < kWidth<T>; ++j)
      x[j] += a[j];
  }
}

/// Row `own` of this rank, row `index` of all.
template <Input kInput, typename Protocol, typename T, int VPT, int P>
__device__ __forceinline__ void load_row(Row<T, VPT> &row,
                                         const RowParams<P> &p,
                                         std::int64_t own, std::int64_t index) {
  for_each_vector<Protocol>(row, [&](float(&x)[kWidth<T>], int vector) {
    if constexpr (kInput == Input::Own)
      widen<T>(ld_v4(vector_of<T, Protocol>(p.rows, own, p.width, vector)), x);
    else if constexpr (kInput == Input::Owed)
      sum_addends<T, P, Protocol>(p.addends, index, p.width, p.peers.rank,
                                  vector, x);
    else
      widen<T>(mm_ld_reduce<T>(vector_of<T, Protocol>(p.multicastAddends, index,
                                                      p.width, vector)),
               x);
  });
}

template <typename T, int P, Input kInput, Output kOutput, typename C, int VPT,
          typename Protocol>
__device__ __forceinline__ void run_row_collective(const RowParams<P> &p) {
  Protocol::begin();
  PeerVisit<P, Protocol> visit(p.peers);
  if (!visit.enter())
    return;
  Protocol::before_work();
  const RowBlock mine = Protocol::own_rows(p.tokens, P, p.peers.rank);
  for (std::int64_t own = blockIdx.x; own < mine.size; own += gridDim.x) {
    const std::int64_t index = mine.begin + own;
    Row<T, VPT> row;
    row.width = p.width;
    row.vectors = p.width / kWidth<T>;
    load_row<kInput, Protocol>(row, p, own, index);
    run_chain<C, Protocol>(row, p.operands, own,
                           RowSink<T, P, kOutput, Protocol>(
                               p.out, p.peers.rank,
                               kOutput == Output::Own ? own : index, p.width,
                               scale_columns<C>(p.operands, p.width)));
  }
  visit.leave();
  Protocol::end();
}

/// THREADS bounds the block, a multiple of 32; THREADS * VPT vectors are the
/// widest row.
template <typename T, int P, Input kInput, Output kOutput, typename C,
          int THREADS, int VPT, typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1,
               row_collective(const __grid_constant__ RowParams<P> p),
               run_row_collective<T, P, kInput, kOutput, C, VPT, Protocol>(p))

/// P ranks on one card, for tests: the grid's y is the rank, `all` has the
/// parameters of each. All blocks must be resident: one cooperative launch.
template <typename T, int P, Input kInput, Output kOutput, typename C,
          int THREADS, int VPT, typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1, virtual_row_collective(const RowParams<P> *all),
               run_row_collective<T, P, kInput, kOutput, C, VPT, Protocol>(
                   all[blockIdx.y]))

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_ROWCOLLECTIVE_CUH
