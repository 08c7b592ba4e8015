// Products and attention, by the engine's functions where it has given some.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_ENGINECALLS_H
#define LAYLINE_RUNTIME_DEVICES_CPU_ENGINECALLS_H

#include "devices/cpu/RankContext.h"

#include <cstdint>

namespace layline::runtime {

/// c[m, n] = a[m, k] w[n, k]^T for a weight of a step.
template <typename T> struct WeightProduct {
  const Operand &weight;
  std::int64_t expert; ///< of a stack; -1: not of one
  std::int64_t m, n, k;
  const T *a; ///< rows k apart
  const T *w; ///< rows k apart
  T *c;       ///< rows n apart
};

/// By the engine's function, else by BLAS. Throws Error for what the function
/// returns.
template <typename T>
void multiplyWeight(const RankContext<T> &context, const Step &step,
                    const WeightProduct<T> &product);

/// False where the engine has no function or it declines. Throws Error.
template <typename T>
bool attendByEngine(RankContext<T> &context, const Step &step);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_ENGINECALLS_H
