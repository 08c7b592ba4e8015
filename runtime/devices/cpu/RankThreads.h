// One persistent thread per rank. They sleep between runs and while they wait
// for one another: there may be many more ranks than cores.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_RANKTHREADS_H
#define LAYLINE_RUNTIME_DEVICES_CPU_RANKTHREADS_H

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace layline::runtime {

class RankThreads {
public:
  explicit RankThreads(std::int64_t ranks);
  ~RankThreads();
  RankThreads(const RankThreads &) = delete;
  RankThreads &operator=(const RankThreads &) = delete;

  /// Calls work(rank) on every rank's thread and waits for all of them. An
  /// exception of a rank goes to `failed` on that thread. `work` must not wait
  /// for a rank that failed.
  void run(const std::function<void(std::int64_t)> &work,
           const std::function<void(std::int64_t, std::exception_ptr)> &failed);

private:
  void loop(std::int64_t rank);
  void stop();

  std::mutex mutex_;
  std::condition_variable begin_, done_;
  const std::function<void(std::int64_t)> *work_ = nullptr;
  const std::function<void(std::int64_t, std::exception_ptr)> *failed_ =
      nullptr;
  std::uint64_t round_ = 0;
  std::int64_t running_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_RANKTHREADS_H
