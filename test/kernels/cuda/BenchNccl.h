// NCCL's collectives on the cards of a group, for their time.
#ifndef LAYLINE_TEST_KERNELS_CUDA_BENCHNCCL_H
#define LAYLINE_TEST_KERNELS_CUDA_BENCHNCCL_H

#include "CardGroup.h"
#include "devices/cuda/Nccl.h"

#include <functional>
#include <iosfwd>
#include <memory>
#include <vector>

namespace layline::test {

/// A rank for each card, communicators of its own.
class NcclGroup {
public:
  /// Null where there is no NCCL, with the reason to `notes`. `cards` must
  /// outlive it. Throws Error.
  static std::unique_ptr<NcclGroup> open(const CardSet &cards,
                                         std::ostream &notes);

  // One call of it, enqueued on all cards. `bytes` of the whole tensor in bf16;
  // the memory is the call's.
  std::function<void()> allReduce(std::int64_t bytes) const;
  /// ncclSend and ncclRecv, as device cuda calls them.
  std::function<void()> broadcast(std::int64_t bytes) const;
  std::function<void()> allGather(std::int64_t bytes) const;

private:
  explicit NcclGroup(const CardSet &cards);
  using Buffers = std::shared_ptr<std::vector<runtime::cuda::DeviceMemory>>;
  Buffers makeBuffers(std::int64_t bytes) const;
  /// Between the start and the end of a group of calls.
  void grouped(const std::function<void()> &calls) const;
  void send(const Buffers &buffers, std::size_t from, std::size_t to,
            std::int64_t offset, std::int64_t bytes) const;

  const CardSet &cards_;
  std::vector<runtime::cuda::NcclComm> comms_;
  runtime::cuda::Cleanup cleanup_;
};

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_BENCHNCCL_H
