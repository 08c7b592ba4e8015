// Waiting for other ranks: bounded, and only between blocks of equal number.
#ifndef LAYLINE_RUNTIME_KERNELS_FLAGS_CUH
#define LAYLINE_RUNTIME_KERNELS_FLAGS_CUH

#include "Protocol.cuh"

namespace layline::kernels {

/// Counts what a wait takes.
class Deadline {
public:
  __device__ __forceinline__ explicit Deadline(const Watch &bounds)
      : watch(bounds) {}

  /// Asked at every failed look. The clock is not read at each: it costs more
  /// than a look at a flag.
  __device__ __forceinline__ bool passed() {
    if (watch.limit == 0 || ++looks % kLooksPerClock != 0)
      return false;
    std::uint64_t now = globaltimer();
    if (began == 0)
      began = now;
    return now - began > watch.limit;
  }

private:
  static constexpr std::uint32_t kLooksPerClock = 64;
  const Watch &watch;
  std::uint64_t began = 0;
  std::uint32_t looks = 0;
};

/// The first report of a launch stays.
__device__ __forceinline__ void
report_late(const Watch &watch, FlagKind kind, std::uint32_t rank,
            std::uint32_t flag, std::uint32_t epoch, std::uint32_t seen) {
  SpinError *error = watch.error;
  if (atom_cas_relaxed_gpu(&error->kind, 0, static_cast<std::uint32_t>(kind)) !=
      0)
    return;
  st(&error->rank, rank);
  st(&error->block, static_cast<std::uint32_t>(blockIdx.x));
  st(&error->flag, flag);
  st(&error->epoch, epoch);
  st(&error->seen, seen);
}

/// False if an earlier wait of this rank took too long: its peers have left or
/// will. An atomic look, since other blocks may be reporting.
__device__ __forceinline__ bool is_on_time(const Watch &watch) {
  return ld_relaxed_gpu(&watch.error->kind) == 0;
}

template <typename Protocol>
__device__ __forceinline__ bool
await(const Watch &watch, FlagKind kind, const std::uint32_t *flag,
      std::uint32_t epoch, std::uint32_t rank, std::uint32_t number) {
  Deadline deadline(watch);
  std::uint32_t seen = 0;
  while (!Protocol::reached(seen = Protocol::observe(kind, flag), epoch))
    if (deadline.passed()) {
      report_late(watch, kind, rank, number, epoch, seen);
      return false;
    }
  return true;
}

/// This block and those of its number on all peers wait for one another: what
/// they did before is seen by all of them after. False, on all threads of the
/// block, if one did not come or an earlier wait was in vain. Blocks of other
/// numbers are not waited for: there is no barrier of whole grids.
template <int P, typename Protocol>
__device__ __forceinline__ bool meet_peers(const PeerFlags<P> &peers,
                                           FlagKind kind, std::uint32_t epoch) {
  // What stands before the entry is of earlier launches, which are complete.
  if (kind != FlagKind::Entry)
    Protocol::before_signal(kind);
  bool late = false;
  if (threadIdx.x < unsigned(P)) {
    const std::uint32_t peer = threadIdx.x;
    const std::int64_t side = kind == FlagKind::Exit;
    auto place = [&](std::uint32_t block) {
      return (side * peers.maxBlocks + block) * P;
    };
    late = !is_on_time(peers.watch);
    if (!late) {
      Protocol::signal(kind, peers.flags[peer] + place(blockIdx.x) + peers.rank,
                       epoch);
      const std::uint32_t *flag =
          peers.flags[peers.rank] + place(blockIdx.x) + peer;
      late = !await<Protocol>(peers.watch, kind, flag, epoch, peers.rank, peer);
    }
  }
  return !Protocol::after_wait(kind, late);
}

/// A kernel between its meetings with the peers. Peers' memory is free to be
/// read and written from enter() to leave().
template <int P, typename Protocol> class PeerVisit {
public:
  __device__ __forceinline__ explicit PeerVisit(const PeerFlags<P> &of)
      : peers(of) {}

  /// False: leave the kernel at once.
  __device__ __forceinline__ bool enter() {
    if (threadIdx.x < unsigned(P))
      epoch = Protocol::next_epoch(ld(peers.epochs + blockIdx.x));
    return !Protocol::kEntryBarrier ||
           meet_peers<P, Protocol>(peers, FlagKind::Entry, epoch);
  }

  __device__ __forceinline__ void leave() {
    if (Protocol::kExitBarrier &&
        !meet_peers<P, Protocol>(peers, FlagKind::Exit, epoch))
      return;
    if (threadIdx.x == 0)
      st(peers.epochs + blockIdx.x, epoch);
  }

private:
  const PeerFlags<P> &peers;
  std::uint32_t epoch = 0; ///< on the threads that signal
};

/// Of a group of one there is nobody to meet.
template <typename Protocol> class PeerVisit<1, Protocol> {
public:
  __device__ __forceinline__ explicit PeerVisit(const PeerFlags<1> &) {}
  __device__ __forceinline__ bool enter() { return true; }
  __device__ __forceinline__ void leave() {}
};

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_FLAGS_CUH
