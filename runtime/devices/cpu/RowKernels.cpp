#include "devices/cpu/Kernels.h"

#include <algorithm>
#include <cmath>

namespace layline::runtime {

template <typename T> void norm(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto output = context.floats(step.arg("output"));
  auto weight = context.weight(step.arg("weight"));
  const Operand *biasOperand = step.find("bias");
  Tensor<const T> bias;
  std::int64_t width = input.last();
  if (biasOperand)
    bias = context.weight(*biasOperand);
  bool isRms = step.attrs.norm == NormKind::Rms;
  auto eps = static_cast<T>(step.attrs.eps),
       offset = static_cast<T>(step.attrs.weightOffset);
  // A weight of more than one row belongs to the last dimensions together: row
  // r of the input meets row r mod weightRows of it.
  std::int64_t weightRows = weight.rows(),
               biasRows = biasOperand ? bias.rows() : 1;
  std::int64_t rows = width == 0 ? 0 : input.rows();
  for (std::int64_t r = 0; r < rows; ++r) {
    const T *x = input.data + r * width;
    T *y = output.data + r * width;
    const T *w = weight.data + r % weightRows * width;
    T mean = 0, squares = 0;
    if (!isRms) {
      for (std::int64_t i = 0; i < width; ++i)
        mean += x[i];
      mean /= static_cast<T>(width);
    }
    for (std::int64_t i = 0; i < width; ++i)
      squares += (x[i] - mean) * (x[i] - mean);
    T inverse = T(1) / std::sqrt(squares / static_cast<T>(width) + eps);
    const T *b = biasOperand ? bias.data + r % biasRows * width : nullptr;
    for (std::int64_t i = 0; i < width; ++i)
      y[i] = (x[i] - mean) * inverse * (offset + w[i]) + (b ? b[i] : T(0));
  }
}

/// The angles are taken in double in both precisions: a position times a
/// frequency loses all fraction bits of a float at long contexts.
template <typename T> void rope(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto output = context.floats(step.arg("output"));
  auto positions = context.integers(step.arg("positions"));
  const Table &table = context.run->plan->tables[step.arg("table").index];
  const RopeNumbers *numbers = &table.numbers;
  if (table.longNumbers) {
    int source = context.run->inputOfBuffer[step.arg("positions").index];
    if (context.run->largestOfInput[source] >= table.longAbove)
      numbers = &*table.longNumbers;
  }
  std::int64_t rows = input.dim(0), heads = input.dim(1), width = input.dim(2);
  std::int64_t rotary = step.attrs.rotary, pairs = rotary / 2;
  bool isHalf = step.attrs.style == RopeStyle::Half;
  std::vector<T> cosines(static_cast<std::size_t>(pairs)),
      sines(cosines.size());
  for (std::int64_t t = 0; t < rows; ++t) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      double angle =
          static_cast<double>(positions.data[t]) * numbers->invFreq[i];
      cosines[i] = static_cast<T>(std::cos(angle) * numbers->attentionFactor);
      sines[i] = static_cast<T>(std::sin(angle) * numbers->attentionFactor);
    }
    for (std::int64_t h = 0; h < heads; ++h) {
      const T *x = input.data + (t * heads + h) * width;
      T *y = output.data + (t * heads + h) * width;
      for (std::int64_t i = 0; i < pairs; ++i) {
        std::int64_t a = isHalf ? i : 2 * i, b = isHalf ? i + pairs : 2 * i + 1;
        T xa = x[a], xb = x[b];
        y[a] = xa * cosines[i] - xb * sines[i];
        y[b] = xb * cosines[i] + xa * sines[i];
      }
      if (x != y)
        std::copy(x + rotary, x + width, y + rotary);
    }
  }
}

template <typename T> void router(RankContext<T> &context, const Step &step) {
  auto logits = context.floats(step.arg("logits"));
  auto ids = context.integers(step.arg("ids"));
  auto weights = context.floats(step.arg("weights"));
  std::int64_t count = logits.last(), topK = step.attrs.topK;
  std::vector<T> scores(static_cast<std::size_t>(count));
  std::vector<bool> taken;
  for (std::int64_t t = 0; t < logits.dim(0); ++t) {
    const T *x = logits.data + t * count;
    for (std::int64_t e = 0; e < count; ++e)
      if (std::isnan(x[e]))
        fail(LAYLINE_RUN_FAILURE, "router logit ", e, " of row ", t,
             " is not a number");
    if (step.attrs.scoring == Scoring::Sigmoid) {
      for (std::int64_t e = 0; e < count; ++e)
        scores[e] = T(1) / (T(1) + std::exp(-x[e]));
    } else {
      T largest = *std::max_element(x, x + count), sum = 0;
      for (std::int64_t e = 0; e < count; ++e)
        sum += scores[e] = std::exp(x[e] - largest);
      for (T &score : scores)
        score /= sum;
    }
    taken.assign(static_cast<std::size_t>(count), false);
    T sum = 0;
    for (std::int64_t k = 0; k < topK; ++k) {
      std::int64_t best = -1;
      for (std::int64_t e = 0; e < count; ++e)
        if (!taken[e] && (best < 0 || scores[e] > scores[best]))
          best = e;
      taken[best] = true;
      ids.data[t * topK + k] = best;
      weights.data[t * topK + k] = scores[best];
      sum += scores[best];
    }
    for (std::int64_t k = 0; k < topK; ++k) {
      T &weight = weights.data[t * topK + k];
      if (step.attrs.renormalize)
        weight /= sum;
      weight *= static_cast<T>(step.attrs.scale);
    }
  }
}

LAYLINE_INSTANTIATE(norm)
LAYLINE_INSTANTIATE(rope)
LAYLINE_INSTANTIATE(router)

} // namespace layline::runtime
