#include "devices/cpu/Functions.h"
#include "devices/cpu/Kernels.h"

#include <algorithm>

namespace layline::runtime {

template <typename T>
void activation(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto output = context.floats(step.arg("output"));
  for (std::int64_t i = 0, n = output.count(); i < n; ++i)
    output.data[i] = applyFunction(step.attrs.function, input.data[i]);
}

template <typename T>
void gatedActivation(RankContext<T> &context, const Step &step) {
  auto gate = context.floats(step.arg("gate"));
  auto up = context.floats(step.arg("up"));
  auto output = context.floats(step.arg("output"));
  for (std::int64_t i = 0, n = output.count(); i < n; ++i)
    output.data[i] =
        applyFunction(step.attrs.function, gate.data[i]) * up.data[i];
}

namespace {

/// Combines all inputs element by element, in their order. All are read before
/// the output is written, which may be one of them.
template <typename T, typename Combine>
void combine(RankContext<T> &context, const Step &step, const Combine &with) {
  auto output = context.floats(step.arg("output"));
  std::vector<const T *> inputs;
  for (const Operand &input : step.list("inputs"))
    inputs.push_back(context.floats(input).data);
  for (std::int64_t i = 0, n = output.count(); i < n; ++i) {
    T value = inputs.front()[i];
    for (std::size_t j = 1; j < inputs.size(); ++j)
      value = with(value, inputs[j][i]);
    output.data[i] = value;
  }
}

template <typename T, typename Element>
void copyWhole(RankContext<T> &context, const Step &step) {
  auto input = context.template tensor<Element>(step.arg("input"));
  auto output = context.template tensor<Element>(step.arg("output"));
  if (input.data != output.data)
    std::copy_n(input.data, output.count(), output.data);
}

template <typename T, typename Element>
void copyPart(RankContext<T> &context, const Step &step) {
  auto input = context.template tensor<Element>(step.arg("input"));
  auto output = context.template tensor<Element>(step.arg("output"));
  auto dim = static_cast<std::size_t>(step.attrs.dim);
  Region region = wholeRegion(input.shape);
  const DimLayout &part = step.arg("output").layout.dims[dim];
  region[dim] = context.own(part);
  // First readers are numbered as in the whole dimension, of which the input
  // has those that the rank reads.
  if (context.run->plan->ranges[part.range].kind == Range::Kind::FirstReaders)
    for (Part &run : region[dim])
      run.begin -= context.begin(step.arg("input"), dim);
  forEachRun(input.shape, region,
             [&](std::int64_t to, std::int64_t from, std::int64_t count) {
               std::copy_n(input.data + from, count, output.data + to);
             });
}

} // namespace

template <typename T> void add(RankContext<T> &context, const Step &step) {
  combine(context, step, [](T a, T b) { return a + b; });
}

template <typename T> void mul(RankContext<T> &context, const Step &step) {
  combine(context, step, [](T a, T b) { return a * b; });
}

template <typename T> void addBias(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto bias = context.weight(step.arg("bias"));
  auto output = context.floats(step.arg("output"));
  std::int64_t width = output.last();
  for (std::int64_t r = 0, rows = output.rows(); r < rows; ++r)
    for (std::int64_t o = 0; o < width; ++o)
      output.data[r * width + o] = input.data[r * width + o] + bias.data[o];
}

template <typename T> void scale(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto output = context.floats(step.arg("output"));
  auto factor = static_cast<T>(step.attrs.factor);
  for (std::int64_t i = 0, n = output.count(); i < n; ++i)
    output.data[i] = input.data[i] * factor;
}

template <typename T> void softcap(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto output = context.floats(step.arg("output"));
  auto cap = static_cast<T>(step.attrs.cap);
  for (std::int64_t i = 0, n = output.count(); i < n; ++i)
    output.data[i] = applySoftcap(cap, input.data[i]);
}

// The engine has one floating-point and one integer type: a cast between
// storage types moves the value unchanged.
template <typename T> void cast(RankContext<T> &context, const Step &step) {
  if (isInteger(step.arg("input").dtype))
    copyWhole<T, std::int64_t>(context, step);
  else
    copyWhole<T, T>(context, step);
}

template <typename T> void slice(RankContext<T> &context, const Step &step) {
  if (isInteger(step.arg("input").dtype))
    copyPart<T, std::int64_t>(context, step);
  else
    copyPart<T, T>(context, step);
}

LAYLINE_INSTANTIATE(activation)
LAYLINE_INSTANTIATE(gatedActivation)
LAYLINE_INSTANTIATE(add)
LAYLINE_INSTANTIATE(addBias)
LAYLINE_INSTANTIATE(mul)
LAYLINE_INSTANTIATE(scale)
LAYLINE_INSTANTIATE(softcap)
LAYLINE_INSTANTIATE(cast)
LAYLINE_INSTANTIATE(slice)

} // namespace layline::runtime
