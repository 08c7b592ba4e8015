// What the engine around the runtime does itself: the callbacks of
// layline/hooks.h as they were set.
#ifndef LAYLINE_RUNTIME_ENGINE_HOOKS_H
#define LAYLINE_RUNTIME_ENGINE_HOOKS_H

#include "layline/hooks.h"
#include "plan/Error.h"
#include "plan/Plan.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace layline::runtime {

struct Hooks {
  layline_gemm_function gemm = nullptr;
  void *gemmUser = nullptr;
  layline_attention_function attention = nullptr;
  void *attentionUser = nullptr;
  layline_allocator allocator = {}; ///< no functions: the runtime's
  /// By cache of the plan; no functions: the runtime's.
  std::vector<layline_cache_hooks> caches;
  std::vector<std::vector<void *>> streams; ///< [rank][stream of the plan]

  bool isHooked(std::size_t cache) const {
    return caches[cache].pages || caches[cache].append;
  }
  /// Null where the runtime's memory is used.
  const layline_allocator *memory() const {
    return allocator.allocate ? &allocator : nullptr;
  }
};

/// Room for the text of a callback that fails.
using HookMessage = std::array<char, 512>;

/// Who asks. The step, and room for the message, must outlive the call.
inline layline_call callOf(const Step &step, std::int64_t rank, void *stream,
                           HookMessage &message) {
  layline_call call = {};
  call.size = sizeof(call);
  call.step = step.id.c_str();
  call.kind = step.info().name;
  call.place = step.place.c_str();
  call.rank = rank;
  call.stream = stream;
  call.message = message.data();
  call.message_bytes = message.size();
  return call;
}

/// Fails for what a callback returned; `what` says whose it is.
[[noreturn]] inline void failHook(layline_status status,
                                  const HookMessage &message,
                                  const std::string &what) {
  // Whatever comes back, the message ends, and the status is one of ours.
  std::string text(message.data());
  if (text.size() >= message.size())
    text.resize(message.size() - 1);
  bool isKnown = (status > LAYLINE_OK && status < LAYLINE_DECLINED) ||
                 status == LAYLINE_IN_USE;
  fail(isKnown ? status : LAYLINE_RUN_FAILURE, what, ": ",
       text.empty() ? concat("returns ", static_cast<int>(status), " (",
                             layline_status_name(status), ")")
       : isKnown    ? text
                 : concat(text, " (returns ", static_cast<int>(status), ")"));
}

/// Whether the engine did it; fails where it could not.
inline bool isDone(layline_status status, const HookMessage &message,
                   const char *what) {
  if (status == LAYLINE_DECLINED)
    return false;
  if (status != LAYLINE_OK)
    failHook(status, message, what);
  return true;
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_ENGINE_HOOKS_H
