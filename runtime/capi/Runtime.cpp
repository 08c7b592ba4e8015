// The C border: arguments checked, exceptions turned into a status and a text.
#include "layline/runtime.h"

#include "engine/Engine.h"
#include "plan/Load.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace layline::runtime;

struct layline_engine {
  layline_engine(const char *device, const DeviceOptions &options)
      : engine(device, options) {}
  Engine engine;
  mutable std::string error;
};

namespace {

/// Runs `body` and writes what it throws to `error`.
template <typename Body>
layline_status guarded(std::string &error, const Body &body) noexcept {
  try {
    try {
      error.clear();
      body();
      return LAYLINE_OK;
    } catch (const Error &failure) {
      error = failure.what();
      return failure.status();
    } catch (const std::bad_alloc &) {
      error = "out of memory";
      return LAYLINE_OUT_OF_MEMORY;
    } catch (const std::length_error &) {
      error = "out of memory: a size is beyond what can be allocated";
      return LAYLINE_OUT_OF_MEMORY;
    } catch (const std::exception &failure) {
      error = std::string("internal: ") + failure.what();
      return LAYLINE_INTERNAL;
    } catch (...) {
      error = "internal: unknown exception";
      return LAYLINE_INTERNAL;
    }
  } catch (...) {
    return LAYLINE_OUT_OF_MEMORY; // no memory even for the text
  }
}

/// The same for a function of an engine.
template <typename Body>
layline_status with(const layline_engine *engine, const Body &body) noexcept {
  if (!engine)
    return LAYLINE_BAD_ARGUMENT;
  return guarded(engine->error, body);
}

template <typename... Pointers> void notNull(const Pointers *...pointers) {
  if (((pointers == nullptr) || ...))
    fail(LAYLINE_BAD_ARGUMENT, "a pointer is null");
}

void toC(const Shape &shape, layline_shape &result) {
  if (shape.size() > LAYLINE_MAX_DIMS)
    fail(LAYLINE_INTERNAL, "a shape has ", shape.size(), " dimensions");
  result = {};
  result.rank = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), result.dims);
}

const char *dtypeText(layline_dtype dtype) {
  switch (dtype) {
  case LAYLINE_F32: return "F32";
  case LAYLINE_F64: return "F64";
  case LAYLINE_I64: return "I64";
  case LAYLINE_F16: return "F16";
  case LAYLINE_BF16: return "BF16";
  case LAYLINE_I32: return "I32";
  }
  return "unknown";
}

/// Copies a value out; says so afterwards if its replicas differ.
void copyOut(const GlobalValue &value, const std::string &what, layline_dtype dtype,
             void *data, std::int64_t room) {
  auto count = static_cast<std::int64_t>(value.isInteger ? value.integers.size()
                                                         : value.floats.size());
  if (room < count)
    fail(LAYLINE_BAD_ARGUMENT, what, " has shape ", print(value.shape), ", ", count,
         " elements; there is room for ", room);
  if (count > 0)
    notNull(data);
  if (value.isInteger && dtype == LAYLINE_I64)
    std::copy(value.integers.begin(), value.integers.end(), static_cast<std::int64_t *>(data));
  else if (!value.isInteger && dtype == LAYLINE_F64)
    std::copy(value.floats.begin(), value.floats.end(), static_cast<double *>(data));
  else if (!value.isInteger && dtype == LAYLINE_F32)
    std::transform(value.floats.begin(), value.floats.end(), static_cast<float *>(data),
                   [](double x) { return static_cast<float>(x); });
  else
    fail(LAYLINE_BAD_ARGUMENT, what, " is read as ", dtypeText(dtype), "; ",
         value.isInteger ? "I64" : "F32 or F64", " is expected");
  if (!value.disagreement.empty())
    fail(LAYLINE_REPLICAS_DIFFER, what, ": ", value.disagreement);
}

