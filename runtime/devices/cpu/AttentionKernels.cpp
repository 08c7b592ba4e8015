#include "devices/cpu/AttentionRows.h"
#include "devices/cpu/Kernels.h"

#include <algorithm>

namespace layline::runtime {
namespace {

template <typename T, typename Element>
void append(RankContext<T> &context, const Step &step) {
  auto input = context.template tensor<Element>(step.arg("input"));
  CacheStore<T> &cache = context.cache(step.arg("cache"));
  cache.resize(context.run->past + context.run->tokens,
               std::is_same_v<Element, std::int64_t>);
  std::copy_n(input.data, input.count(),
              cache.template values<Element>().begin() +
                  context.run->past * cache.rowElements);
}

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
  auto query = context.floats(step.arg("query"));
  auto output = context.floats(step.arg("output"));
  auto positions = context.integers(step.arg("positions"));
  const CacheStore<T> &keys = context.cache(step.arg("keys"));
  const CacheStore<T> &values = context.cache(step.arg("values"));
  const CacheStore<T> &keyPositions = context.cache(step.arg("key_positions"));
  const Operand *sinks = step.find("sinks");
  Tensor<const T> sinkLogits;
  if (sinks)
    sinkLogits = context.weight(*sinks);
  std::int64_t rows = query.dim(0), heads = query.dim(1), width = query.dim(2),
               valueWidth = output.dim(2), keyRows = keyPositions.rows;
  std::int64_t perKeyHead = step.attrs.heads / step.attrs.kvHeads;
  std::int64_t firstHead = context.begin(step.arg("query"), 1),
               firstKeyHead = context.begin(step.arg("keys"), 1),
               firstValueHead = context.begin(step.arg("values"), 1);
  for (std::int64_t h = 0; h < heads; ++h) {
    std::int64_t keyHead = (firstHead + h) / perKeyHead;
    const T *k = keys.floats.data() + (keyHead - firstKeyHead) * width;
    const T *v = values.floats.data() + (keyHead - firstValueHead) * valueWidth;
    AttentionRows<T> of{step.attrs,
                        rows,
                        keyRows,
                        positions.data,
                        keyPositions.integers.data(),
                        v,
                        valueWidth,
                        values.rowElements,
                        output.data + h * valueWidth,
                        heads * valueWidth,
                        sinks ? sinkLogits.data + h : nullptr};
    attend(of, [&](std::int64_t begin, std::int64_t count, T *scores) {
      multiplyTransposed(count, keyRows, width, step.attrs.scale,
                         query.data + (begin * heads + h) * width,
                         heads * width, k, keys.rowElements, scores, keyRows);
    });
  }
}

LAYLINE_INSTANTIATE(cacheAppend)
LAYLINE_INSTANTIATE(attention)

} // namespace layline::runtime
