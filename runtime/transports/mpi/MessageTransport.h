// Ranks in processes: what is read of another process is sent as messages. A
// plan's ranks are dealt out in order, as many to each; where that is one, the
// groups of the plan are there too.
//
// Every wait ends: with what was waited for; with the reason that another rank
// gave for failing or leaving; when a process is seen to have ended; or when
// the timeout is over. Each names the rank. After such a failure the transport
// is of no more use: messages may be under way that nobody expects.
#ifndef LAYLINE_RUNTIME_TRANSPORTS_MPI_MESSAGETRANSPORT_H
#define LAYLINE_RUNTIME_TRANSPORTS_MPI_MESSAGETRANSPORT_H

#include "engine/AlignedBytes.h"
#include "transports/Transport.h"
#include "transports/mpi/Link.h"
#include "transports/mpi/Notices.h"

#include <chrono>
#include <set>

namespace layline::runtime {

/// Part of a message that this process sends or receives.
struct Transfer {
  int process = 0; ///< the other one
  bool isReceive = false;
  std::byte *data = nullptr; ///< of one that is sent it is only read
  std::size_t bytes = 0;
};

class MessageTransport final : public Transport {
public:
  /// Takes the next number of an engine: all processes make theirs in the same
  /// order. `link` must outlive it.
  MessageTransport(Link &link, const TransportOptions &options);

  void connect(const Plan &plan, std::uint64_t identity) override;
  Communicator &group(std::int64_t rank, int group) override;
  Communicator *world() override { return world_.get(); }
  void agree(const std::string &what, std::uint64_t hash) override;
  void begin() override { checkUsable(); }
  void watch() override;
  void abort(std::int64_t rank, const std::string &why) override;
  void leave(const std::string &why) noexcept override;

  /// Throws Error if an earlier exchange failed.
  void checkUsable() const;
  /// Moves all of them, or throws Error. `communicator` numbers the group,
  /// `sequence` its exchanges: only the same of both meet.
  void exchange(int communicator, std::uint64_t sequence,
                const std::vector<Transfer> &transfers);

  /// Memory for one collective at a time, by member of its group; at least so
  /// many bytes. What was in it is lost.
  enum class Scratch { Shown, Received, Sent };
  std::byte *scratch(Scratch use, std::size_t member, std::size_t bytes);
  /// What members show, by member; as for scratch.
  std::vector<const void *> &shown() { return shown_; }

private:
  struct Pending {
    Link::Request request;
    Transfer transfer;
  };

  int tagOf(int communicator, std::uint64_t sequence) const;
  /// "rank 2 (process 4711 on node7)", by number of a process.
  std::string nameOf(int process) const;
  /// "rank 2", "ranks 4 to 7".
  std::string ranksOf(std::int64_t process) const;
  /// Begins it: as several messages if it is longer than one can be.
  void post(const Transfer &transfer, int tag, std::vector<Pending> &pending);
  void wait(std::vector<Pending> &pending);
  /// Removes what is done.
  void test(std::vector<Pending> &pending);
  /// Of these processes, which has left or ended, and why; "": none is known
  /// to.
  std::string findDeparted(const std::set<int> &processes);
  /// The same of those that are waited for, once what they sent before has had
  /// time to arrive.
  std::string findMissing(const std::set<int> &processes);
  /// If another process has said that it failed.
  void breakOffIfFailed(std::vector<Pending> &pending);
  /// Makes it of no more use and throws. `isKnown`: the others have been told
  /// by the rank that failed.
  [[noreturn]] void breakOff(std::vector<Pending> &pending,
                             const std::string &why, bool isKnown);

  Link &link_;
  std::chrono::duration<double> timeout_;
  std::uint64_t engine_;
  Notices notices_;
  std::string broken_; ///< why it is of no more use
  bool left_ = false;
  std::set<int> others_; ///< processes
  std::chrono::steady_clock::time_point nextLook_ = {}, departed_ = {};
  int looksSince_ = 0; ///< somebody had departed
  std::vector<std::unique_ptr<Communicator>> groups_;
  std::unique_ptr<Communicator> world_;
  std::vector<AlignedBytes> scratch_[3];
  std::vector<const void *> shown_;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_TRANSPORTS_MPI_MESSAGETRANSPORT_H