layline::safetensors::Tensor storedTensor(layline_dtype dtype, const layline_shape &shape,
                                          const void *data) {
  using D = layline::safetensors::DType;
  layline::safetensors::Tensor tensor;
  switch (dtype) {
  case LAYLINE_F32: tensor.dtype = D::F32; break;
  case LAYLINE_F64: tensor.dtype = D::F64; break;
  case LAYLINE_F16: tensor.dtype = D::F16; break;
  case LAYLINE_BF16: tensor.dtype = D::BF16; break;
  default:
    fail(LAYLINE_BAD_ARGUMENT, "a weight is given as ", dtypeText(dtype),
         "; F32, F64, F16 or BF16 is expected");
  }
  if (shape.rank < 0 || shape.rank > LAYLINE_MAX_DIMS)
    fail(LAYLINE_BAD_ARGUMENT, "a shape has ", shape.rank, " dimensions");
  tensor.shape.assign(shape.dims, shape.dims + shape.rank);
  tensor.data = static_cast<const std::byte *>(data);
  return tensor;
}

layline_status checkText(std::string_view text, const char *name, std::string &report) {
  LoadedPlan loaded = loadPlan(text, name);
  for (const std::string &line : loaded.findings)
    report += line + "\n";
  return loaded.status;
}

/// Gives the caller a copy to free; null if there is no memory.
void giveReport(const std::string &text, char **report) {
  if (!report)
    return;
  *report = static_cast<char *>(std::malloc(text.size() + 1));
  if (*report)
    std::memcpy(*report, text.c_str(), text.size() + 1);
}

template <typename Check> layline_status checked(char **report, const Check &check) noexcept {
  std::string text, error;
  layline_status status = LAYLINE_OK;
  layline_status failure = guarded(error, [&] { status = check(text); });
  if (failure != LAYLINE_OK) {
    status = failure;
    text = error + "\n";
  }
  giveReport(text, report);
  return status;
}

template <typename List> std::int64_t lengthOf(const List &list) {
  return static_cast<std::int64_t>(list.size());
}

/// The ids of a list of the plan, by number.
const std::string &idOf(const Engine &engine, layline_plan_list list, std::size_t index) {
  const Plan &plan = engine.plan();
  switch (list) {
  case LAYLINE_PLAN_INPUTS: return plan.inputs[index].id;
  case LAYLINE_PLAN_CACHES: return plan.caches[index].id;
  case LAYLINE_PLAN_OUTPUTS: return plan.variants.front().outputs[index].id;
  case LAYLINE_PLAN_WEIGHT_KEYS: return engine.weightKeys()[index];
  case LAYLINE_PLAN_VARIANTS: return plan.variants[index].id;
  }
  fail(LAYLINE_BAD_ARGUMENT, "unknown list ", static_cast<int>(list));
}

std::int64_t countOf(const Engine &engine, layline_plan_list list) {
  const Plan &plan = engine.plan();
  switch (list) {
  case LAYLINE_PLAN_INPUTS: return lengthOf(plan.inputs);
  case LAYLINE_PLAN_CACHES: return lengthOf(plan.caches);
  case LAYLINE_PLAN_OUTPUTS: return lengthOf(plan.variants.front().outputs);
  case LAYLINE_PLAN_WEIGHT_KEYS: return lengthOf(engine.weightKeys());
  case LAYLINE_PLAN_VARIANTS: return lengthOf(plan.variants);
  }
  fail(LAYLINE_BAD_ARGUMENT, "unknown list ", static_cast<int>(list));
}

void inside(std::int64_t index, std::int64_t count, const char *what) {
  if (index < 0 || index >= count)
    fail(LAYLINE_BAD_ARGUMENT, what, " ", index, " is asked for; there are ", count);
}

} // namespace

