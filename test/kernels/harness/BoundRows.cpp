// The row-wise work in float64, with a bound of what float32 may be off.
#include "harness/Bounds.h"
#include "harness/Rows.h"

#include <algorithm>

namespace layline::kernels::test {
namespace {

/// Additions behind one another in a sum over a row: a thread's elements, the
/// lanes of a warp, the warps of a block.
constexpr double kRowSum = 32 + 5 + 16;

/// As papers write them. Their slopes are at most 1.13; `steps` of u is what
/// the kernel's form costs: exp and erfc are within 2 and 6 of it (glibc's
/// manual, CUDA's: 1 and 4 ulp), times how steep they are where they stand.
Near apply(Function function, Near in) {
  double x = in.x, y = x, steps = 0;
  switch (function) {
  case Function::None:
    return in;
  case Function::Silu:
    y = x / (1 + std::exp(-x));
    steps = 6;
    break;
  case Function::Gelu: {
    double z = x * std::sqrt(0.5);
    y = x * 0.5 * (1 + std::erf(z));
    steps = 14 + 4 * z * z;
    break;
  }
  case Function::GeluTanh: {
    double inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
    y = 0.5 * x * (1 + std::tanh(inner));
    steps = 8 + 12 * std::abs(inner);
    break;
  }
  case Function::Relu:
    return {std::max(x, 0.0), in.e};
  case Function::Sigmoid:
    y = 1 / (1 + std::exp(-x));
    steps = 6;
    break;
  }
  return {y, 1.2 * in.e + steps * kUnit * std::abs(y) + kTiny};
}

template <typename T> class BoundRow {
public:
  BoundRow(const RowCase &theCase, const RowInputs<T> &theInputs)
      : rowCase(theCase), inputs(theInputs) {}

  std::vector<Near> x;        ///< values, before they are rounded
  std::vector<Near> residual; ///< the same of what is normed

  void run(const T *residualIn, const T *gate) {
    const Problem &problem = rowCase.problem;
    auto each = [&](auto body) {
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = body(x[i], i);
    };
    auto scaleBy = [&](float factor) {
      if (factor != 1)
        each([&](Near v, std::size_t) { return v * Near{factor, 0}; });
    };
    if (problem.hasBias)
      each([&](Near v, std::size_t i) { return v + exactly(inputs.bias[i]); });
    if (problem.hasInnerNorm)
      rms(inputs.innerWeight);
    scaleBy(rowCase.innerScale);
    if (problem.hasResidual)
      each([&](Near v, std::size_t i) { return v + exactly(residualIn[i]); });
    residual = x;
    if (rowCase.variant.norm == NormKind::Layer) {
      Near mean;
      double magnitudes = 0;
      for (Near v : x) {
        mean.x += v.x;
        mean.e += v.e;
        magnitudes += std::abs(v.x);
      }
      auto width = static_cast<double>(x.size());
      mean = {-mean.x / width,
              (mean.e + (kRowSum + 1) * kUnit * magnitudes) / width};
      each([&](Near v, std::size_t) { return v + mean; });
    }
    if (rowCase.variant.norm != NormKind::None)
      rms(inputs.weight);
    if (problem.hasNormBias)
      each([&](Near v, std::size_t i) {
        return v + exactly(inputs.normBias[i]);
      });
    each([&](Near v, std::size_t) {
      return apply(rowCase.variant.function, v);
    });
    if (problem.hasGate)
      each([&](Near v, std::size_t i) { return v * exactly(gate[i]); });
    scaleBy(rowCase.scale);
  }

private:
  /// x / sqrt(mean(x^2) + eps) * (offset + w)
  void rms(const std::vector<T> &weight) {
    double squares = 0, off = 0;
    for (Near v : x) {
      squares += v.x * v.x;
      off += 2 * std::abs(v.x) * v.e + v.e * v.e;
    }
    auto width = static_cast<double>(x.size());
    double mean = squares / width + rowCase.eps;
    // Of the sum, then the quotient, the sum with eps, root and quotient.
    double relative = off / width / mean + (kRowSum + 3) * kUnit;
    double inverse = 1 / std::sqrt(mean);
    Near by{inverse, inverse * (relative / 2 + 2 * kUnit)};
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = x[i] * by *
             (rowCase.weightOffset == 0
                  ? exactly(weight[i])
                  : Near{rowCase.weightOffset, 0} + exactly(weight[i]));
  }

  const RowCase &rowCase;
  const RowInputs<T> &inputs;
};

/// What stands before the row-wise work: an own element or a sum.
template <typename T>
Near inputAt(const RowCase &rowCase, const std::vector<std::vector<T>> &ofRanks,
             int rank, std::size_t own, std::size_t at) {
  const Variant &variant = rowCase.variant;
  if (!rowCase.isOneShot() && variant.input == Input::Own)
    return exactly(ofRanks[static_cast<std::size_t>(rank)][own]);
  Near sum;
  double magnitudes = 0;
  for (const std::vector<T> &addends : ofRanks) {
    double a = exactly(addends[at]).x;
    sum.x += a;
    magnitudes += std::abs(a);
  }
  sum.e = (variant.ranks - 1) * kUnit * magnitudes;
  if (variant.input != Input::OwedMulticast)
    return sum;
  // The switch gives numbers of the type.
  auto round = [](double x) {
    return exactly(from_float<T>(static_cast<float>(x))).x;
  };
  double nearest = round(sum.x);
  return {nearest, std::max(round(sum.x + sum.e) - nearest,
                            nearest - round(sum.x - sum.e))};
}

/// Scales and payload of a row against its values; the payload is of the scale
/// that the kernel gave.
std::string quantizedOutside(const RowCase &rowCase, float tensorScale,
                             const std::vector<Near> &y, const float *scales,
                             const std::uint8_t *payload) {
  constexpr double kLargest = 448; // OCP FP8, table 1
  bool isGiven = rowCase.variant.scales == ScaleKind::Tensor;
  std::size_t group = rowCase.variant.scales == ScaleKind::Group
                          ? static_cast<std::size_t>(rowCase.problem.groupSize)
                          : y.size();
  for (std::size_t i = 0; i < y.size(); ++i) {
    float scale = isGiven ? tensorScale : scales[i / group];
    if (!isGiven && i % group == 0) {
      double least = 0, most = 0;
      for (std::size_t j = i; j < i + group; ++j) {
        least = std::max(least, std::abs(y[j].x) - y[j].e);
        most = std::max(most, std::abs(y[j].x) + y[j].e);
      }
      if (scale < least / kLargest * (1 - 2 * kUnit) ||
          scale > most / kLargest * (1 + 2 * kUnit))
        return "scale of element " + std::to_string(i);
    }
    Near want =
        scale == 0 ? Near{} : rounded(y[i].x / scale, y[i].e / std::abs(scale));
    if (isOutside(device::e4m3{payload[i]}, want))
      return "payload of element " + std::to_string(i);
  }
  return {};
}

} // namespace

template <typename T>
std::string outsideOf(const RowCase &rowCase, const RowInputs<T> &inputs,
                      const RowResults<T> &got) {
  const Problem &problem = rowCase.problem;
  auto width = static_cast<std::size_t>(problem.width);
  for (std::size_t launch = 0; launch < got.values.size(); ++launch)
    for (int rank = 0; rank < rowCase.variant.ranks; ++rank) {
      RowBlock rows = rowCase.rowsOf(rank);
      auto r = static_cast<std::size_t>(rank);
      for (std::int64_t own = 0; own < rows.size; ++own) {
        std::size_t ownAt = static_cast<std::size_t>(own) * width,
                    at = static_cast<std::size_t>(rows.begin + own) * width,
                    out = rowCase.reachesAll() ? at : ownAt;
        BoundRow<T> row(rowCase, inputs);
        for (std::size_t i = 0; i < width; ++i)
          row.x.push_back(
              inputAt(rowCase, inputs.rows[launch], rank, ownAt + i, at + i));
        // From what the last launch left, as it rounded it.
        bool isKept = launch > 0 && problem.keepsResidual;
        row.run(isKept ? got.residual[launch - 1][r].data() + ownAt
                       : inputs.residual.data() + at,
                problem.hasGate ? inputs.gates[launch][r].data() + ownAt
                                : nullptr);
        std::string where = " of launch " + std::to_string(launch) +
                            " on rank " + std::to_string(rank) + ", row " +
                            std::to_string(rows.begin + own) + ", ";
        auto compare = [&](const char *what, const std::vector<T> &mine,
                           std::size_t from,
                           const std::vector<Near> &want) -> std::string {
          for (std::size_t i = 0; i < width; ++i)
            if (isOutside(mine[from + i], want[i]))
              return what + where + "element " + std::to_string(i) + ": " +
                     foundAndExpected(mine[from + i], want[i]);
          return {};
        };
        std::string text;
        if (problem.wantsValues)
          text = compare("values", got.values[launch][r], out, row.x);
        if (text.empty() && problem.keepsResidual)
          text =
              compare("residual", got.residual[launch][r], ownAt, row.residual);
        if (text.empty() && rowCase.variant.scales != ScaleKind::None) {
          auto columns = static_cast<std::size_t>(rowCase.scaleColumns());
          text = quantizedOutside(rowCase, inputs.tensorScale, row.x,
                                  got.scales[launch][r].data() +
                                      out / width * columns,
                                  got.payload[launch][r].data() + out);
          if (!text.empty())
            text = "quantized row" + where + text;
        }
        if (!text.empty())
          return text;
      }
    }
  return {};
}

#define LAYLINE_INSTANTIATE(T)                                                 \
  template std::string outsideOf(const RowCase &, const RowInputs<T> &,        \
                                 const RowResults<T> &);
LAYLINE_INSTANTIATE(bf16)
LAYLINE_INSTANTIATE(f16)
LAYLINE_INSTANTIATE(float)
#undef LAYLINE_INSTANTIATE

} // namespace layline::kernels::test
