// Exceptions turned into a status and a text: none leaves a C API.
#ifndef LAYLINE_RUNTIME_CAPI_GUARD_H
#define LAYLINE_RUNTIME_CAPI_GUARD_H

#include "plan/Error.h"

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

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

/// What a status is called; "unknown status" for other numbers.
inline const char *getStatusName(layline_status status) {
  switch (status) {
  case LAYLINE_OK:
    return "ok";
  case LAYLINE_BAD_ARGUMENT:
    return "bad argument";
  case LAYLINE_UNREADABLE_FILE:
    return "unreadable file";
  case LAYLINE_INVALID_PLAN:
    return "invalid plan";
  case LAYLINE_REFUSED_FEATURE:
    return "refused feature";
  case LAYLINE_MISSING_WEIGHT:
    return "missing weight";
  case LAYLINE_WRONG_WEIGHT:
    return "wrong weight";
  case LAYLINE_NOT_BOUND:
    return "not bound";
  case LAYLINE_RUN_FAILURE:
    return "run failure";
  case LAYLINE_REPLICAS_DIFFER:
    return "replicas differ";
  case LAYLINE_OUT_OF_MEMORY:
    return "out of memory";
  case LAYLINE_INTERNAL:
    return "internal";
  case LAYLINE_DECLINED:
    return "declined";
  case LAYLINE_IN_USE:
    return "engine in use";
  }
  return "unknown status";
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_CAPI_GUARD_H
