// Releases what was acquired, last first: also when a constructor throws half
// way.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_CLEANUP_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_CLEANUP_H

#include <functional>
#include <utility>
#include <vector>

namespace layline::runtime::cuda {

class Cleanup {
public:
  Cleanup() = default;
  ~Cleanup() { run(); }
  Cleanup(const Cleanup &) = delete;
  Cleanup &operator=(const Cleanup &) = delete;
  Cleanup(Cleanup &&other) noexcept : actions_(std::move(other.actions_)) {
    other.actions_.clear();
  }
  Cleanup &operator=(Cleanup &&other) noexcept {
    if (this != &other) {
      run();
      actions_ = std::move(other.actions_);
      other.actions_.clear();
    }
    return *this;
  }

  /// `action` must not throw: a driver that refuses to release has nothing
  /// better to offer.
  void add(std::function<void()> action) {
    actions_.push_back(std::move(action));
  }
  void run() {
    while (!actions_.empty()) {
      std::function<void()> action = std::move(actions_.back());
      actions_.pop_back();
      action();
    }
  }

private:
  std::vector<std::function<void()>> actions_;
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_CLEANUP_H
