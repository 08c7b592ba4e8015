// Waiting for other processes, of which there may be more than processors: the
// first looks follow one another, later ones leave the processor to others.
#ifndef LAYLINE_RUNTIME_TRANSPORTS_MPI_PAUSE_H
#define LAYLINE_RUNTIME_TRANSPORTS_MPI_PAUSE_H

#include <algorithm>
#include <chrono>
#include <thread>

namespace layline::runtime {

class Pause {
public:
  void operator()() {
    if (++looks_ <= kYields) {
      std::this_thread::yield();
      return;
    }
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(2 * sleep_, kLongest);
  }

private:
  static constexpr int kYields = 200;
  static constexpr std::chrono::microseconds kLongest{200};
  int looks_ = 0;
  std::chrono::microseconds sleep_{20};
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_TRANSPORTS_MPI_PAUSE_H
