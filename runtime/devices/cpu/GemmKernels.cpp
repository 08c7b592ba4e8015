#include "devices/cpu/Blas.h"
#include "devices/cpu/Functions.h"
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
  multiplyTransposed(rows, out, in, 1.0, input.data, in, weight.data, in,
                     output.data, out);
  if (const Operand *bias = step.find("bias")) {
    auto offset = context.weight(*bias);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t o = 0; o < out; ++o)
        output.data[r * out + o] += offset.data[o];
  }
}

namespace {

struct Assignment {
  std::int64_t token, slot;
};

} // namespace

/// Tokens grouped by expert, three products per expert. Experts of other ranks
/// are skipped: the output owes their sum.
template <typename T> void experts(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto ids = context.integers(step.arg("ids"));
  auto weights = context.floats(step.arg("weights"));
  auto gate = context.weight(step.arg("gate"));
  auto up = context.weight(step.arg("up"));
  auto down = context.weight(step.arg("down"));
  auto output = context.floats(step.arg("output"));
  std::int64_t count = step.arg("gate").shape[0].value;
  std::int64_t first = context.begin(step.arg("gate"), 0);
  std::int64_t local = gate.dim(0), inner = gate.dim(1), in = gate.dim(2),
               out = down.dim(1), slots = ids.last();

  std::vector<std::vector<Assignment>> assigned(
      static_cast<std::size_t>(local));
  for (std::int64_t t = 0; t < ids.dim(0); ++t)
    for (std::int64_t k = 0; k < slots; ++k) {
      std::int64_t expert = ids.data[t * slots + k];
      if (expert < 0 || expert >= count)
        fail(LAYLINE_RUN_FAILURE, "expert id ", expert, " of row ", t,
             " is outside the ", count, " experts");
      if (expert >= first && expert < first + local)
        assigned[static_cast<std::size_t>(expert - first)].push_back({t, k});
    }

  std::fill_n(output.data, output.count(), T(0));
  std::vector<T> x, g, u, y;
  for (std::int64_t e = 0; e < local; ++e) {
    const std::vector<Assignment> &list = assigned[static_cast<std::size_t>(e)];
    auto rows = static_cast<std::int64_t>(list.size());
    if (rows == 0)
      continue;
    x.resize(static_cast<std::size_t>(rows * in));
    g.resize(static_cast<std::size_t>(rows * inner));
    u.resize(g.size());
    y.resize(static_cast<std::size_t>(rows * out));
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(input.data + list[r].token * in, in, x.data() + r * in);
    multiplyTransposed(rows, inner, in, 1.0, x.data(), in,
                       gate.data + e * inner * in, in, g.data(), inner);
    multiplyTransposed(rows, inner, in, 1.0, x.data(), in,
                       up.data + e * inner * in, in, u.data(), inner);
    for (std::size_t i = 0; i < g.size(); ++i)
      g[i] = applyFunction(step.attrs.function, g[i]) * u[i];
    multiplyTransposed(rows, out, inner, 1.0, g.data(), inner,
                       down.data + e * out * inner, inner, y.data(), out);
    for (std::int64_t r = 0; r < rows; ++r) {
      T weight = weights.data[list[r].token * slots + list[r].slot];
      T *row = output.data + list[r].token * out;
      for (std::int64_t o = 0; o < out; ++o)
        row[o] += weight * y[static_cast<std::size_t>(r * out + o)];
    }
  }
}

LAYLINE_INSTANTIATE(embedding)
LAYLINE_INSTANTIATE(linear)
LAYLINE_INSTANTIATE(experts)

} // namespace layline::runtime
