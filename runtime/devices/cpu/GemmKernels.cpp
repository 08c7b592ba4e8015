#include "devices/cpu/EngineCalls.h"
#include "devices/cpu/Kernels.h"

#include <algorithm>

namespace layline::runtime {

template <typename T>
void embedding(RankContext<T> &context, const Step &step) {
  auto ids = context.integers(step.arg("ids"));
  auto table = context.weight(step.arg("weight"));
  auto output = context.floats(step.arg("output"));
  std::int64_t vocabulary = step.arg("weight").shape[0].value;
  std::int64_t first = context.begin(step.arg("weight"), 0);
  std::int64_t width = table.last();
  for (std::int64_t t = 0; t < ids.count(); ++t) {
    std::int64_t id = ids.data[t];
    if (id < 0 || id >= vocabulary)
      fail(LAYLINE_RUN_FAILURE, "token id ", id, " of row ", t,
           " is outside the vocabulary of ", vocabulary);
    T *row = output.data + t * width;
    if (id >= first && id < first + table.dim(0))
      std::copy_n(table.data + (id - first) * width, width, row);
    else
      std::fill_n(row, width, T(0));
  }
}

template <typename T> void linear(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto weight = context.weight(step.arg("weight"));
  auto output = context.floats(step.arg("output"));
  std::int64_t rows = output.rows(), in = weight.dim(1), out = weight.dim(0);
  multiplyWeight<T>(context, step,
                    {step.arg("weight"), -1, rows, out, in, input.data,
                     weight.data, output.data});
  if (const Operand *bias = step.find("bias")) {
    auto offset = context.weight(*bias);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t o = 0; o < out; ++o)
        output.data[r * out + o] += offset.data[o];
  }
}

LAYLINE_INSTANTIATE(embedding)
LAYLINE_INSTANTIATE(linear)

} // namespace layline::runtime
