// Who runs steps of a plan in place of the device's own kernels.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_STEPLAUNCHER_H
#define LAYLINE_RUNTIME_DEVICES_CPU_STEPLAUNCHER_H

#include "devices/cpu/RankContext.h"
#include "engine/Device.h"

#include <memory>
#include <vector>

namespace layline::runtime {

template <typename T> class StepLauncher {
public:
  virtual ~StepLauncher() = default;

  /// Before a run: all ranks of the plan, by number, their parts those of the
  /// run. What run() will do with each step is decided here. Throws Error.
  virtual void prepare(const std::vector<RankContext<T>> &ranks) = 0;
  /// Whether a value that a step of a body gives is in its buffer after the
  /// fused step: a kernel keeps some on chip.
  virtual bool keeps(const Step &inner, const Operand &value) const = 0;
  /// On the rank's thread. False where the device's own kernel, or of a fused
  /// step its body, has to run: on all ranks of a group alike. Values are as
  /// after the device's kernels, not yet rounded. Throws Error, Aborted.
  virtual bool run(RankContext<T> &rank, const Step &step) = 0;
  /// Of the last run.
  virtual std::vector<KernelUse> uses() const = 0;
};

/// The device "cpu" of floats with a launcher. `options.precision` is not f64.
/// Throws Error.
std::unique_ptr<Device>
makeLaunchingDevice(const Plan &plan, const DeviceOptions &options,
                    Transport &transport,
                    std::unique_ptr<StepLauncher<float>> launcher);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_STEPLAUNCHER_H
