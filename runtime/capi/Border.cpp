#include "capi/Border.h"

#include <algorithm>
#include <cstdio>

static std::uint64_t nextNumber() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

layline_engine::layline_engine(
    const char *device, const layline::runtime::DeviceOptions &options,
    std::unique_ptr<layline::runtime::Transport> transport)
    : engine(device, options, std::move(transport)), number(nextNumber()) {}

namespace layline::runtime {
namespace {

/// A thread's last call that found its engine taken: which engine it was, 0:
/// none, and what the thread is told.
struct TurnedAway {
  std::uint64_t engine = 0;
  char text[256] = "";
};
thread_local TurnedAway turnedAway;

} // namespace

InUse::InUse(const layline_engine &engine, const char *function) noexcept
    : engine_(engine) {
  const char *other = nullptr;
  isMine_ = engine.inUse.compare_exchange_strong(
      other, function, std::memory_order_acquire, std::memory_order_relaxed);
  if (isMine_)
    return;
  turnedAway.engine = engine.number;
  std::snprintf(turnedAway.text, sizeof turnedAway.text,
                "%s: the engine is in use: %s, of another thread or the one "
                "that this is a callback of, has not returned; one call at a "
                "time is expected",
                function, other);
}

InUse::~InUse() {
  if (!isMine_)
    return;
  // This call is the thread's last one now, also behind its own callbacks.
  if (turnedAway.engine == engine_.number)
    turnedAway.engine = 0;
  engine_.inUse.store(nullptr, std::memory_order_release);
}

const char *InUse::text(const layline_engine &engine) noexcept {
  return turnedAway.engine == engine.number ? turnedAway.text : nullptr;
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
  case LAYLINE_F32:
    return "F32";
  case LAYLINE_F64:
    return "F64";
  case LAYLINE_I64:
    return "I64";
  case LAYLINE_F16:
    return "F16";
  case LAYLINE_BF16:
    return "BF16";
  case LAYLINE_I32:
    return "I32";
  }
  return "unknown";
}

void copyOut(const GlobalValue &value, const std::string &what,
             layline_dtype dtype, void *data, std::int64_t room) {
  auto count = static_cast<std::int64_t>(value.isInteger ? value.integers.size()
                                                         : value.floats.size());
  if (room < count)
    fail(LAYLINE_BAD_ARGUMENT, what, " has shape ", print(value.shape), ", ",
         count, " elements; there is room for ", room);
  if (count > 0)
    notNull(data);
  if (value.isInteger && dtype == LAYLINE_I64)
    std::copy(value.integers.begin(), value.integers.end(),
              static_cast<std::int64_t *>(data));
  else if (!value.isInteger && dtype == LAYLINE_F64)
    std::copy(value.floats.begin(), value.floats.end(),
              static_cast<double *>(data));
  else if (!value.isInteger && dtype == LAYLINE_F32)
    std::transform(value.floats.begin(), value.floats.end(),
                   static_cast<float *>(data),
                   [](double x) { return static_cast<float>(x); });
  else
    fail(LAYLINE_BAD_ARGUMENT, what, " is read as ", dtypeText(dtype), "; ",
         value.isInteger ? "I64" : "F32 or F64", " is expected");
  if (!value.disagreement.empty())
    fail(LAYLINE_REPLICAS_DIFFER, what, ": ", value.disagreement);
}

} // namespace layline::runtime
