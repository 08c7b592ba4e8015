#include "devices/cpu/EngineCalls.h"
#include "devices/cpu/ExpertProducts.h"
#include "devices/cpu/Functions.h"
#include "devices/cpu/Kernels.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace layline::runtime {
namespace {

template <typename T> constexpr T kNever = -std::numeric_limits<T>::infinity();

template <typename T>
void score(Scoring scoring, const T *logits, std::vector<T> &scores) {
  std::size_t count = scores.size();
  if (scoring == Scoring::Sigmoid) {
    for (std::size_t e = 0; e < count; ++e)
      scores[e] = T(1) / (T(1) + std::exp(-logits[e]));
    return;
  }
  T largest = *std::max_element(logits, logits + count), sum = 0;
  for (std::size_t e = 0; e < count; ++e)
    sum += scores[e] = std::exp(logits[e] - largest);
  for (T &each : scores)
    each /= sum;
}

/// The place of the largest, the lower of equals; it is never chosen again.
template <typename T> std::int64_t takeLargest(std::vector<T> &merits) {
  auto best = std::max_element(merits.begin(), merits.end());
  *best = kNever<T>;
  return best - merits.begin();
}

/// Experts of groups that are not among the best are never chosen.
template <typename T>
void dropGroups(const StepAttributes &attrs, std::vector<T> &merits) {
  if (attrs.groups == 0)
    return;
  auto size = static_cast<std::ptrdiff_t>(merits.size()) / attrs.groups;
  std::vector<T> best;
  for (auto it = merits.begin(); it != merits.end(); it += size) {
    std::vector<T> group(it, it + size);
    std::size_t counted = attrs.groupScore == GroupScore::Max ? 1 : 2;
    std::partial_sort(group.begin(), group.begin() + counted, group.end(),
                      std::greater<T>());
    best.push_back(
        std::accumulate(group.begin(), group.begin() + counted, T(0)));
  }
  std::vector<bool> isChosen(best.size());
  for (std::int64_t i = 0; i < attrs.chosenGroups; ++i)
    isChosen[static_cast<std::size_t>(takeLargest(best))] = true;
  for (std::size_t e = 0; e < merits.size(); ++e)
    if (!isChosen[e / static_cast<std::size_t>(size)])
      merits[e] = kNever<T>;
}

} // namespace

template <typename T> void router(RankContext<T> &context, const Step &step) {
  auto logits = context.floats(step.arg("logits"));
  auto ids = context.integers(step.arg("ids"));
  auto weights = context.floats(step.arg("weights"));
  const Operand *biasOperand = step.find("bias");
  Tensor<const T> bias;
  if (biasOperand)
    bias = context.weight(*biasOperand);
  std::int64_t count = logits.last(), topK = step.attrs.topK;
  std::vector<T> scores(static_cast<std::size_t>(count)), merits;
  for (std::int64_t t = 0; t < logits.dim(0); ++t) {
    const T *x = logits.data + t * count;
    for (std::int64_t e = 0; e < count; ++e)
      if (std::isnan(x[e]))
        fail(LAYLINE_RUN_FAILURE, "router logit ", e, " of row ", t,
             " is not a number");
    score(step.attrs.scoring, x, scores);
    merits = scores;
    for (std::int64_t e = 0; biasOperand && e < count; ++e)
      merits[e] += bias.data[e];
    dropGroups(step.attrs, merits);
    T sum = 0;
    for (std::int64_t k = 0; k < topK; ++k) {
      std::int64_t best = takeLargest(merits);
      ids.data[t * topK + k] = best;
      weights.data[t * topK + k] = scores[best];
      sum += scores[best];
    }
    for (std::int64_t k = 0; k < topK; ++k) {
      T &weight = weights.data[t * topK + k];
      if (step.attrs.renormalize)
        weight /= sum;
      weight *= static_cast<T>(step.attrs.scale);
    }
  }
}

namespace {

struct Assignment {
  std::int64_t token, slot;
};

/// f(gate) * (up + offset), both cut off first.
template <typename T> T gated(const StepAttributes &attrs, T gate, T up) {
  if (attrs.limit) {
    auto limit = static_cast<T>(*attrs.limit);
    gate = std::min(gate, limit);
    up = std::clamp(up, -limit, limit);
  }
  T value = attrs.alpha == 1
                ? applyFunction(attrs.function, gate)
                : gate / (T(1) + std::exp(-static_cast<T>(attrs.alpha) * gate));
  return value * (up + static_cast<T>(attrs.upOffset));
}

} // namespace

template <typename T>
ExpertProducts<T>::ExpertProducts(RankContext<T> &rank, const Step &of)
    : context(rank), step(of), gate(rank.weight(of.arg("gate"))),
      up(rank.weight(of.arg("up"))), down(rank.weight(of.arg("down"))),
      count(of.arg("gate").shape[0].value),
      first(rank.begin(of.arg("gate"), 0)) {}

