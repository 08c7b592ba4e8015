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

template <typename T>
void rowSquares(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto output = context.floats(step.arg("output"));
  // A rank without features has addends of zero.
  std::int64_t rows = input.dim(0), width = input.last();
  for (std::int64_t r = 0; r < rows; ++r) {
    const T *x = input.data + r * width;
    T squares = 0;
    for (std::int64_t i = 0; i < width; ++i)
      squares += x[i] * x[i];
    output.data[r] = squares;
  }
}

template <typename T> void normBy(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto statistics = context.floats(step.arg("statistics"));
  auto output = context.floats(step.arg("output"));
  auto weight = context.weight(step.arg("weight"));
  auto count = static_cast<T>(step.attrs.width);
  auto eps = static_cast<T>(step.attrs.eps);
  std::int64_t rows = input.dim(0), width = input.last();
  for (std::int64_t r = 0; r < rows; ++r) {
    const T *x = input.data + r * width;
    T *y = output.data + r * width;
    T inverse = T(1) / std::sqrt(statistics.data[r] / count + eps);
    for (std::int64_t i = 0; i < width; ++i)
      y[i] = x[i] * inverse * weight.data[i];
  }
}

/// The angles are taken in double in both precisions: a position times a
/// frequency loses all fraction bits of a float at long contexts.
template <typename T> void rope(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto output = context.floats(step.arg("output"));
  auto positions = context.integers(step.arg("positions"));
  const RopeNumbers &numbers = context.ropeNumbers(step);
  std::int64_t rows = input.dim(0), heads = input.dim(1), width = input.dim(2);
  std::int64_t rotary = step.attrs.rotary, pairs = rotary / 2;
  bool fromHalf = step.attrs.style == RopeStyle::Half,
       toHalf = step.attrs.style != RopeStyle::Interleaved;
  std::vector<T> head(static_cast<std::size_t>(rotary));
  std::vector<T> cosines(static_cast<std::size_t>(pairs)),
      sines(cosines.size());
  for (std::int64_t t = 0; t < rows; ++t) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      double angle =
          static_cast<double>(positions.data[t]) * numbers.invFreq[i];
      cosines[i] = static_cast<T>(std::cos(angle) * numbers.attentionFactor);
      sines[i] = static_cast<T>(std::sin(angle) * numbers.attentionFactor);
    }
    for (std::int64_t h = 0; h < heads; ++h) {
      const T *x = input.data + (t * heads + h) * width;
      T *y = output.data + (t * heads + h) * width;
      // Pairs may come out in other places than they stand in, perhaps of the
      // same buffer.
      std::copy_n(x, rotary, head.data());
      for (std::int64_t i = 0; i < pairs; ++i) {
        T xa = head[fromHalf ? i : 2 * i],
          xb = head[fromHalf ? i + pairs : 2 * i + 1];
        y[toHalf ? i : 2 * i] = xa * cosines[i] - xb * sines[i];
        y[toHalf ? i + pairs : 2 * i + 1] = xb * cosines[i] + xa * sines[i];
      }
      if (x != y)
        std::copy(x + rotary, x + width, y + rotary);
    }
  }
}

LAYLINE_INSTANTIATE(norm)
LAYLINE_INSTANTIATE(rowSquares)
LAYLINE_INSTANTIATE(normBy)
LAYLINE_INSTANTIATE(rope)

} // namespace layline::runtime