extern "C" {

const char *layline_status_name(layline_status status) {
  switch (status) {
  case LAYLINE_OK: return "ok";
  case LAYLINE_BAD_ARGUMENT: return "bad argument";
  case LAYLINE_UNREADABLE_FILE: return "unreadable file";
  case LAYLINE_INVALID_PLAN: return "invalid plan";
  case LAYLINE_REFUSED_FEATURE: return "refused feature";
  case LAYLINE_MISSING_WEIGHT: return "missing weight";
  case LAYLINE_WRONG_WEIGHT: return "wrong weight";
  case LAYLINE_NOT_BOUND: return "not bound";
  case LAYLINE_RUN_FAILURE: return "run failure";
  case LAYLINE_REPLICAS_DIFFER: return "replicas differ";
  case LAYLINE_OUT_OF_MEMORY: return "out of memory";
  case LAYLINE_INTERNAL: return "internal";
  }
  return "unknown status";
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
    if (chosen.precision != LAYLINE_PRECISION_F32 && chosen.precision != LAYLINE_PRECISION_F64)
      fail(LAYLINE_BAD_ARGUMENT, "options.precision is unknown");
    DeviceOptions device{chosen.precision, chosen.taps != 0, chosen.poison != 0};
    *engine = new layline_engine(chosen.device ? chosen.device : "cpu", device);
  });
}

void layline_engine_destroy(layline_engine *engine) { delete engine; }

const char *layline_engine_error(const layline_engine *engine) {
  return engine ? engine->error.c_str() : "engine is null";
}

layline_status layline_plan_load(layline_engine *engine, const char *path) {
  return with(engine, [&] {
    notNull(path);
    engine->engine.loadPlan(readFile(path), path);
  });
}

layline_status layline_plan_load_memory(layline_engine *engine, const char *text,
                                        size_t bytes, const char *name) {
  return with(engine, [&] {
    notNull(text, name);
    engine->engine.loadPlan({text, bytes}, name);
  });
}

layline_status layline_plan_check(const char *path, char **report) {
  return checked(report, [&](std::string &text) {
    notNull(path);
    return checkText(readFile(path), path, text);
  });
}

layline_status layline_plan_check_memory(const char *plan, size_t bytes, const char *name,
                                         char **report) {
  return checked(report, [&](std::string &text) {
    notNull(plan, name);
    return checkText({plan, bytes}, name, text);
  });
}

void layline_string_free(char *text) { std::free(text); }

layline_status layline_plan_ranks(const layline_engine *engine, int64_t *ranks) {
  return with(engine, [&] {
    notNull(ranks);
    *ranks = engine->engine.plan().ranks();
  });
}

layline_status layline_plan_symbol(const layline_engine *engine, const char *symbol,
                                   int64_t *min, int64_t *max) {
  return with(engine, [&] {
    notNull(symbol, min, max);
    std::string name = symbol;
    if (name != "tokens" && name != "past")
      fail(LAYLINE_BAD_ARGUMENT, "symbol '", name, "' is unknown; 'tokens' or 'past' is expected");
    const Plan &plan = engine->engine.plan();
    const Symbol &range = name == "tokens" ? plan.tokens : plan.past;
    *min = range.min;
    *max = range.max;
  });
}

layline_status layline_plan_variant(const layline_engine *engine, int64_t tokens,
                                    const char **id) {
  return with(engine, [&] {
    notNull(id);
    const Plan &plan = engine->engine.plan();
    const Variant *variant = plan.variantFor(tokens);
    if (!variant)
      fail(LAYLINE_BAD_ARGUMENT, "the plan runs [", plan.tokens.min, ", ", plan.tokens.max,
           "] tokens, not ", tokens);
    *id = variant->id.c_str();
  });
}

layline_status layline_plan_count(const layline_engine *engine, layline_plan_list list,
                                  int64_t *count) {
  return with(engine, [&] {
    notNull(count);
    *count = countOf(engine->engine, list);
  });
}

layline_status layline_plan_id(const layline_engine *engine, layline_plan_list list,
                               int64_t index, const char **id) {
  return with(engine, [&] {
    notNull(id);
    inside(index, countOf(engine->engine, list), "entry");
    *id = idOf(engine->engine, list, static_cast<std::size_t>(index)).c_str();
  });
}

layline_status layline_plan_cache(const layline_engine *engine, int64_t index,
                                  layline_cache_info *info) {
  return with(engine, [&] {
    notNull(info);
    const Plan &plan = engine->engine.plan();
    inside(index, lengthOf(plan.caches), "cache");
    const Cache &cache = plan.caches[static_cast<std::size_t>(index)];
    *info = {cache.id.c_str(), cache.plane.c_str(), cache.layer,
             isInteger(cache.dtype) ? 1 : 0, {}};
    toC(cache.rowShape, info->row_shape);
  });
}

