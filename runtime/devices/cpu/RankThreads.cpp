#include "devices/cpu/RankThreads.h"

namespace layline::runtime {

RankThreads::RankThreads(std::int64_t ranks) {
  try {
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      threads_.emplace_back([this, rank] { loop(rank); });
  } catch (...) {
    stop();
    throw;
  }
}

RankThreads::~RankThreads() { stop(); }

void RankThreads::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  begin_.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
}

void RankThreads::run(
    const std::function<void(std::int64_t)> &work,
    const std::function<void(std::int64_t, std::exception_ptr)> &failed) {
  std::unique_lock<std::mutex> lock(mutex_);
  work_ = &work;
  failed_ = &failed;
  running_ = static_cast<std::int64_t>(threads_.size());
  ++round_;
  begin_.notify_all();
  done_.wait(lock, [&] { return running_ == 0; });
}

void RankThreads::loop(std::int64_t rank) {
  std::uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    begin_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_)
      return;
    seen = round_;
    lock.unlock();
    try {
      (*work_)(rank);
    } catch (...) {
      (*failed_)(rank, std::current_exception());
    }
    lock.lock();
    if (--running_ == 0)
      done_.notify_one();
  }
}

} // namespace layline::runtime