template <typename T>
void ExpertProducts<T>::run(std::int64_t e, std::int64_t rows, const T *x,
                            T *y) {
  std::int64_t inner = gate.dim(1), in = gate.dim(2), out = down.dim(1);
  g_.resize(static_cast<std::size_t>(rows * inner));
  u_.resize(g_.size());
  multiplyWeight<T>(context, step,
                    {step.arg("gate"), first + e, rows, inner, in, x,
                     gate.data + e * inner * in, g_.data()});
  multiplyWeight<T>(context, step,
                    {step.arg("up"), first + e, rows, inner, in, x,
                     up.data + e * inner * in, u_.data()});
  if (step.find("gate_bias")) {
    auto gateBias = context.weight(step.arg("gate_bias"));
    auto upBias = context.weight(step.arg("up_bias"));
    for (std::int64_t i = 0; i < rows * inner; ++i) {
      g_[static_cast<std::size_t>(i)] += gateBias.data[e * inner + i % inner];
      u_[static_cast<std::size_t>(i)] += upBias.data[e * inner + i % inner];
    }
  }
  for (std::size_t i = 0; i < g_.size(); ++i)
    g_[i] = gated(step.attrs, g_[i], u_[i]);
  multiplyWeight<T>(context, step,
                    {step.arg("down"), first + e, rows, out, inner, g_.data(),
                     down.data + e * out * inner, y});
}

template <typename T>
bool ExpertProducts<T>::isHere(const Tensor<std::int64_t> &ids,
                               std::int64_t row) const {
  const DimLayout &layout = step.arg("input").layout.dims[0];
  bool isRouted =
      layout.isSplit() && context.run->plan->ranges[layout.range].isRouted();
  std::int64_t slots = ids.last();
  if (isRouted && slots > 0 && ids.data[row * slots] == kNoExpert)
    return false;
  for (std::int64_t k = 0; k < slots; ++k) {
    std::int64_t expert = ids.data[row * slots + k];
    if (expert < 0 || expert >= count)
      fail(LAYLINE_RUN_FAILURE, "expert id ", expert, " of row ", row,
           " is outside the ", count, " experts");
  }
  return true;
}

template struct ExpertProducts<float>;
template struct ExpertProducts<double>;

/// Tokens grouped by expert, three products per expert. Experts of other ranks
/// are skipped: the output owes their sum. Rows that were not dispatched here
/// have no experts, and come out as no numbers.
template <typename T> void experts(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto ids = context.integers(step.arg("ids"));
  auto weights = context.floats(step.arg("weights"));
  auto output = context.floats(step.arg("output"));
  ExpertProducts<T> products(context, step);
  std::int64_t local = products.local(), in = input.last(), out = output.last(),
               slots = ids.last();

  std::vector<std::vector<Assignment>> assigned(
      static_cast<std::size_t>(local));
  std::fill_n(output.data, output.count(), T(0));
  for (std::int64_t t = 0; t < ids.dim(0); ++t) {
    if (!products.isHere(ids, t)) {
      std::fill_n(output.data + t * out, out,
                  std::numeric_limits<T>::quiet_NaN());
      continue;
    }
    for (std::int64_t k = 0; k < slots; ++k) {
      std::int64_t e = ids.data[t * slots + k] - products.first;
      if (e >= 0 && e < local)
        assigned[static_cast<std::size_t>(e)].push_back({t, k});
    }
  }

  std::vector<T> x, y;
  for (std::int64_t e = 0; e < local; ++e) {
    const std::vector<Assignment> &list = assigned[static_cast<std::size_t>(e)];
    auto rows = static_cast<std::int64_t>(list.size());
    if (rows == 0)
      continue;
    x.resize(static_cast<std::size_t>(rows * in));
    y.resize(static_cast<std::size_t>(rows * out));
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(input.data + list[r].token * in, in, x.data() + r * in);
    products.run(e, rows, x.data(), y.data());
    for (std::int64_t r = 0; r < rows; ++r) {
      T weight = weights.data[list[r].token * slots + list[r].slot];
      T *row = output.data + list[r].token * out;
      for (std::int64_t o = 0; o < out; ++o)
        row[o] += weight * y[static_cast<std::size_t>(r * out + o)];
    }
  }
}

template <typename T>
void addExpertBias(RankContext<T> &context, const Step &step) {
  auto input = context.floats(step.arg("input"));
  auto ids = context.integers(step.arg("ids"));
  auto weights = context.floats(step.arg("weights"));
  auto bias = context.weight(step.arg("bias"));
  auto output = context.floats(step.arg("output"));
  std::int64_t count = bias.dim(0), width = output.last(), slots = ids.last();
  if (input.data != output.data)
    std::copy_n(input.data, output.count(), output.data);
  for (std::int64_t i = 0, n = ids.count(); i < n; ++i) {
    std::int64_t expert = ids.data[i];
    if (expert < 0 || expert >= count)
      fail(LAYLINE_RUN_FAILURE, "expert id ", expert, " of row ", i / slots,
           " is outside the ", count, " experts");
    for (std::int64_t o = 0; o < width; ++o)
      output.data[i / slots * width + o] +=
          weights.data[i] * bias.data[expert * width + o];
  }
}

LAYLINE_INSTANTIATE(router)
LAYLINE_INSTANTIATE(experts)
LAYLINE_INSTANTIATE(addExpertBias)

} // namespace layline::runtime
