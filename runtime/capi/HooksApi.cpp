// What an engine does itself, and the trace (layline/hooks.h).
#include "capi/Border.h"

using namespace layline::runtime;

namespace {

/// A struct of the caller's as ours: what it does not have is null.
template <typename Struct>
Struct taken(const Struct *given, std::size_t needed, const char *what) {
  if (given->size < needed)
    fail(LAYLINE_BAD_ARGUMENT, what, ".size is ", given->size, "; at least ",
         needed, " is expected");
  return *given;
}

} // namespace

extern "C" {

layline_status layline_gemm_set(layline_engine *engine,
                                layline_gemm_function function, void *user) {
  return with(engine, [&] {
    engine->engine.hooks().gemm = function;
    engine->engine.hooks().gemmUser = user;
  });
}

layline_status layline_attention_set(layline_engine *engine,
                                     layline_attention_function function,
                                     void *user) {
  return with(engine, [&] {
    engine->engine.hooks().attention = function;
    engine->engine.hooks().attentionUser = user;
  });
}

layline_status layline_allocator_set(layline_engine *engine,
                                     const layline_allocator *allocator) {
  return with(engine, [&] {
    layline_allocator chosen = {};
    if (allocator) {
      chosen = taken(allocator, sizeof(chosen), "allocator");
      if (!chosen.allocate || !chosen.release)
        fail(LAYLINE_BAD_ARGUMENT,
             "the allocator needs both allocate and release");
    }
    engine->engine.setAllocator(chosen);
  });
}

layline_status layline_cache_hooks_set(layline_engine *engine,
                                       const char *cache,
                                       const layline_cache_hooks *hooks) {
  return with(engine, [&] {
    int index = cache ? engine->engine.cache(cache) : -1;
    layline_cache_hooks chosen = {};
    if (hooks) {
      chosen = taken(hooks, sizeof(chosen), "hooks");
      bool isPaged = chosen.pages && !chosen.append && !chosen.read,
           isOpaque = !chosen.pages && chosen.append && chosen.read;
      if (!isPaged && !isOpaque)
        fail(LAYLINE_BAD_ARGUMENT, "cache '", cache ? cache : "(all)",
             "': either the hook pages, or append and read are expected");
    }
    engine->engine.setCacheHooks(index, chosen);
  });
}

layline_status layline_stream_set(layline_engine *engine, int64_t rank,
                                  const char *stream, void *value) {
  return with(engine, [&] {
    notNull(stream);
    engine->engine.setStream(rank, stream, value);
  });
}

layline_status layline_trace_begin(layline_engine *engine) {
  return with(engine, [&] { engine->engine.beginTrace(); });
}

layline_status layline_trace_end(layline_engine *engine) {
  return with(engine, [&] { engine->engine.endTrace(); });
}

layline_status layline_trace_write(layline_engine *engine, const char *path) {
  return with(engine, [&] {
    notNull(path);
    engine->engine.writeTrace(path);
  });
}

} // extern "C"
