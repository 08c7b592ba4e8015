#include "devices/cpu/Communicator.h"

namespace layline::runtime {

void Communicator::meet() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (aborted_)
    throw Aborted();
  if (++arrived_ == size()) {
    arrived_ = 0;
    ++meeting_;
    changed_.notify_all();
    return;
  }
  std::uint64_t mine = meeting_;
  changed_.wait(lock, [&] { return aborted_ || meeting_ != mine; });
  if (meeting_ == mine)
    throw Aborted();
}

void Communicator::abort() {
  std::lock_guard<std::mutex> lock(mutex_);
  aborted_ = true;
  changed_.notify_all();
}

void Communicator::reset() {
  std::lock_guard<std::mutex> lock(mutex_);
  aborted_ = false;
  arrived_ = 0;
}

} // namespace layline::runtime
