// The border between C and the engine: arguments checked, exceptions turned
// into a status and a text.
#ifndef LAYLINE_RUNTIME_CAPI_BORDER_H
#define LAYLINE_RUNTIME_CAPI_BORDER_H

#include "engine/Engine.h"
#include "layline/runtime.h"

#include <new>
#include <stdexcept>
#include <string>

struct layline_engine {
  layline_engine(const char *device,
                 const layline::runtime::DeviceOptions &options)
      : engine(device, options) {}
  layline::runtime::Engine engine;
  mutable std::string error;
};

namespace layline::runtime {

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

template <typename List> std::int64_t lengthOf(const List &list) {
  return static_cast<std::int64_t>(list.size());
}

inline void inside(std::int64_t index, std::int64_t count, const char *what) {
  if (index < 0 || index >= count)
    fail(LAYLINE_BAD_ARGUMENT, what, " ", index, " is asked for; there are ",
         count);
}

void toC(const Shape &shape, layline_shape &result);
const char *dtypeText(layline_dtype dtype);

/// Copies a value out; fails afterwards if its replicas differ.
void copyOut(const GlobalValue &value, const std::string &what,
             layline_dtype dtype, void *data, std::int64_t room);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_CAPI_BORDER_H
