// all_gather of rows of bytes, whatever they mean: ids of 8 bytes, FP8, floats
// whose NaNs are to stay the same. What is gathered behind row-wise work, or is
// to be worked on, is row_collective's.
//
// Own rows lie one after another here and on every rank: blocks take vectors,
// not rows.
#ifndef LAYLINE_RUNTIME_KERNELS_GATHERROWS_CUH
#define LAYLINE_RUNTIME_KERNELS_GATHERROWS_CUH

#include "Flags.cuh"

namespace layline::kernels {

/// kByWord: rows are whole words of 4 bytes, not of 16.
template <int P, Output kOutput, bool kByWord, typename Protocol>
__device__ __forceinline__ void run_gather_rows(const GatherParams<P> &p) {
  static_assert(kOutput != Output::Own, "rows that stay are where they are");
  static_assert(!kByWord || kOutput == Output::Everyone,
                "the switch takes vectors");
  Protocol::begin();
  PeerVisit<P, Protocol> visit(p.peers);
  if (!visit.enter())
    return;
  Protocol::before_work();
  constexpr int kUnit = kByWord ? 4 : 16;
  const RowBlock mine = Protocol::own_rows(p.tokens, P, p.peers.rank);
  const std::int64_t begin = Protocol::offset(mine.begin, p.rowBytes),
                     end = Protocol::offset(mine.size, p.rowBytes),
                     step = static_cast<std::int64_t>(gridDim.x) * blockDim.x *
                            kUnit;
  const auto *from = static_cast<const unsigned char *>(p.rows);
  for (std::int64_t at =
           (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) *
           kUnit;
       at < end; at += step) {
    if constexpr (kByWord) {
      const auto word = ld(reinterpret_cast<const std::uint32_t *>(from + at));
      LAYLINE_UNROLL
      for (std::uint32_t peer = 0; peer < P; ++peer)
        st(reinterpret_cast<std::uint32_t *>(
               static_cast<unsigned char *>(p.out[(p.peers.rank + peer) % P]) +
               begin + at),
           word);
    } else {
      const Vec16 v = ld_v4(from + at);
      if constexpr (kOutput == Output::EveryoneMulticast) {
        mm_st_v4(static_cast<unsigned char *>(p.multicastOut) + begin + at, v);
      } else {
        LAYLINE_UNROLL
        for (std::uint32_t peer = 0; peer < P; ++peer)
          st_v4(static_cast<unsigned char *>(p.out[(p.peers.rank + peer) % P]) +
                    begin + at,
                v);
      }
    }
  }
  visit.leave();
  Protocol::end();
}

template <int P, Output kOutput, bool kByWord, int THREADS,
          typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1,
               gather_rows(const __grid_constant__ GatherParams<P> p),
               run_gather_rows<P, kOutput, kByWord, Protocol>(p))

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_GATHERROWS_CUH
