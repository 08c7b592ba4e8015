// What makes kernels that share memory correct, one function for each rule. The
// kernels take it as a template parameter: `Sound` is the only one that is
// instantiated for use; tests derive from it to break one rule at a time
// (test/kernels/faults).
#ifndef LAYLINE_RUNTIME_KERNELS_PROTOCOL_CUH
#define LAYLINE_RUNTIME_KERNELS_PROTOCOL_CUH

#include "Params.h"
#include "platform/Platform.h"

namespace layline::kernels {
using namespace layline::device;

struct Sound {
  // ---- Flags ----------------------------------------------------------------

  /// All cross-rank flags: what this thread has seen and done comes before.
  static __device__ __forceinline__ void signal(FlagKind, std::uint32_t *flag,
                                                std::uint32_t epoch) {
    st_release_sys(flag, epoch);
  }
  static __device__ __forceinline__ std::uint32_t
  observe(FlagKind, const std::uint32_t *flag) {
    return ld_acquire_sys(flag);
  }
  /// Epochs wrap around.
  static __device__ __forceinline__ bool reached(std::uint32_t seen,
                                                 std::uint32_t epoch) {
    return static_cast<std::int32_t>(seen - epoch) >= 0;
  }
  static __device__ __forceinline__ std::uint32_t
  next_epoch(std::uint32_t last) {
    return last + 1;
  }
  /// The block's accesses come before what one of its threads signals ...
  static __device__ __forceinline__ void before_signal(FlagKind) {
    __syncthreads();
  }
  /// ... and what one of them has waited for before the block's next ones.
  /// True if any thread says that it was in vain.
  static __device__ __forceinline__ bool after_wait(FlagKind, bool late) {
    return __syncthreads_or(late) != 0;
  }
  static constexpr bool kEntryBarrier = true, kExitBarrier = true;

  // ---- Launches
  // --------------------------------------------------------------

  /// Before the first access: a programmatic launch may begin while what writes
  /// its inputs still runs.
  static __device__ __forceinline__ void begin() { griddep_wait(); }
  /// After the last wait: blocks of the next launch must not take the places
  /// that blocks of this one still need.
  static __device__ __forceinline__ void before_work() {}
  static __device__ __forceinline__ void end() { griddep_launch_dependents(); }

  // ---- Rows
  // ------------------------------------------------------------------

  static __device__ __forceinline__ RowBlock own_rows(std::int64_t rows,
                                                      std::int64_t ranks,
                                                      std::int64_t rank) {
    return row_block(rows, ranks, rank);
  }
  /// A row ends where its width says, not where a thread's share does.
  static __device__ __forceinline__ bool holds(int vector, int vectors) {
    return vector < vectors;
  }
  /// Of the addend that is summed at place `place`: by rank, on every rank.
  static __device__ __forceinline__ int addend(int place, int, int) {
    return place;
  }
  /// Rows of 2^31 elements and pages of 2^31 bytes are not far.
  static __device__ __forceinline__ std::int64_t offset(std::int64_t count,
                                                        std::int64_t stride) {
    return count * stride;
  }
  static __device__ __forceinline__ unsigned warp_mask() { return 0xffffffffU; }
  static __device__ __forceinline__ void before_parts() { __syncthreads(); }

  // ---- Mailboxes of one_shot ------------------------------------------------

  /// A box is filled again two launches after it was emptied: peers are at most
  /// one launch ahead, and one launch behind it was read.
  static constexpr std::uint32_t kBoxes = 3;
  /// Words become visible one by one.
  static __device__ __forceinline__ bool complete(const Vec16 &v,
                                                  std::uint32_t poison) {
    return v.x != poison && v.y != poison && v.z != poison && v.w != poison;
  }
  /// A payload must not look like what an empty box holds: its negative zeros
  /// become zeros where a whole word is made of them. By bits: as numbers,
  /// flushed subnormals are equal to it and NaN never is.
  static __device__ __forceinline__ std::uint32_t
  payload(std::uint32_t word, std::uint32_t poison) {
    return word == poison ? 0 : word;
  }
  /// Vectors of each mailbox that the last launch filled and this one empties.
  static __device__ __forceinline__ std::int64_t
  to_empty(std::uint64_t filled, std::int64_t /*now*/) {
    return static_cast<std::int64_t>(filled);
  }
  /// Launches without rows meet nobody, so that they must not count.
  static __device__ __forceinline__ bool counts(std::int64_t tokens) {
    return tokens > 0;
  }
  /// Emptying comes before all that a peer does after it has heard from here.
  static __device__ __forceinline__ void before_push() { fence_acq_rel_sys(); }
  static __device__ __forceinline__ void after_poll() { fence_acq_rel_sys(); }
  /// The last block of a launch counts for all; the others have read the count.
  static __device__ __forceinline__ std::uint32_t
  arrive(std::uint32_t *arrived) {
    return atom_add_acq_rel_gpu(arrived, 1);
  }
};

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_PROTOCOL_CUH
