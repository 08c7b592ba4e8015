// Ends a run in which a cell does not end by itself.
#ifndef LAYLINE_TEST_KERNELS_CUDA_CELLWATCHDOG_H
#define LAYLINE_TEST_KERNELS_CUDA_CELLWATCHDOG_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace layline::test {

/// A kernel that does not come back cannot be stopped from outside, and the
/// driver waits for it: somebody else has to see it.
class CellWatchdog {
public:
  /// `expired` is called once, on a thread of the watchdog's, with the cell
  /// that took longer than `grace` and four of its waits: a rank that waits in
  /// vain keeps its peers, and they theirs.
  CellWatchdog(std::chrono::milliseconds grace,
               std::function<void(const std::string &cell)> expired);
  ~CellWatchdog();
  CellWatchdog(const CellWatchdog &) = delete;
  CellWatchdog &operator=(const CellWatchdog &) = delete;

  /// "": nothing is under way.
  void begin(const std::string &cell, std::uint64_t waitNanoseconds);

private:
  void watch();

  const std::chrono::milliseconds grace_;
  const std::function<void(const std::string &)> expired_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string cell_;
  std::chrono::steady_clock::time_point ends_;
  bool isOver_ = false;
  std::thread thread_; // last: it uses the others
};

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_CELLWATCHDOG_H
