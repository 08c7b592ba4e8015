#include "devices/cpu/Kernels.h"
#include "devices/cpu/NarrowFormat.h"

namespace layline::runtime {

/// A rank has whole groups, so that its columns of scales tell their width.
template <typename T> void quantize(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto values = context.floats(step.arg("values"));
  auto scales = context.floats(step.arg("scales"));
  NarrowFormat format = formatOf(step.attrs.format);
  std::int64_t groups = scales.count();
  std::int64_t width = groups == 0 ? 0 : input.count() / groups;
  for (std::int64_t g = 0; g < groups; ++g) {
    const T *x = input.data + g * width;
    T *v = values.data + g * width;
    T largest = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      // std::max would drop a NaN.
      T magnitude = std::abs(x[i]);
      largest =
          magnitude > largest || std::isnan(magnitude) ? magnitude : largest;
    }
    T scale = largest / static_cast<T>(format.largest);
    scales.data[g] = scale;
    for (std::int64_t i = 0; i < width; ++i)
      v[i] = scale == T(0) ? T(0) : roundToFormat(x[i] / scale, format);
  }
}

template <typename T>
void dequantize(RankContext<T> &context, const Step &step) {
  auto values = context.floats(step.arg("values"));
  auto scales = context.floats(step.arg("scales"));
  auto output = context.floats(step.arg("output"));
  std::int64_t groups = scales.count();
  std::int64_t width = groups == 0 ? 0 : values.count() / groups;
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t i = 0; i < width; ++i)
      output.data[g * width + i] = values.data[g * width + i] * scales.data[g];
}

LAYLINE_INSTANTIATE(quantize)
LAYLINE_INSTANTIATE(dequantize)

} // namespace layline::runtime
