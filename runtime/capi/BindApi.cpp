// What goes in: weights, inputs, rows of caches.
#include "capi/Border.h"

#include <algorithm>

using namespace layline::runtime;

namespace {

layline::safetensors::Tensor storedTensor(layline_dtype dtype,
                                          const layline_shape &shape,
                                          const void *data) {
  using D = layline::safetensors::DType;
  layline::safetensors::Tensor tensor;
  switch (dtype) {
  case LAYLINE_F32:
    tensor.dtype = D::F32;
    break;
  case LAYLINE_F64:
    tensor.dtype = D::F64;
    break;
  case LAYLINE_F16:
    tensor.dtype = D::F16;
    break;
  case LAYLINE_BF16:
    tensor.dtype = D::BF16;
    break;
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

} // namespace

extern "C" {

layline_status layline_weights_load(layline_engine *engine, const char *path) {
  return with(engine, [&] {
    notNull(path);
    engine->engine.loadWeights(path);
  });
}

layline_status layline_weight_bind(layline_engine *engine, const char *key,
                                   layline_dtype dtype,
                                   const layline_shape *shape,
                                   const void *data) {
  return with(engine, [&] {
    notNull(key, shape, data);
    engine->engine.bindWeight(key, storedTensor(dtype, *shape, data), "given");
  });
}

layline_status layline_weights_check(layline_engine *engine) {
  return with(engine, [&] { engine->engine.checkWeights(); });
}

layline_status layline_weights_bytes_read(const layline_engine *engine,
                                          int64_t *bytes) {
  return with(engine, [&] {
    notNull(bytes);
    *bytes = engine->engine.weightBytesRead();
  });
}

layline_status layline_input_bind(layline_engine *engine, const char *id,
                                  const int64_t *data, int64_t count) {
  return with(engine, [&] {
    notNull(id, data);
    if (count < 0)
      fail(LAYLINE_BAD_ARGUMENT, "input '", id, "' is given ", count,
           " elements");
    engine->engine.bindInput(id, data, count);
  });
}

layline_status layline_cache_bind(layline_engine *engine, const char *id,
                                  layline_dtype dtype, const void *data,
                                  int64_t rows) {
  return with(engine, [&] {
    notNull(id);
    int index = engine->engine.cache(id);
    const Plan &plan = engine->engine.plan();
    const Cache &cache = plan.caches[index];
    if (rows < 0 || rows > plan.past.max)
      fail(LAYLINE_BAD_ARGUMENT, "cache '", id, "' is given ", rows,
           " rows; the plan allows a past of [", plan.past.min, ", ",
           plan.past.max, "]");
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
      fail(LAYLINE_BAD_ARGUMENT, "cache '", id, "' is given as ",
           dtypeText(dtype), "; ", value.isInteger ? "I64" : "F32 or F64",
           " is expected");
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
                                  layline_dtype dtype, void *data,
                                  int64_t count) {
  return with(engine, [&] {
    notNull(id);
    copyOut(engine->engine.readCache(engine->engine.cache(id)),
            concat("cache '", id, "'"), dtype, data, count);
  });
}

} // extern "C"
