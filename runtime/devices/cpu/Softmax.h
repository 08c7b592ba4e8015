// The softmax of one query row of attention.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_SOFTMAX_H
#define LAYLINE_RUNTIME_DEVICES_CPU_SOFTMAX_H

#include "devices/cpu/Functions.h"
#include "plan/Error.h"
#include "plan/StepKind.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace layline::runtime {

/// Whether the mask of an attention lets a position see a key's.
inline bool isVisible(const StepAttributes &attrs, std::int64_t position,
                      std::int64_t key) {
  return (!attrs.causal || key <= position) &&
         (!attrs.window || position - key < *attrs.window);
}

/// Turns the scores of one query row into weights: capped, masked,
/// exponentiated relative to the largest, divided by their sum. A sink is one
/// more score.
template <typename T>
void softmax(T *scores, const std::int64_t *keyPositions, std::int64_t keys,
             std::int64_t position, std::int64_t row,
             const StepAttributes &attrs, const T *sink) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  T largest = kHidden;
  for (std::int64_t s = 0; s < keys; ++s) {
    if (!isVisible(attrs, position, keyPositions[s]))
      scores[s] = kHidden;
    else if (attrs.softcap)
      scores[s] = applySoftcap(static_cast<T>(*attrs.softcap), scores[s]);
    largest = std::max(largest, scores[s]);
  }
  if (largest == kHidden)
    fail(LAYLINE_RUN_FAILURE, "query row ", row, " at position ", position,
         " sees no key");
  if (sink)
    largest = std::max(largest, *sink);
  T sum = sink ? std::exp(*sink - largest) : T(0);
  for (std::int64_t s = 0; s < keys; ++s)
    sum += scores[s] = std::exp(scores[s] - largest);
  for (std::int64_t s = 0; s < keys; ++s)
    scores[s] /= sum;
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_SOFTMAX_H
