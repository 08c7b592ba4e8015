// Work on a range, shared out to threads.
#ifndef LAYLINE_RUNTIME_CAPI_PARALLEL_H
#define LAYLINE_RUNTIME_CAPI_PARALLEL_H

#include <algorithm>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace layline::runtime {

/// Threads for `work` items of which a thread should have `least`; `asked`: at
/// most so many, 0: one per processor.
inline std::int64_t chooseThreads(std::int32_t asked, std::int64_t work,
                                  std::int64_t least) {
  std::int64_t most =
      asked > 0
          ? asked
          : static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return std::max<std::int64_t>(1, std::min(most, work / least));
}

/// Items [begin, end).
struct Share {
  std::int64_t begin = 0, end = 0;
};

/// Part `index` of n items in balanced parts. No product that could leave 64
/// bits.
inline Share getShare(std::int64_t n, std::int64_t parts, std::int64_t index) {
  std::int64_t base = n / parts, rest = n % parts;
  std::int64_t begin = index * base + std::min(index, rest);
  return {begin, begin + base + (index < rest ? 1 : 0)};
}

/// Calls body(i) for 0 <= i < count, each on a thread of its own, the last on
/// this one. Throws what the first of them threw. Where the system has no
/// thread to give, this one does the work.
template <typename Body> void runThreads(std::int64_t count, const Body &body) {
  std::vector<std::exception_ptr> failures(count);
  auto guarded = [&](std::int64_t i) noexcept {
    try {
      body(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(count);
  std::int64_t started = 0;
  try {
    for (; started + 1 < count; ++started)
      threads.emplace_back(guarded, started);
  } catch (const std::system_error &) {
    // No more of them: what is left is done below.
  }
  for (std::int64_t i = started; i < count; ++i)
    guarded(i);
  for (std::thread &thread : threads)
    thread.join();
  for (const std::exception_ptr &failure : failures)
    if (failure)
      std::rethrow_exception(failure);
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_CAPI_PARALLEL_H
