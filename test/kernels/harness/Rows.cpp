#include "harness/Rows.h"

#include "harness/Counted.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace layline::kernels::test {

Problem problemOf(const Variant &variant, std::int64_t tokens,
                  std::int64_t width) {
  Problem problem;
  problem.tokens = tokens;
  problem.width = width;
  bool isSum = variant.family == Family::OneShot || variant.input != Input::Own;
  bool hasWork = variant.norm != NormKind::None;
  problem.hasBias = isSum && hasWork;
  problem.hasResidual = problem.keepsResidual = hasWork;
  problem.hasNormBias = variant.norm == NormKind::Layer;
  problem.hasGate = variant.function != Function::None;
  if (variant.scales == ScaleKind::Group)
    problem.groupSize = 64;
  // Rows and payload both, and the payload alone.
  problem.wantsValues =
      variant.scales == ScaleKind::None || variant.scales == ScaleKind::Row;
  return problem;
}

RowCase caseOf(const Variant &variant, const Problem &problem,
               unsigned maxGrid) {
  RowCase result;
  result.variant = variant;
  result.problem = problem;
  result.shape = shapeOf(variant, problem, maxGrid);
  // As few threads as can hold the row: the emulator's time goes by threads.
  std::int64_t vectors = problem.width * bytesOf(variant.dtype) / 16,
               each = vectorsPerThread(variant.dtype);
  std::int64_t threads = (vectors + each - 1) / each;
  result.shape.block = static_cast<std::uint32_t>((threads + 31) / 32 * 32);
  return result;
}

/// Numbers that are nearly normal, mean 0 and deviation 1: the sum of four
/// uniform ones. std::normal_distribution took 40 % of the tests' time.
class NearlyNormal {
public:
  explicit NearlyNormal(std::uint32_t salt) : state_(salt) {}
  float operator()() {
    // splitmix64 (Steele, Lea, Flood 2014).
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    x ^= x >> 31;
    std::uint64_t sum =
        (x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48);
    // Four of variance 2^32 / 12 about 2^15 each.
    constexpr float kDeviation = 37837.2F; // 2^16 / sqrt(3)
    return (static_cast<float>(sum) - 131070.0F) / kDeviation;
  }

private:
  std::uint64_t state_;
};

template <typename T>
RowInputs<T> makeInputs(const RowCase &rowCase, std::uint32_t salt) {
  NearlyNormal normal(salt);
  auto draw = [&](std::int64_t count, float mean, float deviation) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T &value : values)
      value = from_float<T>(mean + deviation * normal());
    return values;
  };
  const Problem &problem = rowCase.problem;
  std::int64_t width = problem.width, all = problem.tokens * width;
  RowInputs<T> inputs;
  bool isOwed = rowCase.isOneShot() || rowCase.variant.input != Input::Own;
  for (int launch = 0; launch < rowCase.launches; ++launch) {
    inputs.rows.emplace_back();
    inputs.gates.emplace_back();
    for (int rank = 0; rank < rowCase.variant.ranks; ++rank) {
      std::int64_t own = rowCase.rowsOf(rank).size * width;
      inputs.rows.back().push_back(draw(isOwed ? all : own, 0, 1));
      inputs.gates.back().push_back(draw(problem.hasGate ? own : 0, 0, 1));
    }
  }
  inputs.residual = draw(all, 0, 2);
  inputs.bias = draw(width, 0, 0.5F);
  inputs.innerWeight = draw(width, 1, 0.25F);
  inputs.weight = draw(width, 1, 0.25F);
  inputs.normBias = draw(width, 0, 0.25F);
  inputs.tensorScale = 0.0078125F + 0.001F;
  return inputs;
}

WorkspaceNeed needOf(const RowCase &rowCase) {
  WorkspaceNeed need;
  need.ranks = rowCase.variant.ranks;
  need.maxBlocks = std::max(rowCase.shape.grid, 8U);
  if (rowCase.isOneShot())
    need.maxOneShotBytes = rowCase.problem.tokens * rowCase.problem.width *
                           bytesOf(rowCase.variant.dtype);
  return need;
}

