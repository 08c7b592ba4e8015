// How the ranks of one engine reach one another.
#ifndef LAYLINE_RUNTIME_TRANSPORTS_TRANSPORT_H
#define LAYLINE_RUNTIME_TRANSPORTS_TRANSPORT_H

#include "plan/Plan.h"
#include "transports/Communicator.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace layline::runtime {

/// Seconds that a rank waits for another one if nobody says otherwise. A rank
/// that died or left is noticed at once; this bounds how late a living one may
/// be, which on a CPU is the time of the longest steps between two collectives.
inline constexpr double kDefaultTimeout = 300;
/// A bound on it, so that times can be added: 11 days.
inline constexpr double kLongestTimeout = 1e6;

struct TransportOptions {
  double timeout = kDefaultTimeout; ///< seconds, above 0
};

class Transport {
public:
  virtual ~Transport() = default;

  /// Takes the ranks and groups of a plan, which must live as long as they are
  /// used. `identity` is a hash of the plan's text. With processes all of them
  /// call it; throws Error if they are too few or too many for the plan, or do
  /// not hold the same one.
  virtual void connect(const Plan &plan, std::uint64_t identity) = 0;

  /// The ranks of this process, ascending; of every process as many, one
  /// behind another.
  const std::vector<std::int64_t> &localRanks() const { return localRanks_; }
  /// The instance of a group that a local rank is in. Throws Error between
  /// processes that have several ranks each: their ranks reach one another by
  /// means of the device.
  virtual Communicator &group(std::int64_t rank, int group) = 0;

  /// Between processes, the group of all of them, by number; null where all
  /// ranks are local: nothing has to be brought together there.
  virtual Communicator *world() { return nullptr; }
  /// Which of them a rank is in: a member of world(). 0 where all are local.
  std::int64_t processOf(std::int64_t rank) const {
    return rank / static_cast<std::int64_t>(localRanks_.size());
  }
  /// Between processes, throws Error in all of them if their hashes of `what`
  /// differ. What the ranks do next is the same only if it is of the same.
  virtual void agree(const std::string &what, std::uint64_t hash) {}

  /// Before a run.
  virtual void begin() = 0;
  /// For a device that waits for other processes by other means than these:
  /// throws Error once one of them is known to have failed, left or ended.
  virtual void watch() {}
  /// A local rank failed: all that wait, now and until the next run, fail too.
  virtual void abort(std::int64_t rank, const std::string &why) = 0;
  /// This process will take part in nothing more; `why` is its last error or
  /// "". Those that wait for it are told.
  virtual void leave(const std::string &why) noexcept {}

protected:
  std::vector<std::int64_t> localRanks_;
};

/// Throws Error for a name that is not known and if a transport is not there.
std::unique_ptr<Transport> makeTransport(const std::string &name,
                                         const TransportOptions &options);

/// "the plan is for 4 ranks, 3 processes run; ...": one for each is expected.
std::string wrongProcesses(const Plan &plan, std::int64_t processes);
/// Throws Error where processes have several ranks each. For devices whose
/// ranks reach one another by Transport::group().
void checkOneRankEach(const Plan &plan, Transport &transport);

/// The ranks of the group instance that `rank` is in, by member: ascending.
std::vector<std::int64_t> membersOf(const Plan &plan, const Group &group,
                                    std::int64_t rank);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_TRANSPORTS_TRANSPORT_H
