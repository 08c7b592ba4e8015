// Vector clocks that many threads share until one of them learns more.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_VECTORCLOCK_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_VECTORCLOCK_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace layline::simt {

/// For each thread up to when its past is known; 0 behind the end. Copies share
/// the times: a barrier leaves all threads of a block with one.
class VectorClock {
public:
  VectorClock() = default;
  VectorClock(const VectorClock &other) : times_(other.times_) {
    if (times_)
      ++times_->owners;
  }
  VectorClock(VectorClock &&other) noexcept
      : times_(std::exchange(other.times_, nullptr)) {}
  VectorClock &operator=(VectorClock other) noexcept {
    std::swap(times_, other.times_);
    return *this;
  }
  ~VectorClock() { drop(); }

  bool isEmpty() const { return !times_; }
  bool isSame(const VectorClock &other) const { return times_ == other.times_; }
  std::uint32_t at(std::size_t thread) const {
    return times_ && thread < times_->values.size() ? times_->values[thread]
                                                    : 0;
  }

  void set(std::size_t thread, std::uint32_t time) {
    std::vector<std::uint32_t> &values = own();
    if (values.size() <= thread)
      values.resize(thread + 1);
    values[thread] = time;
  }
  /// The later of both for each thread.
  void join(const VectorClock &other) {
    if (other.isEmpty() || isSame(other))
      return;
    if (isEmpty()) {
      *this = other;
      return;
    }
    std::vector<std::uint32_t> &values = own();
    const std::vector<std::uint32_t> &others = other.times_->values;
    if (values.size() < others.size())
      values.resize(others.size());
    for (std::size_t i = 0; i < others.size(); ++i)
      values[i] = std::max(values[i], others[i]);
  }

private:
  struct Times {
    std::vector<std::uint32_t> values;
    unsigned owners = 1;
  };

  std::vector<std::uint32_t> &own() {
    if (!times_)
      times_ = new Times;
    else if (times_->owners > 1) {
      auto *copy = new Times{times_->values, 1};
      --times_->owners;
      times_ = copy;
    }
    return times_->values;
  }
  void drop() {
    if (times_ && --times_->owners == 0)
      delete times_;
  }

  Times *times_ = nullptr;
};

/// What one thread knows: a clock that it may share with others, and its own
/// time, which only it advances.
struct ThreadClock {
  VectorClock others;
  std::uint32_t id = 0;
  std::uint32_t time = 1;
  /// Of relaxed loads, for the next fence: what writers of the same rank and of
  /// other ranks published. A fence of gpu scope takes the first only.
  VectorClock seenOfRank, seenOfPeers;
  /// At the last fence, for later relaxed stores: what readers of the same rank
  /// and of other ranks may learn.
  VectorClock fencedForRank, fencedForPeers;
  /// The last clock learned: a spin reads the same flag again and again.
  VectorClock lastLearned;

  std::uint32_t at(std::uint32_t thread) const {
    return thread == id ? time : others.at(thread);
  }
  void learn(const VectorClock &clock) {
    if (clock.isEmpty() || clock.isSame(lastLearned))
      return;
    others.join(clock);
    lastLearned = clock;
  }
  /// All that the thread knows, itself included. What it does next is later.
  VectorClock publish() {
    VectorClock all = others;
    all.set(id, time++);
    return all;
  }
  /// Adds what the thread knows to a meeting's clock.
  void publishTo(VectorClock &meeting) {
    meeting.join(others);
    meeting.set(id, time++);
  }
};

} // namespace layline::simt

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_VECTORCLOCK_H
