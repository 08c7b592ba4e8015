// Engines: create, destroy, what went wrong.
#include "capi/Border.h"

using namespace layline::runtime;

extern "C" {

const char *layline_status_name(layline_status status) {
  return getStatusName(status);
}

void layline_options_init(layline_options *options) {
  if (options)
    *options = {sizeof(layline_options), LAYLINE_PRECISION_F32, "cpu", 0, 0};
}

layline_status layline_engine_create(const layline_options *options,
                                     layline_engine **engine) {
  if (!engine)
    return LAYLINE_BAD_ARGUMENT;
  *engine = nullptr;
  std::string error;
  return guarded(error, [&] {
    layline_options chosen;
    layline_options_init(&chosen);
    if (options) {
      // A caller of a later version passes more than we know.
      if (options->size < sizeof(layline_options))
        fail(LAYLINE_BAD_ARGUMENT, "options.size is too small");
      chosen = *options;
    }
    if (chosen.precision != LAYLINE_PRECISION_F32 &&
        chosen.precision != LAYLINE_PRECISION_F64 &&
        chosen.precision != LAYLINE_PRECISION_BF16)
      fail(LAYLINE_BAD_ARGUMENT, "options.precision is unknown");
    DeviceOptions device{chosen.precision, chosen.taps != 0,
                         chosen.poison != 0};
    *engine = new layline_engine(chosen.device ? chosen.device : "cpu", device,
                                 makeTransport("threads", TransportOptions()));
  });
}

void layline_engine_destroy(layline_engine *engine) { delete engine; }

const char *layline_engine_error(const layline_engine *engine) {
  return engine ? engine->error.c_str() : "engine is null";
}

} // extern "C"
