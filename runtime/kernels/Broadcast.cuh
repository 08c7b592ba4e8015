// From one rank into the memory of all, chunk by chunk: whoever reads chunk c
// may begin as soon as its flag says so, while others are on their way.
//
// Before it writes, the root's block waits until every peer's block of its
// number has begun: what reads the last broadcast there is complete. A chunk's
// flag counts the uses of that chunk, since grids and sizes differ from launch
// to launch and with them which block sends which chunk.
#ifndef LAYLINE_RUNTIME_KERNELS_BROADCAST_CUH
#define LAYLINE_RUNTIME_KERNELS_BROADCAST_CUH

#include "Flags.cuh"

namespace layline::kernels {

constexpr std::int64_t kVectorBytes = 16;

/// The root waits for all, the others tell it. The epoch is the block's own, as
/// between blocks that meet. False if one did not come.
template <int P, typename Protocol>
__device__ __forceinline__ bool await_ready(const BroadcastParams<P> &p,
                                            std::uint32_t epoch) {
  const PeerFlags<P> &ready = p.ready;
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * P;
  bool late = false;
  if (threadIdx.x < unsigned(P)) {
    const std::uint32_t peer = threadIdx.x;
    late = !is_on_time(ready.watch);
    if (late) {
    } else if (ready.rank != p.root) {
      if (peer == p.root)
        Protocol::signal(FlagKind::Ready,
                         ready.flags[p.root] + place + ready.rank, epoch);
    } else if (peer != p.root) {
      late = !await<Protocol>(ready.watch, FlagKind::Ready,
                              ready.flags[p.root] + place + peer, epoch, p.root,
                              peer);
    }
  }
  return !Protocol::after_wait(FlagKind::Ready, late);
}

/// Vectors [begin, end) into every rank's memory, then the flag of the chunk
/// they are.
template <int P, typename Protocol>
__device__ __forceinline__ void
send_chunk(const BroadcastParams<P> &p, std::int64_t begin, std::int64_t end,
           std::int64_t chunk, std::uint32_t use) {
  const auto *from = static_cast<const Vec16 *>(p.from);
  for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    Vec16 v = ld_v4(from + i);
    LAYLINE_UNROLL
    for (int peer = 0; peer < P; ++peer)
      if (static_cast<const Vec16 *>(p.to[peer]) != from)
        st_v4(static_cast<Vec16 *>(p.to[peer]) + i, v);
  }
  Protocol::before_signal(FlagKind::Chunk);
  if (threadIdx.x < unsigned(P) && threadIdx.x != p.root)
    Protocol::signal(FlagKind::Chunk, p.chunk[threadIdx.x] + chunk, use);
}

template <int P, typename Protocol>
__device__ __forceinline__ void run_broadcast(const BroadcastParams<P> &p) {
  Protocol::begin();
  const PeerFlags<P> &ready = p.ready;
  const std::uint32_t epoch =
      Protocol::next_epoch(ld(ready.epochs + blockIdx.x));
  if (Protocol::kEntryBarrier && !await_ready<P, Protocol>(p, epoch))
    return;
  Protocol::before_work();
  const std::int64_t chunks = (p.bytes + p.chunkBytes - 1) / p.chunkBytes;
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const std::uint32_t use = Protocol::next_epoch(ld(p.uses + chunk));
    const std::int64_t last = p.bytes / kVectorBytes,
                       begin = chunk * (p.chunkBytes / kVectorBytes),
                       next = begin + p.chunkBytes / kVectorBytes;
    bool late = false;
    if (ready.rank == p.root)
      send_chunk<P, Protocol>(p, begin, next < last ? next : last, chunk, use);
    else if (threadIdx.x == 0)
      late = !is_on_time(ready.watch) ||
             !await<Protocol>(ready.watch, FlagKind::Chunk,
                              p.chunk[ready.rank] + chunk, use, ready.rank,
                              static_cast<std::uint32_t>(chunk));
    if (Protocol::after_wait(FlagKind::Chunk, late))
      return;
    if (threadIdx.x == 0)
      st(p.uses + chunk, use);
  }
  if (threadIdx.x == 0)
    st(ready.epochs + blockIdx.x, epoch);
  Protocol::end();
}

template <int P, int THREADS, typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1,
               broadcast(const __grid_constant__ BroadcastParams<P> p),
               run_broadcast<P, Protocol>(p))

/// P ranks on one card, for tests: the grid's y is the rank, `all` has the
/// parameters of each. All blocks must be resident: one cooperative launch.
template <int P, int THREADS, typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1, virtual_broadcast(const BroadcastParams<P> *all),
               run_broadcast<P, Protocol>(all[blockIdx.y]))

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_BROADCAST_CUH
