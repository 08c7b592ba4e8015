// A wait of the emulator's test kernels for a block or rank that may never
// come: it says who waited for what and leaves.
#ifndef LAYLINE_TEST_KERNELS_EMULATOR_BOUNDEDSPIN_H
#define LAYLINE_TEST_KERNELS_EMULATOR_BOUNDEDSPIN_H

#include "kernels/platform/Platform.h"

namespace layline::test {

using namespace layline::device;

/// Written by the first thread of a rank that gives up; all zero before. Lies
/// in the rank's own memory and is read by the host once the stream is through.
struct SpinFailure {
  std::uint32_t failed; ///< 1 once the rest is being written
  std::uint32_t rank;   ///< that gave up
  std::uint32_t block;  ///< its linear index in the grid
  std::uint32_t flag;   ///< which flag; the kernel's own numbering
  std::uint32_t epoch;  ///< value waited for
  std::uint32_t seen;   ///< value last read
};

/// How long a kernel waits, and where it says that it stopped.
struct SpinBound {
  SpinFailure *failure;
  std::uint64_t nanoseconds; ///< of one wait
  std::uint32_t rank;
};

/// Counts one wait. Clock and failure word are looked at once in `stride`
/// polls: they cost more than the poll.
class SpinGuard {
public:
  __device__ __forceinline__ explicit SpinGuard(const SpinBound &bound)
      : bound_(bound) {}

  /// After a poll that saw `seen` in place of `epoch`: whether to give up, as
  /// time is over or as another thread of the rank has given up.
  __device__ __forceinline__ bool
  gaveUp(std::uint32_t flag, std::uint32_t epoch, std::uint32_t seen) {
    if (++polls_ % stride != 0)
      return false;
    if (ld_relaxed_gpu(&bound_.failure->failed) != 0)
      return true;
    std::uint64_t now = globaltimer();
    if (begin_ == 0)
      begin_ = now;
    if (now - begin_ < bound_.nanoseconds)
      return false;
    report(flag, epoch, seen);
    return true;
  }

private:
  static constexpr unsigned stride = 32;

  __device__ __forceinline__ void
  report(std::uint32_t flag, std::uint32_t epoch, std::uint32_t seen) {
    SpinFailure *failure = bound_.failure;
    if (atom_cas_relaxed_gpu(&failure->failed, 0, 1) != 0)
      return;
    st(&failure->rank, bound_.rank);
    st(&failure->block,
       static_cast<std::uint32_t>(
           (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x));
    st(&failure->flag, flag);
    st(&failure->epoch, epoch);
    st(&failure->seen, seen);
  }

  const SpinBound &bound_;
  std::uint64_t begin_ = 0;
  unsigned polls_ = 0;
};

/// Whether a counter of epochs has come to `epoch`, across its wrap at 2^32.
__device__ __forceinline__ bool has_reached(std::uint32_t value,
                                            std::uint32_t epoch) {
  return static_cast<std::int32_t>(value - epoch) >= 0;
}

/// Waits at system scope until the flag has reached `epoch`, and acquires.
/// False if it gave up; the kernel must then leave without touching peers'
/// memory.
__device__ __forceinline__ bool wait_for_epoch(const std::uint32_t *flag,
                                               std::uint32_t epoch,
                                               std::uint32_t number,
                                               const SpinBound &bound) {
  SpinGuard guard(bound);
  for (;;) {
    std::uint32_t seen = ld_acquire_sys(flag);
    if (has_reached(seen, epoch))
      return true;
    if (guard.gaveUp(number, epoch, seen))
      return false;
  }
}

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_EMULATOR_BOUNDEDSPIN_H