// ---- Comparing
// -----------------------------------------------------------------

namespace {

std::string place(const char *what, int launch, int rank, std::size_t i) {
  return std::string(what) + " of launch " + std::to_string(launch) +
         " on rank " + std::to_string(rank) + ", element " + std::to_string(i);
}

/// With all digits, so that neighbours differ.
template <typename E> std::string textOf(E value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g",
                static_cast<double>(to_float(value)));
  return digits;
}
std::string textOf(std::uint8_t byte) { return std::to_string(byte); }

template <typename E>
std::string differ(const char *what,
                   const std::vector<std::vector<std::vector<E>>> &got,
                   const std::vector<std::vector<std::vector<E>>> &want) {
  for (std::size_t launch = 0; launch < want.size(); ++launch)
    for (std::size_t rank = 0; rank < want[launch].size(); ++rank) {
      const std::vector<E> &a = got[launch][rank], &b = want[launch][rank];
      if (a.size() != b.size())
        return std::string(what) + ": " + std::to_string(a.size()) +
               " elements, expected " + std::to_string(b.size());
      if (a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(E)) == 0)
        continue;
      for (std::size_t i = 0; i < a.size(); ++i)
        if (std::memcmp(&a[i], &b[i], sizeof(E)) != 0)
          return place(what, int(launch), int(rank), i) + ": found " +
                 textOf(a[i]) + ", expected " + textOf(b[i]);
    }
  return {};
}

} // namespace

template <typename T>
std::string differenceOf(const RowResults<T> &got, const RowResults<T> &want) {
  std::string text = differ("values", got.values, want.values);
  if (text.empty())
    text = differ("residual", got.residual, want.residual);
  if (text.empty())
    text = differ("scales", got.scales, want.scales);
  if (text.empty())
    text = differ("payload", got.payload, want.payload);
  return text;
}

template <typename T>
std::string disagreementOf(const RowCase &rowCase, const RowResults<T> &got) {
  if (!rowCase.reachesAll())
    return {};
  auto compare = [](const char *what, const auto &results) {
    auto first = results;
    for (auto &launch : first)
      std::fill(launch.begin(), launch.end(), launch.front());
    return differ(what, results, first);
  };
  std::string text = compare("values", got.values);
  if (text.empty())
    text = compare("payload", got.payload);
  return text.empty() ? compare("scales", got.scales) : text;
}

template <typename T>
std::string miscountOf(const RowCase &rowCase, const RowResults<T> &got) {
  for (std::size_t rank = 0; rank < got.counters.size(); ++rank) {
    Traffic stated;
    for (int launch = 0; launch < rowCase.launches; ++launch)
      stated += trafficOf(rowCase.variant, rowCase.problem, rowCase.shape,
                          static_cast<std::int64_t>(rank));
    // The first launch of a one_shot finds nothing to empty.
    if (rowCase.isOneShot())
      stated.localWrite -= rowCase.variant.ranks * rowCase.problem.tokens *
                           rowCase.problem.width * std::int64_t(sizeof(T));
    std::string text = miscounted(got.counters[rank], stated, rowCase.launches);
    if (!text.empty())
      return "rank " + std::to_string(rank) + ", " + text;
  }
  return {};
}

#define LAYLINE_INSTANTIATE(T)                                                 \
  template std::string miscountOf(const RowCase &, const RowResults<T> &);     \
  template RowInputs<T> makeInputs(const RowCase &, std::uint32_t);            \
  template std::string differenceOf(const RowResults<T> &,                     \
                                    const RowResults<T> &);                    \
  template std::string disagreementOf(const RowCase &, const RowResults<T> &);
LAYLINE_INSTANTIATE(bf16)
LAYLINE_INSTANTIATE(f16)
LAYLINE_INSTANTIATE(float)
#undef LAYLINE_INSTANTIATE

} // namespace layline::kernels::test
