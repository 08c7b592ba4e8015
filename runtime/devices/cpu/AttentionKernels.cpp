#include "devices/cpu/AttentionRows.h"
#include "devices/cpu/EngineCalls.h"
#include "devices/cpu/Kernels.h"
#include "devices/cpu/Rounding.h"

#include <algorithm>

namespace layline::runtime {
namespace {

template <typename T, typename Element>
void append(RankContext<T> &context, const Step &step) {
  auto input = context.template tensor<Element>(step.arg("input"));
  CacheStore &cache = context.cache(step.arg("cache"));
  const Element *rows = input.data;
  // What leaves a step is rounded; a cache of the engine's takes it at once.
  if constexpr (std::is_same_v<Element, T>)
    if (isRounded(context.run->precision, step.arg("cache").dtype)) {
      std::vector<T> &rounded = context.scratch.rows;
      rounded.assign(rows, rows + input.count());
      roundToBF16(rounded.data(), input.count());
      rows = rounded.data();
    }
  cache.resize(context.run->past + context.run->tokens);
  cache.write(context.run->past, context.run->tokens, rows);
}

/// Sums of products in eight lanes, which compilers keep in vectors; the same
/// order for equal widths.
template <typename T> T dot(const T *a, const T *b, std::int64_t width) {
  T lanes[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= width; i += 8)
    for (int lane = 0; lane < 8; ++lane)
      lanes[lane] += a[i + lane] * b[i + lane];
  for (int lane = 0; i < width; ++i, ++lane)
    lanes[lane] += a[i] * b[i];
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/// One step's attention on one rank.
template <typename T> struct Attention {
  RankContext<T> &context;
  const Step &step;
  Tensor<T> query = context.floats(step.arg("query"));
  Tensor<T> output = context.floats(step.arg("output"));
  const std::int64_t *positions = context.integers(step.arg("positions")).data;
  const CacheStore &keys = context.cache(step.arg("keys"));
  const CacheStore &values = context.cache(step.arg("values"));
  const std::int64_t *keyPositions = context.cache(step.arg("key_positions"))
                                         .dense(context.scratch.keyPositions);
  std::int64_t rows = query.dim(0), heads = query.dim(1), width = query.dim(2),
               valueWidth = output.dim(2), keyRows = keys.rows();

  /// Which item of a row of `operand` query head h reads.
  std::int64_t itemOf(const char *operand, std::int64_t h) const {
    std::int64_t perKeyHead = step.attrs.heads / step.attrs.kvHeads;
    return (context.begin(step.arg("query"), 1) + h) / perKeyHead -
           context.begin(step.arg(operand), 1);
  }
  /// The logit of head h beside those of the keys; null: none.
  const T *sink(std::int64_t h) const {
    const Operand *sinks = step.find("sinks");
    return sinks ? context.weight(*sinks).data + h : nullptr;
  }

  void byBlocks() const;
  void byRows() const;
};

/// Products of blocks of query rows with all keys.
template <typename T> void Attention<T>::byBlocks() const {
  Scratch<T> &scratch = context.scratch;
  const T *allKeys = keys.dense(scratch.keys),
          *allValues = values.dense(scratch.values);
  for (std::int64_t h = 0; h < heads; ++h) {
    const T *k = allKeys + itemOf("keys", h) * width;
    const T *v = allValues + itemOf("values", h) * valueWidth;
    AttentionRows<T> of{step.attrs,
                        rows,
                        keyRows,
                        positions,
                        keyPositions,
                        v,
                        valueWidth,
                        values.rowElements(),
                        output.data + h * valueWidth,
                        heads * valueWidth,
                        sink(h)};
    attend(of, scratch.scores,
           [&](std::int64_t begin, std::int64_t count, T *scores) {
             multiplyTransposed(count, keyRows, width, step.attrs.scale,
                                query.data + (begin * heads + h) * width,
                                heads * width, k, keys.rowElements(), scores,
                                keyRows);
           });
  }
}

/// Row by row where the keys lie, in pages too: every key and value is read
/// once, which is all that few query rows cost.
template <typename T> void Attention<T>::byRows() const {
  Scratch<T> &scratch = context.scratch;
  layline_pages keyPages = keys.pages(scratch.keys),
                valuePages = values.pages(scratch.values);
  scratch.scores.resize(static_cast<std::size_t>(keyRows));
  T *scores = scratch.scores.data();
  auto scale = static_cast<T>(step.attrs.scale);
  for (std::int64_t t = 0; t < rows; ++t)
    for (std::int64_t h = 0; h < heads; ++h) {
      const T *q = query.data + (t * heads + h) * width;
      T *y = output.data + (t * heads + h) * valueWidth;
      std::int64_t keyItem = itemOf("keys", h), valueItem = itemOf("values", h);
      forEachRow<const T>(keyPages, keyRows, keyItem,
                          [&](std::int64_t s, const T *key) {
                            scores[s] = scale * dot(q, key, width);
                          });
      softmax(scores, keyPositions, keyRows, positions[t], t, step.attrs,
              sink(h));
      std::fill_n(y, valueWidth, T(0));
      forEachRow<const T>(valuePages, keyRows, valueItem,
                          [&](std::int64_t s, const T *value) {
                            for (std::int64_t i = 0; i < valueWidth; ++i)
                              y[i] += scores[s] * value[i];
                          });
    }
}

/// From so many query rows on, products of blocks pay for themselves.
constexpr std::int64_t kFewRows = 4;

} // namespace

template <typename T>
void cacheAppend(RankContext<T> &context, const Step &step) {
  if (isInteger(step.arg("input").dtype))
    append<T, std::int64_t>(context, step);
  else
    append<T, T>(context, step);
}

template <typename T>
void attention(RankContext<T> &context, const Step &step) {
  if (attendByEngine(context, step))
    return;
  Attention<T> of{context, step};
  if (of.rows < kFewRows)
    of.byRows();
  else
    of.byBlocks();
}

LAYLINE_INSTANTIATE(cacheAppend)
LAYLINE_INSTANTIATE(attention)

} // namespace layline::runtime
