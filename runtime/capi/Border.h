// The border between C and the engine.
#ifndef LAYLINE_RUNTIME_CAPI_BORDER_H
#define LAYLINE_RUNTIME_CAPI_BORDER_H

#include "capi/Guard.h"
#include "engine/Engine.h"
#include "layline/runtime.h"

#include <memory>
#include <string>
#include <utility>

struct layline_engine {
  layline_engine(const char *device,
                 const layline::runtime::DeviceOptions &options,
                 std::unique_ptr<layline::runtime::Transport> transport)
      : engine(device, options, std::move(transport)) {}
  layline::runtime::Engine engine;
  mutable std::string error;
  mutable std::string kernels; ///< what layline_run_kernels gave
};

namespace layline::runtime {

/// Runs `body` for a function of an engine.
template <typename Body>
layline_status with(const layline_engine *engine, const Body &body) noexcept {
  if (!engine)
    return LAYLINE_BAD_ARGUMENT;
  return guarded(engine->error, body);
}

void toC(const Shape &shape, layline_shape &result);
const char *dtypeText(layline_dtype dtype);

/// Copies a value out; fails afterwards if its replicas differ.
void copyOut(const GlobalValue &value, const std::string &what,
             layline_dtype dtype, void *data, std::int64_t room);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_CAPI_BORDER_H
