// The query rows of one head, block by block: scores, softmax, values. What the
// kinds of attention differ in is how scores are made.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_ATTENTIONROWS_H
#define LAYLINE_RUNTIME_DEVICES_CPU_ATTENTIONROWS_H

#include "devices/cpu/Blas.h"
#include "devices/cpu/Softmax.h"

#include <algorithm>
#include <vector>

namespace layline::runtime {

/// What the query rows of one head attend to, and where their results go.
/// Strides are elements from row to row.
template <typename T> struct AttentionRows {
  const StepAttributes &attrs;
  std::int64_t rows, keys;
  const std::int64_t *positions;    ///< of the query rows
  const std::int64_t *keyPositions; ///< of the keys
  const T *values;
  std::int64_t valueWidth, valueStride;
  T *output;
  std::int64_t outputStride;
  const T *sink; ///< null: none
};

/// Bounds the scores kept at once; large enough for products to be efficient.
constexpr std::int64_t kQueryBlock = 64;

/// `score(begin, count, scores)` fills [count, keys] with the scores of the
/// query rows from `begin` on. `scores` is the memory for them.
template <typename T, typename Score>
void attend(const AttentionRows<T> &of, std::vector<T> &scores,
            const Score &score) {
  scores.resize(
      static_cast<std::size_t>(std::min(of.rows, kQueryBlock) * of.keys));
  for (std::int64_t begin = 0; begin < of.rows; begin += kQueryBlock) {
    std::int64_t count = std::min(kQueryBlock, of.rows - begin);
    score(begin, count, scores.data());
    for (std::int64_t t = 0; t < count; ++t)
      softmax(scores.data() + t * of.keys, of.keyPositions, of.keys,
              of.positions[begin + t], begin + t, of.attrs, of.sink);
    multiply(count, of.valueWidth, of.keys, scores.data(), of.keys, of.values,
             of.valueStride, of.output + begin * of.outputStride,
             of.outputStride);
  }
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_ATTENTIONROWS_H
