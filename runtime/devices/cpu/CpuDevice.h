// The ranks of this process, each on a thread of its own: all of them, or the
// one that this process is. Every thread runs the steps in list order, which is
// one of the orders that the streams and events allow.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_CPUDEVICE_H
#define LAYLINE_RUNTIME_DEVICES_CPU_CPUDEVICE_H

#include "devices/cpu/RankContext.h"
#include "devices/cpu/RankThreads.h"
#include "devices/cpu/StepLauncher.h"
#include "devices/cpu/WeightStore.h"
#include "engine/Device.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace layline::runtime {

/// Local values of one tap, by local rank.
template <typename T> struct TapValues {
  std::vector<std::vector<T>> floats;
  std::vector<std::vector<std::int64_t>> integers;
};

template <typename T> class CpuDevice final : public Device {
public:
  /// `launcher` may be null: every step runs here.
  CpuDevice(const Plan &plan, const DeviceOptions &options,
            Transport &transport,
            std::unique_ptr<StepLauncher<T>> launcher = nullptr);

  void bindWeight(int weight, std::int64_t stackIndex,
                  const safetensors::Tensor &stored) override {
    weights_.bind(weight, stackIndex, stored);
  }
  std::int64_t weightBytesRead() const override { return weights_.bytesRead(); }
  void useCacheHooks(int cache) override;
  void bindCache(int cache, const GlobalValue &rows) override;
  void truncateCache(int cache, std::int64_t rows) override;
  std::int64_t cacheRows(int cache) const override {
    return ranks_.front().caches[cache].rows();
  }
  GlobalValue readCache(int cache) override;
  void run(const RunRequest &request) override;
  GlobalValue readBuffer(int buffer,
                         const std::optional<Part> &rows) const override;
  const std::vector<Tap> &taps() const override { return taps_.all(); }
  GlobalValue readTap(std::size_t index) const override;
  std::vector<KernelUse> kernelUses() const override {
    return launcher_ ? launcher_->uses() : std::vector<KernelUse>();
  }

private:
  /// A value of every rank put together. `data(i)` is where that of the i-th
  /// local rank lies; `what` names the value to other processes.
  template <typename Element>
  GlobalValue assembled(const ShapeExpr &shape, const Layout &layout,
                        std::int64_t tokens, std::int64_t past,
                        const std::string &what,
                        const LocalData<Element> &data) const;
  void prepare(const RunRequest &request);
  void prepareRank(RankContext<T> &rank, const RunRequest &request);
  void listTaps(const Variant &variant);
  void recordFailure(std::int64_t rank, std::exception_ptr exception);
  void runRank(RankContext<T> &rank);
  void execute(RankContext<T> &rank, const Step &step, bool isTopLevel);
  void roundOutputs(RankContext<T> &rank, const Step &step);
  void keepTaps(RankContext<T> &rank, const Step &step);

  const Plan &plan_;
  DeviceOptions options_;
  const Hooks noHooks_;
  const Hooks &hooks_;
  WeightStore<T> weights_;
  Transport &transport_;
  std::vector<RankContext<T>> ranks_; ///< of this process
  RunState state_;
  Trace *trace_ = nullptr; ///< of this run
  std::unique_ptr<StepLauncher<T>> launcher_;
  TapList taps_;
  std::vector<TapValues<T>> tapValues_;
  std::mutex failureMutex_;
  std::int64_t failedRank_ = -1;
  std::exception_ptr failure_;
  RankThreads threads_; // last: its threads use everything above
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_CPUDEVICE_H
