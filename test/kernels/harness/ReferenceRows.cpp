// The row-wise work in plain C++, written from RowOperands' text: in float32
// with the order of sums that it states, and in float64.
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
double sumOf(const std::vector<double> &x, int, unsigned) {
  double all = 0;
  for (double value : x)
    all += value;
  return all;
}

/// In float64 as papers write it, in float32 in the forms that lose no digits.
template <typename Real> Real apply(Function function, Real x) {
  constexpr bool isSingle = sizeof(Real) == sizeof(float);
  constexpr Real sqrtHalf = Real(0.70710678118654752440),
                 sqrt2OverPi = Real(0.79788456080286535588);
  switch (function) {
  case Function::None:
    return x;
  case Function::Silu:
    return x / (1 + std::exp(-x));
  case Function::Gelu:
    return isSingle ? x * Real(0.5) * std::erfc(x * -sqrtHalf)
                    : x * Real(0.5) * (1 + std::erf(x * sqrtHalf));
  case Function::GeluTanh: {
    Real inner = x + Real(0.044715) * x * x * x;
    return isSingle ? x / (1 + std::exp(-2 * sqrt2OverPi * inner))
                    : Real(0.5) * x * (1 + std::tanh(sqrt2OverPi * inner));
  }
  case Function::Relu:
    return x > 0 ? x : 0;
  case Function::Sigmoid:
    return 1 / (1 + std::exp(-x));
  }
  return x;
}

/// One row through all of it.
template <typename T, typename Real> class RowWork {
public:
  RowWork(const RowCase &theCase, const RowInputs<T> &theInputs)
      : rowCase(theCase), inputs(theInputs) {}

  std::vector<T> residual, values;
  std::vector<std::uint8_t> payload;
  std::vector<float> scales;

  void run(std::vector<Real> x, const T *residualIn, const T *gate) {
    const Problem &problem = rowCase.problem;
    std::size_t width = x.size();
    auto each = [&](auto body) {
      for (std::size_t i = 0; i < width; ++i)
        x[i] = body(x[i], i);
    };
    auto w = [](const std::vector<T> &of, std::size_t i) {
      return Real(to_float(of[i]));
    };
    if (problem.hasBias)
      each([&](Real v, std::size_t i) { return v + w(inputs.bias, i); });
    if (problem.hasInnerNorm)
      rms(x, inputs.innerWeight);
    each([&](Real v, std::size_t) { return v * Real(rowCase.innerScale); });
    if (problem.hasResidual)
      each([&](Real v, std::size_t i) {
        return v + Real(to_float(residualIn[i]));
      });
    residual = rounded(x);
    if (rowCase.variant.norm == NormKind::Layer) {
      Real mean = sum(x) / Real(width);
      each([&](Real v, std::size_t) { return v - mean; });
    }
    if (rowCase.variant.norm != NormKind::None)
      rms(x, inputs.weight);
    if (problem.hasNormBias)
      each([&](Real v, std::size_t i) { return v + w(inputs.normBias, i); });
    each([&](Real v, std::size_t) {
      return apply(rowCase.variant.function, v);
    });
    if (problem.hasGate)
      each([&](Real v, std::size_t i) { return v * Real(to_float(gate[i])); });
    each([&](Real v, std::size_t) { return v * Real(rowCase.scale); });
    values = rounded(x);
    if (rowCase.variant.scales != ScaleKind::None)
      quantize(x);
  }

private:
  Real sum(const std::vector<Real> &x) const {
    return sumOf(x, 16 / sizeof(T), rowCase.shape.block);
  }
  void rms(std::vector<Real> &x, const std::vector<T> &weight) const {
    std::vector<Real> squares(x.size());
    std::transform(x.begin(), x.end(), squares.begin(),
                   [](Real v) { return v * v; });
    Real inverse =
        1 / std::sqrt(sum(squares) / Real(x.size()) + Real(rowCase.eps));
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = x[i] * inverse *
             (Real(rowCase.weightOffset) + Real(to_float(weight[i])));
  }
  static std::vector<T> rounded(const std::vector<Real> &x) {
    std::vector<T> result;
    for (Real v : x)
      result.push_back(from_float<T>(static_cast<float>(v)));
    return result;
  }
  void quantize(const std::vector<Real> &x) {
    std::size_t width = x.size(),
                group =
                    rowCase.variant.scales == ScaleKind::Group
                        ? static_cast<std::size_t>(rowCase.problem.groupSize)
                        : width;
    for (std::size_t begin = 0; begin < width; begin += group) {
      Real largest = 0;
      for (std::size_t i = begin; i < begin + group; ++i)
        largest = largest > std::abs(x[i]) || std::isnan(largest)
                      ? largest
                      : std::abs(x[i]);
      bool isGiven = rowCase.variant.scales == ScaleKind::Tensor;
      float scale = isGiven ? inputs.tensorScale
                            : static_cast<float>(largest / Real(448));
      if (!isGiven)
        scales.push_back(scale);
      for (std::size_t i = begin; i < begin + group; ++i)
        payload.push_back(
            from_float<device::e4m3>(
                scale == 0 ? 0 : static_cast<float>(x[i] / Real(scale)))
                .bits);
    }
  }

  const RowCase &rowCase;
  const RowInputs<T> &inputs;
};

template <typename To, typename From>
void append(std::vector<To> &to, const std::vector<From> &from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <typename T, typename Real>
RowResults<T> expectRows(const RowCase &rowCase, const RowInputs<T> &inputs) {
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
        std::vector<Real> x(width);
        bool isOwed = rowCase.isOneShot() || variant.input != Input::Own;
        for (std::size_t i = 0; i < width; ++i) {
          const auto &of = inputs.rows[launch];
          if (!isOwed) {
            x[i] = Real(to_float(of[rank][ownAt + i]));
            continue;
          }
          x[i] = Real(to_float(of[0][at + i]));
          for (int peer = 1; peer < variant.ranks; ++peer)
            x[i] += Real(to_float(of[peer][at + i]));
          // The switch gives numbers of the type.
          if (variant.input == Input::OwedMulticast)
            x[i] = Real(to_float(from_float<T>(static_cast<float>(x[i]))));
        }
        RowWork<T, Real> work(rowCase, inputs);
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

} // namespace

template <typename T>
RowResults<T> expectOrdered(const RowCase &rowCase,
                            const RowInputs<T> &inputs) {
  return expectRows<T, float>(rowCase, inputs);
}
template <typename T>
RowResults<T> expectNearest(const RowCase &rowCase,
                            const RowInputs<T> &inputs) {
  return expectRows<T, double>(rowCase, inputs);
}

#define LAYLINE_INSTANTIATE(T)                                                 \
  template RowResults<T> expectOrdered(const RowCase &, const RowInputs<T> &); \
  template RowResults<T> expectNearest(const RowCase &, const RowInputs<T> &);
LAYLINE_INSTANTIATE(bf16)
LAYLINE_INSTANTIATE(f16)
LAYLINE_INSTANTIATE(float)
#undef LAYLINE_INSTANTIATE

} // namespace layline::kernels::test
