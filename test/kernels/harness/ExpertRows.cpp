#include "harness/ExpertRows.h"
#include "kernels/platform/Numeric.h"

#include <cmath>
#include <random>

namespace layline::kernels::test {

using device::bf16;
using device::f16;
using device::from_float;
using device::to_float;

template <typename T>
ExpertInputs<T> makeExpertInputs(const ExpertCase &experts,
                                 std::uint32_t salt) {
  std::mt19937 random(salt);
  std::normal_distribution<float> normal;
  auto draw = [&](std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T &value : values)
      value = from_float<T>(normal(random));
    return values;
  };
  ExpertInputs<T> inputs;
  for (std::int64_t i = 0; i < experts.tokens * experts.chosen; ++i) {
    // Holes of dispatched rows have the id -1.
    bool isHole = random() % 11 == 0;
    auto id = static_cast<std::int32_t>(random() %
                                        static_cast<unsigned>(experts.experts));
    inputs.ids.push_back(isHole ? -1 : id);
    inputs.weights.push_back(std::abs(normal(random)));
  }
  inputs.rows = draw(experts.tokens * experts.width);
  inputs.shared = draw(experts.tokens * experts.width);
  return inputs;
}

ExpertOrder orderOf(const ExpertCase &experts,
                    const std::vector<std::int32_t> &ids) {
  ExpertOrder order;
  order.places.assign(ids.size(), -1);
  std::int64_t next = 0;
  for (int e = 0; e < experts.localExperts; ++e) {
    order.offsets.push_back(next);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (ids[i] == experts.firstExpert + e)
        order.places[i] = next++;
  }
  order.offsets.push_back(next);
  return order;
}

namespace {

std::string differ(const char *what, std::size_t at, double found,
                   double expected) {
  char text[160];
  std::snprintf(text, sizeof text, "%s, element %zu: found %.9g, expected %.9g",
                what, at, found, expected);
  return text;
}

std::string differ(const char *what, const std::vector<std::int64_t> &got,
                   const std::vector<std::int64_t> &want) {
  for (std::size_t i = 0; i < want.size(); ++i)
    if (i >= got.size() || got[i] != want[i])
      return std::string(what) + ", element " + std::to_string(i) + ": found " +
             (i < got.size() ? std::to_string(got[i]) : "none") +
             ", expected " + std::to_string(want[i]);
  return {};
}

} // namespace

template <typename T>
std::string differenceOf(const ExpertCase &experts,
                         const ExpertInputs<T> &inputs,
                         const ExpertResults<T> &got) {
  ExpertOrder order = orderOf(experts, inputs.ids);
  std::string text = differ("places", got.places, order.places);
  if (text.empty())
    text = differ("offsets", got.offsets, order.offsets);
  if (!text.empty())
    return text;
  const auto width = static_cast<std::size_t>(experts.width),
             chosen = static_cast<std::size_t>(experts.chosen);
  for (std::size_t at = 0; at < inputs.rows.size(); ++at) {
    const std::size_t token = at / width;
    const float row = to_float(inputs.rows[at]);
    float sum = 0;
    for (std::size_t choice = token * chosen; choice < (token + 1) * chosen;
         ++choice) {
      if (order.places[choice] < 0)
        continue;
      const std::size_t place =
          static_cast<std::size_t>(order.places[choice]) * width + at % width;
      if (float found = to_float(got.sorted[place]); found != row)
        return differ("sorted rows", place, found, row);
      sum += inputs.weights[choice] * row;
    }
    const float shared = experts.hasShared ? to_float(inputs.shared[at]) : 0;
    const float want = to_float(from_float<T>(sum * experts.scale + shared)),
                found = to_float(got.merged[at]);
    if (found != want)
      return differ("merged rows", at, found, want);
  }
  return {};
}

#define LAYLINE_INSTANTIATE(T)                                                 \
  template ExpertInputs<T> makeExpertInputs(const ExpertCase &,                \
                                            std::uint32_t);                    \
  template std::string differenceOf(                                           \
      const ExpertCase &, const ExpertInputs<T> &, const ExpertResults<T> &);
LAYLINE_INSTANTIATE(bf16)
LAYLINE_INSTANTIATE(f16)
LAYLINE_INSTANTIATE(float)
#undef LAYLINE_INSTANTIATE

} // namespace layline::kernels::test
