// Engines: create, destroy, what went wrong.
#include "capi/Border.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace layline::runtime;

/// There is no engine to keep it.
static thread_local std::string createError;

extern "C" {

const char *layline_engine_create_error() { return createError.c_str(); }

const char *layline_status_name(layline_status status) {
  return getStatusName(status);
}

void layline_options_init(layline_options *options) {
  if (options)
    *options = {sizeof(layline_options),
                LAYLINE_PRECISION_F32,
                "cpu",
                0,
                0,
                "threads",
                0,
                0};
}

layline_status layline_engine_create(const layline_options *options,
                                     layline_engine **engine) {
  if (!engine) {
    createError = "a pointer is null";
    return LAYLINE_BAD_ARGUMENT;
  }
  *engine = nullptr;
  return guarded(createError, [&] {
    layline_options chosen;
    layline_options_init(&chosen);
    if (options) {
      // A caller of an earlier version passes less than we know, one of a
      // later version more.
      if (options->size < offsetof(layline_options, transport))
        fail(LAYLINE_BAD_ARGUMENT, "options.size is too small");
      std::memcpy(&chosen, options, std::min(options->size, sizeof chosen));
    }
    if (chosen.precision != LAYLINE_PRECISION_F32 &&
        chosen.precision != LAYLINE_PRECISION_F64 &&
        chosen.precision != LAYLINE_PRECISION_BF16)
      fail(LAYLINE_BAD_ARGUMENT, "options.precision is unknown");
    TransportOptions transport;
    if (chosen.timeout != 0)
      transport.timeout = chosen.timeout;
    if (!(transport.timeout > 0 && transport.timeout <= kLongestTimeout))
      fail(LAYLINE_BAD_ARGUMENT, "options.timeout is ", chosen.timeout,
           "; above 0 and at most ", kLongestTimeout, " seconds is expected");
    DeviceOptions device{chosen.precision, chosen.taps != 0, chosen.poison != 0,
                         transport.timeout, chosen.by_switch != 0};
    *engine = new layline_engine(
        chosen.device ? chosen.device : "cpu", device,
        makeTransport(chosen.transport ? chosen.transport : "threads",
                      transport));
  });
}

void layline_engine_destroy(layline_engine *engine) {
  if (engine)
    engine->engine.leave(engine->error);
  delete engine;
}

const char *layline_engine_error(const layline_engine *engine) {
  if (!engine)
    return "engine is null";
  // The text of a call that was turned away is the thread's own: that of the
  // engine is being written by whoever uses it.
  const char *turnedAway = InUse::text(*engine);
  return turnedAway ? turnedAway : engine->error.c_str();
}

} // extern "C"
