#include "CellWatchdog.h"

namespace layline::test {

CellWatchdog::CellWatchdog(std::chrono::milliseconds grace,
                           std::function<void(const std::string &)> expired)
    : grace_(grace), expired_(std::move(expired)),
      thread_([this] { watch(); }) {}

CellWatchdog::~CellWatchdog() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    isOver_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CellWatchdog::begin(const std::string &cell,
                         std::uint64_t waitNanoseconds) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    cell_ = cell;
    ends_ = std::chrono::steady_clock::now() + grace_ +
            std::chrono::nanoseconds(4 * waitNanoseconds);
  }
  changed_.notify_one();
}

void CellWatchdog::watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!isOver_) {
    if (cell_.empty()) {
      changed_.wait(lock);
      continue;
    }
    if (std::chrono::steady_clock::now() < ends_) {
      changed_.wait_until(lock, ends_);
      continue;
    }
    const std::string late = cell_;
    lock.unlock();
    expired_(late);
    return;
  }
}

} // namespace layline::test
