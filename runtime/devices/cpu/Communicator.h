// The meeting point of one group instance's ranks.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_COMMUNICATOR_H
#define LAYLINE_RUNTIME_DEVICES_CPU_COMMUNICATOR_H

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace layline::runtime {

/// Thrown in the ranks that wait when another one failed.
struct Aborted {};

/// Every member shows a pointer, all meet, and each may read the others' memory
/// until the next meeting.
class Communicator {
public:
  explicit Communicator(std::int64_t members) : shown_(members) {}

  std::int64_t size() const { return static_cast<std::int64_t>(shown_.size()); }

  /// Shows `data` and waits for all members. Throws Aborted.
  void show(std::int64_t member, const void *data) {
    shown_[static_cast<std::size_t>(member)] = data;
    meet();
  }
  /// What a member showed; valid between show() and the meeting after it.
  template <typename Element> const Element *shown(std::int64_t member) const {
    return static_cast<const Element *>(
        shown_[static_cast<std::size_t>(member)]);
  }
  /// Waits for all members. Throws Aborted.
  void meet();

  /// Wakes all members that wait, now and later, with Aborted.
  void abort();
  /// Forgets an abort and half-full meetings. No member may be inside.
  void reset();

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const void *> shown_;
  std::int64_t arrived_ = 0;
  std::uint64_t meeting_ = 0;
  bool aborted_ = false;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_COMMUNICATOR_H
