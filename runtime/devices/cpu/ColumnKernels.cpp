#include "devices/cpu/Kernels.h"

#include <algorithm>

namespace layline::runtime {

template <typename T>
void sliceColumns(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto output = context.floats(step.arg("output"));
  std::int64_t width = output.last();
  for (std::int64_t r = 0, rows = output.rows(); r < rows; ++r)
    std::copy_n(input.data + r * input.last() + step.attrs.begin, width,
                output.data + r * width);
}

template <typename T>
void concatColumns(RankContext<T> &context, const Step &step) {
  auto output = context.floats(step.arg("output"));
  std::int64_t rows = output.rows();
  T *to = output.data;
  for (const Operand &operand : step.list("inputs")) {
    auto input = context.floats(operand);
    std::int64_t width = input.last();
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(input.data + r * width, width, to + r * output.last());
    to += width;
  }
}

template <typename T> void rowScale(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto scales = context.floats(step.arg("scales"));
  auto output = context.floats(step.arg("output"));
  std::int64_t width = output.last();
  for (std::int64_t r = 0, rows = output.rows(); r < rows; ++r)
    for (std::int64_t i = 0; i < width; ++i)
      output.data[r * width + i] = input.data[r * width + i] * scales.data[r];
}

LAYLINE_INSTANTIATE(sliceColumns)
LAYLINE_INSTANTIATE(concatColumns)
LAYLINE_INSTANTIATE(rowScale)

} // namespace layline::runtime
