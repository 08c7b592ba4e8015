// NCCL's communicators of this process's ranks. Their members may be in other
// processes, which can fail, leave or end at any time: no call of NCCL's may
// wait, and every wait for one ends (with what was waited for; with the reason
// that another process gave; when one is seen to have ended; when NCCL says
// that it failed; or when the timeout is over).
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_NCCLCOMMS_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_NCCLCOMMS_H

#include "devices/cuda/Card.h"
#include "devices/cuda/Nccl.h"
#include "transports/Transport.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace layline::runtime::cuda {

class NcclComms {
public:
  /// `timeout`: seconds that another process may be late. `transport` must
  /// outlive the object.
  NcclComms(Transport &transport, double timeout)
      : transport_(transport), timeout_(timeout) {}
  NcclComms(const NcclComms &) = delete;
  NcclComms &operator=(const NcclComms &) = delete;
  ~NcclComms() { finish(); }

  /// A member that is in this process.
  struct Own {
    int member;
    Card *card;
  };
  /// A communicator of each own member, in their order. Every process with a
  /// member of the group calls it, all in the same order of groups; returns
  /// when all have. Throws Error naming `what`.
  std::vector<NcclComm> connect(const NcclId &id, std::size_t members,
                                const std::vector<Own> &own,
                                const std::string &what);

  /// While it lives, calls of several communicators are made together.
  class Calls {
  public:
    /// `what` names them in messages. Throws Error.
    Calls(NcclComms &comms, std::string what);
    Calls(const Calls &) = delete;
    Calls &operator=(const Calls &) = delete;
    /// Also where one of them failed: what follows is not theirs.
    ~Calls();
    /// Returns once NCCL has taken them: what is put into the streams after
    /// them is behind them. Throws Error.
    void end();

  private:
    NcclComms &comms_;
    std::string what_;
    bool isOpen_ = true;
  };

  /// Throws Error if a communicator has failed, or another process has.
  void watch(const std::string &what);

  /// Ends what is under way, so that streams become empty. The communicators
  /// are of no more use.
  void abort() noexcept;
  /// Throws Error if abort() was called.
  void checkUsable() const;

private:
  /// Whether one of them has a call that goes on; throws for a failed one.
  bool areBusy(const std::string &what) const;
  /// Returns when none is.
  void settle(const std::string &what);
  /// Gives them back once they have sent what others still receive; those that
  /// do not come to an end are aborted.
  void finish() noexcept;
  bool canFinalize() const;

  Transport &transport_;
  double timeout_;
  std::vector<NcclComm> comms_;
  bool areUsed_ = false; ///< by a run
  bool areAborted_ = false;
};

/// Ids of the communicators whose members are in several processes: made where
/// the first member is, and shown to all.
class NcclIds {
public:
  /// All processes call it. Throws Error.
  NcclIds(const Plan &plan, Transport &transport);
  /// Of the instance of a group whose lowest rank is `first`; of one inside
  /// this process a new one.
  NcclId of(int group, std::int64_t first) const;
  /// Whether an instance of the group is so: then all processes treat all its
  /// instances alike, also one that is in a single process.
  bool isOfSeveralProcesses(std::size_t group) const {
    return groups_.count(group) != 0;
  }

private:
  std::map<std::pair<int, std::int64_t>, NcclId> ids_;
  std::set<std::size_t> groups_;
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_NCCLCOMMS_H
