// The border between C and the engine.
#ifndef LAYLINE_RUNTIME_CAPI_BORDER_H
#define LAYLINE_RUNTIME_CAPI_BORDER_H

#include "capi/Guard.h"
#include "engine/Engine.h"
#include "layline/runtime.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

struct layline_engine {
  layline_engine(const char *device,
                 const layline::runtime::DeviceOptions &options,
                 std::unique_ptr<layline::runtime::Transport> transport);
  layline::runtime::Engine engine;
  /// The function that uses the engine now; null: none.
  mutable std::atomic<const char *> inUse{nullptr};
  /// Unlike an address, of this engine alone.
  const std::uint64_t number;
  /// Of the last call that used the engine; calls that were turned away have
  /// their text by thread (InUse).
  mutable std::string error;
  mutable std::string kernels; ///< what layline_run_kernels gave
};

namespace layline::runtime {

/// Takes an engine for one call. One that finds it taken touches nothing of it.
class InUse {
public:
  InUse(const layline_engine &engine, const char *function) noexcept;
  ~InUse();
  InUse(const InUse &) = delete;
  InUse &operator=(const InUse &) = delete;

  bool isMine() const { return isMine_; }
  /// What this thread was told when the engine turned away its last call, or
  /// null if it did not.
  static const char *text(const layline_engine &engine) noexcept;

private:
  const layline_engine &engine_;
  bool isMine_ = false;
};

/// Runs `body` for a function of an engine, which nothing else may use
/// meanwhile: neither another thread nor a callback that the body waits for.
template <typename Body>
layline_status with(const layline_engine *engine, const Body &body,
                    const char *function = __builtin_FUNCTION()) noexcept {
  if (!engine)
    return LAYLINE_BAD_ARGUMENT;
  InUse use(*engine, function);
  return use.isMine() ? guarded(engine->error, body) : LAYLINE_IN_USE;
}

void toC(const Shape &shape, layline_shape &result);
const char *dtypeText(layline_dtype dtype);

/// Copies a value out; fails afterwards if its replicas differ.
void copyOut(const GlobalValue &value, const std::string &what,
             layline_dtype dtype, void *data, std::int64_t room);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_CAPI_BORDER_H
