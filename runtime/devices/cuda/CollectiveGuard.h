// One collective of a group at a time: whatever the stream, its instances have
// one set of flags to meet by and one communicator of NCCL.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_COLLECTIVEGUARD_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_COLLECTIVEGUARD_H

#include "kernels/LaunchSafety.h"
#include "plan/Plan.h"

#include <vector>

namespace layline::runtime::cuda {

class CollectiveGuard {
public:
  /// `plan` must outlive the object.
  explicit CollectiveGuard(const Plan &plan) : plan_(plan) {}

  /// Before the steps of a run are enqueued: begins their collectives in the
  /// order of the list. Throws Error that names the two steps of one group that
  /// would be under way on two streams; then none is.
  void beginRun(const Variant &variant);
  /// All that was enqueued is done, or nothing was.
  void endRun();

private:
  using Ticket = kernels::CollectiveOrder::Ticket;
  /// By group: the last collective that is known to be done.
  using Done = std::vector<Ticket>;

  void begin(const Step &step, const Step &topLevel, Done &done);

  const Plan &plan_;
  kernels::CollectiveOrder order_;
  std::vector<Ticket> underWay_;
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_COLLECTIVEGUARD_H
