// One plan, its weights, inputs and caches on one device. Throws Error.
#ifndef LAYLINE_RUNTIME_ENGINE_ENGINE_H
#define LAYLINE_RUNTIME_ENGINE_ENGINE_H

#include "engine/Device.h"
#include "plan/Error.h"
#include "plan/Plan.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace layline::runtime {

class Engine {
public:
  Engine(std::string device, DeviceOptions options,
         std::unique_ptr<Transport> transport);

  /// No plan, and nothing that belongs to one.
  void dropPlan();
  void loadPlan(std::string_view text, const std::string &name);
  const Plan &plan() const;
  /// The ranks of the plan that are in this process, ascending.
  const std::vector<std::int64_t> &localRanks() const {
    return transport_->localRanks();
  }
  /// Transport::leave().
  void leave(const std::string &why) noexcept { transport_->leave(why); }
  /// Distinct safetensors keys, sorted.
  const std::vector<std::string> &weightKeys() const { return keys_; }

  void loadWeights(const std::string &path);
  /// `from` says where the tensor was found, for messages.
  void bindWeight(const std::string &key, const safetensors::Tensor &tensor,
                  const std::string &from);
  void checkWeights() const;
  /// Bytes of stored tensors that this process has looked at.
  std::int64_t weightBytesRead() const;

  void bindInput(const std::string &id, const std::int64_t *data,
                 std::int64_t count);
  /// Cache by id; `rows.shape[0]` rows.
  int cache(const std::string &id) const;
  void bindCache(int cache, const GlobalValue &rows);
  /// What the engine around this one does itself. Changed between runs only.
  Hooks &hooks() { return hooks_; }
  void setAllocator(const layline_allocator &allocator);
  /// No functions: the runtime's memory. -1: all caches.
  void setCacheHooks(int cache, const layline_cache_hooks &hooks);
  void setStream(std::int64_t rank, const std::string &stream, void *value);
  void beginTrace();
  void endTrace() { trace_.end(); }
  void writeTrace(const std::string &path) const;
  void setPast(std::int64_t rows);
  std::int64_t past() const { return past_; }
  GlobalValue readCache(int cache) { return device_->readCache(cache); }

  void run(std::int64_t tokens);
  Shape outputShape(const std::string &id) const;
  /// All rows, or some of dimension 0.
  GlobalValue readOutput(const std::string &id,
                         const std::optional<Part> &rows = std::nullopt) const;
  const std::vector<Tap> &taps() const;
  /// Of the last run; none if there is none.
  std::vector<KernelUse> kernelUses() const {
    return variant_ ? device_->kernelUses() : std::vector<KernelUse>();
  }
  Shape tapShape(std::size_t index) const;
  GlobalValue readTap(std::size_t index) const {
    return device_->readTap(index);
  }

private:
  struct Use {
    int weight;
    std::int64_t stackIndex;
  };

  void dropHooksOfPlan();
  const Buffer &output(const std::string &id, int &index) const;
  /// What processes compare before they run.
  std::uint64_t
  hashOfRun(std::int64_t tokens,
            const std::vector<std::vector<std::int64_t>> &inputs) const;
  Environment lastRun() const;

  Hooks hooks_;
  Trace trace_;
  std::string deviceName_;
  DeviceOptions options_;
  // The device refers to the plan and the transport: destroyed before them.
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Plan> plan_;
  std::map<std::string, std::vector<Use>> uses_; ///< by safetensors key
  std::vector<std::string> keys_;
  std::map<std::string, bool> isBound_; ///< by safetensors key
  std::vector<std::string> weightFiles_;
  std::vector<std::optional<std::vector<std::int64_t>>> inputs_;
  std::int64_t past_ = 0;
  /// Of the last run that succeeded; null if there is none.
  const Variant *variant_ = nullptr;
  std::int64_t ranTokens_ = 0;
  std::int64_t ranPast_ = 0;
  std::unique_ptr<Device> device_;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_ENGINE_ENGINE_H
