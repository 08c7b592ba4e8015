// A run and what comes out: outputs and taps.
#include "capi/Border.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace layline::runtime;

extern "C" {

layline_status layline_run(layline_engine *engine, int64_t tokens) {
  return with(engine, [&] { engine->engine.run(tokens); });
}

layline_status layline_output_shape(layline_engine *engine, const char *id,
                                    layline_shape *shape) {
  return with(engine, [&] {
    notNull(id, shape);
    toC(engine->engine.outputShape(id), *shape);
  });
}

layline_status layline_output_read(layline_engine *engine, const char *id,
                                   layline_dtype dtype, void *data,
                                   int64_t count) {
  return with(engine, [&] {
    notNull(id);
    copyOut(engine->engine.readOutput(id), concat("output '", id, "'"), dtype,
            data, count);
  });
}

layline_status layline_output_read_rows(layline_engine *engine, const char *id,
                                        int64_t first, int64_t rows,
                                        layline_dtype dtype, void *data,
                                        int64_t count) {
  return with(engine, [&] {
    notNull(id);
    copyOut(engine->engine.readOutput(id, Part{first, rows}),
            concat("output '", id, "'"), dtype, data, count);
  });
}

layline_status layline_run_kernels(const layline_engine *engine,
                                   const char **json) {
  return with(engine, [&] {
    notNull(json);
    auto list = nlohmann::ordered_json::array();
    for (const KernelUse &use : engine->engine.kernelUses())
      list.push_back({{"step", use.step},
                      {"kernel", use.kernel},
                      {"reason", use.reason},
                      {"steps", use.steps}});
    engine->kernels = list.dump();
    *json = engine->kernels.c_str();
  });
}

layline_status layline_tap_count(const layline_engine *engine, int64_t *count) {
  return with(engine, [&] {
    notNull(count);
    *count = lengthOf(engine->engine.taps());
  });
}

layline_status layline_tap_name(const layline_engine *engine, int64_t index,
                                const char **name) {
  return with(engine, [&] {
    notNull(name);
    inside(index, lengthOf(engine->engine.taps()), "tap");
    *name = engine->engine.taps()[static_cast<std::size_t>(index)].name.c_str();
  });
}

layline_status layline_tap_find(const layline_engine *engine, const char *name,
                                int64_t *index) {
  return with(engine, [&] {
    notNull(name, index);
    const std::vector<Tap> &taps = engine->engine.taps();
    auto found = std::find_if(taps.begin(), taps.end(),
                              [&](const Tap &tap) { return tap.name == name; });
    if (found == taps.end())
      fail(LAYLINE_BAD_ARGUMENT, "the last run kept no tap '", name, "'");
    *index = found - taps.begin();
  });
}

layline_status layline_tap_shape(layline_engine *engine, int64_t index,
                                 layline_shape *shape) {
  return with(engine, [&] {
    notNull(shape);
    inside(index, lengthOf(engine->engine.taps()), "tap");
    toC(engine->engine.tapShape(static_cast<std::size_t>(index)), *shape);
  });
}

layline_status layline_tap_read(layline_engine *engine, int64_t index,
                                layline_dtype dtype, void *data,
                                int64_t count) {
  return with(engine, [&] {
    inside(index, lengthOf(engine->engine.taps()), "tap");
    auto tap = static_cast<std::size_t>(index);
    copyOut(engine->engine.readTap(tap),
            concat("tap '", engine->engine.taps()[tap].name, "'"), dtype, data,
            count);
  });
}

} // extern "C"
