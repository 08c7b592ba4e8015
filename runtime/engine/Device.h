// What an engine asks of a device: hold weights and caches, run a variant, give
// values back as global ones.
#ifndef LAYLINE_RUNTIME_ENGINE_DEVICE_H
#define LAYLINE_RUNTIME_ENGINE_DEVICE_H

#include "engine/GlobalValue.h"
#include "engine/Hooks.h"
#include "engine/Trace.h"
#include "layline/runtime.h"
#include "layline/safetensors.h"
#include "plan/Plan.h"
#include "transports/Transport.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace layline::runtime {

struct RunRequest {
  const Variant *variant = nullptr;
  std::int64_t tokens = 0;
  std::int64_t past = 0;
  /// Global values, by input.
  const std::vector<std::vector<std::int64_t>> *inputs = nullptr;
  Trace *trace = nullptr; ///< null: nothing is recorded
};

struct Tap {
  std::string name;
  Operand operand;
};

/// Steps of a run that ran as the same kernel, on each rank once.
struct KernelUse {
  std::string step; ///< kinds: "reduce_scatter+add+norm+all_gather"
  /// Of the catalogue, or the device's own; empty: the cpu's, or the body's.
  std::string kernel;
  std::string
      reason; ///< why it is none of the catalogue; empty: none is looked for
  std::int64_t steps = 0;
};

class Device {
public:
  virtual ~Device() = default;

  /// `stored` is one stored tensor of the weight, of the stored shape and of a
  /// floating-point dtype; `stackIndex` which one, 0 if it is not stacked.
  virtual void bindWeight(int weight, std::int64_t stackIndex,
                          const safetensors::Tensor &stored) = 0;

  /// Bytes of stored tensors that this process has looked at.
  virtual std::int64_t weightBytesRead() const = 0;

  /// Takes the hooks of DeviceOptions anew for a cache, whose rows are dropped.
  virtual void useCacheHooks(int cache) = 0;
  /// Replaces a cache's rows by global ones. `rows.isInteger` fits the cache.
  virtual void bindCache(int cache, const GlobalValue &rows) = 0;
  /// Keeps the first `rows` rows. Of a cache with hooks: notes that so many
  /// stand there.
  virtual void truncateCache(int cache, std::int64_t rows) = 0;
  virtual std::int64_t cacheRows(int cache) const = 0;
  virtual GlobalValue readCache(int cache) = 0;

  /// Throws Error if a rank fails; caches then hold `past` rows again.
  virtual void run(const RunRequest &request) = 0;

  /// Of the last run; `rows` of dimension 0 if it is held whole by all ranks.
  virtual GlobalValue readBuffer(int buffer,
                                 const std::optional<Part> &rows) const = 0;
  virtual const std::vector<Tap> &taps() const = 0;
  virtual GlobalValue readTap(std::size_t index) const = 0;

  /// What the steps of the last run ran as; empty of a device that has one way
  /// only.
  virtual std::vector<KernelUse> kernelUses() const { return {}; }
};

struct DeviceOptions {
  layline_precision precision = LAYLINE_PRECISION_F32;
  bool taps = false;
  bool poison = false;
  /// Seconds that a rank waits for another one, where the device and not the
  /// transport sees to it.
  double timeout = kDefaultTimeout;
  /// Sums and copies of collectives by the cards' switch where that can.
  bool bySwitch = false;
  /// Null: none. Must outlive the device, and not change while it runs.
  const Hooks *hooks = nullptr;
};

using DeviceFactory = std::unique_ptr<Device> (*)(const Plan &,
                                                  const DeviceOptions &,
                                                  Transport &);
/// Makes a device known that is in a library of its own. A later one of the
/// same name takes its place.
void addDevice(const std::string &name, DeviceFactory factory);

/// Throws Error for a name that is not known and for a device that this machine
/// does not have.
void checkDevice(const std::string &name);
/// The same. `transport` is connected to the plan; both must outlive the
/// device.
std::unique_ptr<Device> makeDevice(const std::string &name, const Plan &plan,
                                   const DeviceOptions &options,
                                   Transport &transport);

/// Every local rank a thread. devices/cpu.
std::unique_ptr<Device> makeCpuDevice(const Plan &plan,
                                      const DeviceOptions &options,
                                      Transport &transport);

/// The ranks on this machine's GPUs. devices/cuda. Throws Error
/// (LAYLINE_REFUSED_FEATURE, "no CUDA device: ...") where there is none.
std::unique_ptr<Device> makeCudaDevice(const Plan &plan,
                                       const DeviceOptions &options,
                                       Transport &transport);
void checkCudaDevice();

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_ENGINE_DEVICE_H
