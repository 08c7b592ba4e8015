// Where the ranks of one group instance meet as threads of a process.
#ifndef LAYLINE_RUNTIME_TRANSPORTS_THREADS_MEETINGPOINT_H
#define LAYLINE_RUNTIME_TRANSPORTS_THREADS_MEETINGPOINT_H

#include "transports/Communicator.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace layline::runtime {

/// Every member shows a pointer, all meet, and each may read the others' memory
/// until the next meeting.
class MeetingPoint {
public:
  /// `ranks` by member, for messages; `timeout` in seconds.
  MeetingPoint(std::vector<std::int64_t> ranks, double timeout);

  std::int64_t size() const { return static_cast<std::int64_t>(shown_.size()); }
  const void *const *shown() const { return shown_.data(); }

  void show(std::int64_t member, const void *data) {
    shown_[static_cast<std::size_t>(member)] = data;
  }
  /// Waits for all members. Throws Aborted; Error, naming the ranks that did
  /// not come, when the time is over.
  void meet(std::int64_t member);

  /// Wakes all members that wait, now and later, with Aborted.
  void abort();
  /// Forgets an abort and half-full meetings. No member may be inside.
  void reset();

private:
  std::string missing() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const void *> shown_;
  std::vector<std::int64_t> ranks_;
  std::vector<std::uint64_t> meetings_; ///< that each member came to
  std::chrono::duration<double> timeout_;
  std::int64_t arrived_ = 0;
  std::uint64_t meeting_ = 0; ///< that all came to
  bool aborted_ = false;
};

/// A member's view of a meeting point.
class ThreadCommunicator final : public Communicator {
public:
  ThreadCommunicator(MeetingPoint &point, std::int64_t member)
      : Communicator(member, point.size(), point.shown()), point_(point) {}

  bool sharesMemory() const override { return true; }
  void release() override { point_.meet(member()); }

private:
  void share(const void *data, std::size_t, const Reads &) override {
    point_.show(member(), data);
    point_.meet(member());
  }

  MeetingPoint &point_;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_TRANSPORTS_THREADS_MEETINGPOINT_H
