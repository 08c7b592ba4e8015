// The row-wise work in plain C++, written from RowOperands' text: in float32
// with the order of sums that it states. BoundRows.cpp has it in float64.
#include "harness/Rows.h"

#include <algorithm>
#include <cmath>

namespace layline::kernels::test {
namespace {

/// Sum over a row as a block takes it.
float sumOf(const std::vector<float> &x, int vector, unsigned threads) {
  std::vector<float> partial(threads, 0.0F);
  for (std::size_t i = 0; i < x.size(); ++i)
    partial[i / vector % threads] += x[i];
  float all = 0;
  for (unsigned warp = 0; warp < threads / 32; ++warp) {
    float *lane = partial.data() + warp * 32;
    for (unsigned distance = 16; distance; distance /= 2) {
      float before[32];
      std::copy_n(lane, 32, before);
      for (unsigned i = 0; i < 32; ++i)
        lane[i] = before[i] + before[i ^ distance];
    }
    all = warp == 0 ? lane[0] : all + lane[0];
  }
  return all;
}

/// In the forms that lose no digits.
float apply(Function function, float x) {
  constexpr float kSqrtHalf = 0.70710678118654752440F,
                  kSqrt2OverPi = 0.79788456080286535588F;
  switch (function) {
  case Function::None:
    return x;
  case Function::Silu:
    return x / (1 + std::exp(-x));
  case Function::Gelu:
    return x * 0.5F * std::erfc(x * -kSqrtHalf);
  case Function::GeluTanh:
    return x / (1 + std::exp(-2 * kSqrt2OverPi * (x + 0.044715F * x * x * x)));
  case Function::Relu:
    return x > 0 ? x : 0;
  case Function::Sigmoid:
    return 1 / (1 + std::exp(-x));
  }
  return x;
}

/// One row through all of it.
template <typename T> class RowWork {
public:
  RowWork(const RowCase &theCase, const RowInputs<T> &theInputs)
      : rowCase(theCase), inputs(theInputs) {}

  std::vector<T> residual, values;
  std::vector<std::uint8_t> payload;
  std::vector<float> scales;

  void run(std::vector<float> x, const T *residualIn, const T *gate) {
    const Problem &problem = rowCase.problem;
    std::size_t width = x.size();
    auto each = [&](auto body) {
      for (std::size_t i = 0; i < width; ++i)
        x[i] = body(x[i], i);
    };
    auto w = [](const std::vector<T> &of, std::size_t i) {
      return to_float(of[i]);
    };
    if (problem.hasBias)
      each([&](float v, std::size_t i) { return v + w(inputs.bias, i); });
    if (problem.hasInnerNorm)
      rms(x, inputs.innerWeight);
    each([&](float v, std::size_t) { return v * rowCase.innerScale; });
    if (problem.hasResidual)
      each([&](float v, std::size_t i) { return v + to_float(residualIn[i]); });
    residual = rounded(x);
    if (rowCase.variant.norm == NormKind::Layer) {
      float mean = sum(x) / float(width);
      each([&](float v, std::size_t) { return v - mean; });
    }
    if (rowCase.variant.norm != NormKind::None)
      rms(x, inputs.weight);
    if (problem.hasNormBias)
      each([&](float v, std::size_t i) { return v + w(inputs.normBias, i); });
    each([&](float v, std::size_t) {
      return apply(rowCase.variant.function, v);
    });
    if (problem.hasGate)
      each([&](float v, std::size_t i) { return v * to_float(gate[i]); });
    each([&](float v, std::size_t) { return v * rowCase.scale; });
    values = rounded(x);
    if (rowCase.variant.scales != ScaleKind::None)
      quantize(x);
  }

private:
  float sum(const std::vector<float> &x) const {
    return sumOf(x, 16 / sizeof(T), rowCase.shape.block);
  }
  void rms(std::vector<float> &x, const std::vector<T> &weight) const {
    std::vector<float> squares(x.size());
    std::transform(x.begin(), x.end(), squares.begin(),
                   [](float v) { return v * v; });
    float inverse = 1 / std::sqrt(sum(squares) / float(x.size()) + rowCase.eps);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = x[i] * inverse * (rowCase.weightOffset + to_float(weight[i]));
  }
  static std::vector<T> rounded(const std::vector<float> &x) {
    std::vector<T> result;
    for (float v : x)
      result.push_back(from_float<T>(v));
    return result;
  }
  void quantize(const std::vector<float> &x) {
    std::size_t width = x.size(),
                group =
                    rowCase.variant.scales == ScaleKind::Group
                        ? static_cast<std::size_t>(rowCase.problem.groupSize)
                        : width;
    for (std::size_t begin = 0; begin < width; begin += group) {
      float largest = 0;
      for (std::size_t i = begin; i < begin + group; ++i)
        largest = largest > std::abs(x[i]) || std::isnan(largest)
                      ? largest
                      : std::abs(x[i]);
      bool isGiven = rowCase.variant.scales == ScaleKind::Tensor;
      float scale = isGiven ? inputs.tensorScale : largest / 448.0F;
      if (!isGiven)
        scales.push_back(scale);
      for (std::size_t i = begin; i < begin + group; ++i)
        payload.push_back(
            from_float<device::e4m3>(scale == 0 ? 0.0F : x[i] / scale).bits);
    }
  }

  const RowCase &rowCase;
  const RowInputs<T> &inputs;
};

template <typename To, typename From>
void append(std::vector<To> &to, const std::vector<From> &from) {
  to.insert(to.end(), from.begin(), from.end());
}

} // namespace

template <typename T>
RowResults<T> expectOrdered(const RowCase &rowCase,
                            const RowInputs<T> &inputs) {
  const Variant &variant = rowCase.variant;
  auto width = static_cast<std::size_t>(rowCase.problem.width);
  std::vector<T> residual = inputs.residual;
  RowResults<T> results;
  for (int launch = 0; launch < rowCase.launches; ++launch) {
    std::vector<std::vector<T>> values(variant.ranks), kept(variant.ranks);
    std::vector<std::vector<std::uint8_t>> payload(variant.ranks);
    std::vector<std::vector<float>> scales(variant.ranks);
    for (int rank = 0; rank < variant.ranks; ++rank) {
      RowBlock rows = rowCase.rowsOf(rank);
      for (std::int64_t own = 0; own < rows.size; ++own) {
        std::size_t at = static_cast<std::size_t>(rows.begin + own) * width,
                    ownAt = static_cast<std::size_t>(own) * width;
        std::vector<float> x(width);
        bool isOwed = rowCase.isOneShot() || variant.input != Input::Own;
        for (std::size_t i = 0; i < width; ++i) {
          const auto &of = inputs.rows[launch];
          if (!isOwed) {
            x[i] = to_float(of[rank][ownAt + i]);
            continue;
          }
          x[i] = to_float(of[0][at + i]);
          for (int peer = 1; peer < variant.ranks; ++peer)
            x[i] += to_float(of[peer][at + i]);
          // The switch gives numbers of the type.
          if (variant.input == Input::OwedMulticast)
            x[i] = to_float(from_float<T>(x[i]));
        }
        RowWork<T> work(rowCase, inputs);
        work.run(x, residual.data() + at,
                 rowCase.problem.hasGate
                     ? inputs.gates[launch][rank].data() + ownAt
                     : nullptr);
        append(values[rank], work.values);
        append(kept[rank], work.residual);
        append(payload[rank], work.payload);
        append(scales[rank], work.scales);
      }
    }
    if (rowCase.problem.keepsResidual)
      for (int rank = 0; rank < variant.ranks; ++rank)
        std::copy(kept[rank].begin(), kept[rank].end(),
                  residual.begin() + rowCase.rowsOf(rank).begin * width);
    if (rowCase.reachesAll() && !rowCase.isOneShot()) {
      auto gather = [&](auto &parts) {
        auto all = parts[0];
        for (int rank = 1; rank < variant.ranks; ++rank)
          append(all, parts[rank]);
        std::fill(parts.begin(), parts.end(), all);
      };
      gather(values);
      gather(payload);
      gather(scales);
    }
    // What is not wanted is not there.
    if (!rowCase.problem.wantsValues)
      values.assign(values.size(), {});
    if (!rowCase.problem.keepsResidual)
      kept.assign(kept.size(), {});
    results.values.push_back(values);
    results.payload.push_back(payload);
    results.scales.push_back(scales);
    results.residual.push_back(kept);
  }
  return results;
}

#define LAYLINE_INSTANTIATE(T)                                                 \
  template RowResults<T> expectOrdered(const RowCase &, const RowInputs<T> &);
LAYLINE_INSTANTIATE(bf16)
LAYLINE_INSTANTIATE(f16)
LAYLINE_INSTANTIATE(float)
#undef LAYLINE_INSTANTIATE

} // namespace layline::kernels::test
