// What stands around a collective that is done step by step by ranks of several
// cards: nobody reads a peer's memory before it is written, or writes what a
// peer still reads.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_GROUPBARRIER_CUH
#define LAYLINE_RUNTIME_KERNELS_LOCAL_GROUPBARRIER_CUH

#include "kernels/Flags.cuh"
#include "kernels/local/LocalParams.h"

namespace layline::local {

/// One block a rank; thread m signals member m and waits for it. The launch
/// before is complete, so that its stores come before the release.
__device__ __forceinline__ void groupBarrier(const BarrierParams &p) {
  using kernels::FlagKind;
  using Protocol = kernels::Sound;
  // Who gave up does not come again: others need not wait for it.
  bool late = !kernels::is_on_time(p.watch);
  const std::uint32_t epoch = Protocol::next_epoch(device::ld(p.epoch));
  for (std::uint32_t m = threadIdx.x; !late && m < p.members; m += blockDim.x)
    Protocol::signal(FlagKind::Entry, device::ld(p.flags + m) + p.member,
                     epoch);
  for (std::uint32_t m = threadIdx.x; !late && m < p.members; m += blockDim.x)
    late = !kernels::await<Protocol>(p.watch, FlagKind::Entry,
                                     device::ld(p.flags + p.member) + m, epoch,
                                     p.rank, m);
  if (Protocol::after_wait(FlagKind::Entry, late) || threadIdx.x != 0)
    return;
  device::st(p.epoch, epoch);
}

} // namespace layline::local

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_GROUPBARRIER_CUH
