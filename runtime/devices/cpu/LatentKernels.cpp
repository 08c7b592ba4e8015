#include "devices/cpu/AttentionRows.h"
#include "devices/cpu/Kernels.h"

#include <algorithm>
#include <numeric>

namespace layline::runtime {
namespace {

/// Scores of keys that a selection does not name become those of keys that
/// nobody sees.
template <typename T>
void dropUnselected(T *scores, std::int64_t keys, const std::int64_t *selection,
                    std::int64_t count, std::vector<bool> &isSelected) {
  isSelected.assign(static_cast<std::size_t>(keys), false);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t row = selection[i];
    if (row >= keys)
      fail(LAYLINE_RUN_FAILURE, "selects row ", row, " of ", keys, " keys");
    if (row >= 0)
      isSelected[static_cast<std::size_t>(row)] = true;
  }
  for (std::int64_t s = 0; s < keys; ++s)
    if (!isSelected[static_cast<std::size_t>(s)])
      scores[s] = -std::numeric_limits<T>::infinity();
}

} // namespace

/// Keys and values of a head are made of the latent rows, once.
template <typename T>
void latentAttention(RankContext<T> &context, const Step &step) {
  auto nope = context.floats(step.arg("query_nope"));
  auto rope = context.floats(step.arg("query_rope"));
  auto output = context.floats(step.arg("output"));
  auto positions = context.integers(step.arg("positions"));
  auto keyUp = context.weight(step.arg("key_up"));
  auto valueUp = context.weight(step.arg("value_up"));
  const CacheStore &latentRows = context.cache(step.arg("latent"));
  Scratch<T> &scratch = context.scratch;
  const T *latent = latentRows.dense(scratch.keys),
          *ropeKey = context.cache(step.arg("rope_key")).dense(scratch.values);
  const std::int64_t *keyPositions =
      context.cache(step.arg("key_positions")).dense(scratch.keyPositions);
  const Operand *selectionOperand = step.find("selection");
  Tensor<std::int64_t> selection;
  if (selectionOperand)
    selection = context.integers(*selectionOperand);
  std::int64_t rows = nope.dim(0), heads = nope.dim(1), width = nope.dim(2),
               rotary = rope.dim(2), valueWidth = output.dim(2),
               in = latentRows.rowElements(), keys = latentRows.rows();
  auto size = [](std::int64_t a, std::int64_t b) {
    return static_cast<std::size_t>(a * b);
  };
  std::vector<T> k(size(keys, width)), v(size(keys, valueWidth)),
      rotated(size(std::min(rows, kQueryBlock), keys));
  std::vector<bool> isSelected;
  for (std::int64_t h = 0; h < heads; ++h) {
    multiplyTransposed(keys, width, in, 1.0, latent, in,
                       keyUp.data + h * width * in, in, k.data(), width);
    multiplyTransposed(keys, valueWidth, in, 1.0, latent, in,
                       valueUp.data + h * valueWidth * in, in, v.data(),
                       valueWidth);
    AttentionRows<T> of{
        step.attrs,         rows,         keys,
        positions.data,     keyPositions, v.data(),
        valueWidth,         valueWidth,   output.data + h * valueWidth,
        heads * valueWidth, nullptr};
    attend(of, scratch.scores,
           [&](std::int64_t begin, std::int64_t count, T *scores) {
             multiplyTransposed(count, keys, width, step.attrs.scale,
                                nope.data + (begin * heads + h) * width,
                                heads * width, k.data(), width, scores, keys);
             multiplyTransposed(count, keys, rotary, step.attrs.scale,
                                rope.data + (begin * heads + h) * rotary,
                                heads * rotary, ropeKey, rotary, rotated.data(),
                                keys);
             for (std::int64_t t = 0; t < count; ++t) {
               T *row = scores + t * keys;
               for (std::int64_t s = 0; s < keys; ++s)
                 row[s] += rotated[size(t, keys) + static_cast<std::size_t>(s)];
               if (selectionOperand)
                 dropUnselected(row, keys,
                                selection.data + (begin + t) * selection.last(),
                                selection.last(), isSelected);
             }
           });
  }
}

template <typename T> void indexer(RankContext<T> &context, const Step &step) {
  auto query = context.floats(step.arg("query"));
  auto weights = context.floats(step.arg("weights"));
  auto positions = context.integers(step.arg("positions"));
  auto selection = context.integers(step.arg("selection"));
  auto scores = context.floats(step.arg("scores"));
  const CacheStore &keyRows = context.cache(step.arg("keys"));
  const T *keys = keyRows.dense(context.scratch.keys);
  const std::int64_t *keyPositions = context.cache(step.arg("key_positions"))
                                         .dense(context.scratch.keyPositions);
  std::int64_t rows = query.dim(0), heads = query.dim(1), width = query.dim(2),
               count = keyRows.rows(), topK = step.attrs.topK;
  auto scale = static_cast<T>(step.attrs.scale);
  std::vector<T> products(static_cast<std::size_t>(heads * count)),
      sums(static_cast<std::size_t>(count));
  std::vector<std::int64_t> order;
  for (std::int64_t t = 0; t < rows; ++t) {
    multiplyTransposed(heads, count, width, 1.0, query.data + t * heads * width,
                       width, keys, width, products.data(), count);
    std::fill(sums.begin(), sums.end(), T(0));
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t s = 0; s < count; ++s)
        sums[s] += weights.data[t * heads + h] * scale *
                   std::max(T(0), products[h * count + s]);
    order.clear();
    for (std::int64_t s = 0; s < count; ++s)
      if (isVisible(step.attrs, positions.data[t], keyPositions[s]))
        order.push_back(s);
    auto taken = std::min<std::ptrdiff_t>(
        topK, static_cast<std::ptrdiff_t>(order.size()));
    std::partial_sort(order.begin(), order.begin() + taken, order.end(),
                      [&](std::int64_t a, std::int64_t b) {
                        return sums[a] != sums[b] ? sums[a] > sums[b] : a < b;
                      });
    for (std::int64_t k = 0; k < topK; ++k) {
      bool isThere = k < taken;
      selection.data[t * topK + k] = isThere ? order[k] : -1;
      scores.data[t * topK + k] = isThere ? sums[order[k]] : T(0);
    }
  }
}

LAYLINE_INSTANTIATE(latentAttention)
LAYLINE_INSTANTIATE(indexer)

} // namespace layline::runtime
