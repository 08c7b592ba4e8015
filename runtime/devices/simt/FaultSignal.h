// Accesses that bypass the platform layer and hit memory that is not there: the
// signal becomes the failure of a run.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_FAULTSIGNAL_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_FAULTSIGNAL_H

#include <csignal>
#include <vector>

namespace layline::simt {

/// While it lives, SIGSEGV and SIGBUS of a CUDA thread that this OS thread
/// emulates fail the run; others go where they went before.
class FaultSignal {
public:
  FaultSignal();
  ~FaultSignal();
  FaultSignal(const FaultSignal &) = delete;
  FaultSignal &operator=(const FaultSignal &) = delete;

private:
  std::vector<char> stack_; ///< a CUDA thread's own may be full
  stack_t stackBefore_{};
  struct sigaction segvBefore_ {};
  struct sigaction busBefore_ {};
};

} // namespace layline::simt

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_FAULTSIGNAL_H