layline_status layline_weights_load(layline_engine *engine, const char *path) {
  return with(engine, [&] {
    notNull(path);
    engine->engine.loadWeights(path);
  });
}

layline_status layline_weight_bind(layline_engine *engine, const char *key,
                                   layline_dtype dtype, const layline_shape *shape,
                                   const void *data) {
  return with(engine, [&] {
    notNull(key, shape, data);
    engine->engine.bindWeight(key, storedTensor(dtype, *shape, data), "given");
  });
}

layline_status layline_weights_check(layline_engine *engine) {
  return with(engine, [&] { engine->engine.checkWeights(); });
}

layline_status layline_input_bind(layline_engine *engine, const char *id,
                                  const int64_t *data, int64_t count) {
  return with(engine, [&] {
    notNull(id, data);
    if (count < 0)
      fail(LAYLINE_BAD_ARGUMENT, "input '", id, "' is given ", count, " elements");
    engine->engine.bindInput(id, data, count);
  });
}

layline_status layline_cache_bind(layline_engine *engine, const char *id,
                                  layline_dtype dtype, const void *data, int64_t rows) {
  return with(engine, [&] {
    notNull(id);
    int index = engine->engine.cache(id);
    const Plan &plan = engine->engine.plan();
    const Cache &cache = plan.caches[index];
    if (rows < 0 || rows > plan.past.max)
      fail(LAYLINE_BAD_ARGUMENT, "cache '", id, "' is given ", rows,
           " rows; the plan allows a past of [", plan.past.min, ", ", plan.past.max, "]");
    GlobalValue value;
    value.shape = cache.rowShape;
    value.shape.insert(value.shape.begin(), rows);
    value.isInteger = isInteger(cache.dtype);
    auto count = static_cast<std::size_t>(elements(value.shape));
    if (count > 0)
      notNull(data);
    if (value.isInteger && dtype == LAYLINE_I64) {
      auto *from = static_cast<const std::int64_t *>(data);
      value.integers.assign(from, from + count);
    } else if (!value.isInteger && dtype == LAYLINE_F64) {
      auto *from = static_cast<const double *>(data);
      value.floats.assign(from, from + count);
    } else if (!value.isInteger && dtype == LAYLINE_F32) {
      auto *from = static_cast<const float *>(data);
      value.floats.assign(from, from + count);
    } else {
      fail(LAYLINE_BAD_ARGUMENT, "cache '", id, "' is given as ", dtypeText(dtype), "; ",
           value.isInteger ? "I64" : "F32 or F64", " is expected");
    }
    engine->engine.bindCache(index, value);
  });
}

layline_status layline_past_set(layline_engine *engine, int64_t past) {
  return with(engine, [&] { engine->engine.setPast(past); });
}

layline_status layline_past_get(const layline_engine *engine, int64_t *past) {
  return with(engine, [&] {
    notNull(past);
    engine->engine.plan();
    *past = engine->engine.past();
  });
}

layline_status layline_caches_reset(layline_engine *engine) {
  return with(engine, [&] { engine->engine.setPast(0); });
}

layline_status layline_cache_read(layline_engine *engine, const char *id,
                                  layline_dtype dtype, void *data, int64_t count) {
  return with(engine, [&] {
    notNull(id);
    copyOut(engine->engine.readCache(engine->engine.cache(id)),
            concat("cache '", id, "'"), dtype, data, count);
  });
}

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
                                   layline_dtype dtype, void *data, int64_t count) {
  return with(engine, [&] {
    notNull(id);
    copyOut(engine->engine.readOutput(id), concat("output '", id, "'"), dtype, data, count);
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

layline_status layline_tap_read(layline_engine *engine, int64_t index, layline_dtype dtype,
                                void *data, int64_t count) {
  return with(engine, [&] {
    inside(index, lengthOf(engine->engine.taps()), "tap");
    auto tap = static_cast<std::size_t>(index);
    copyOut(engine->engine.readTap(tap),
            concat("tap '", engine->engine.taps()[tap].name, "'"), dtype, data, count);
  });
}

} // extern "C"
