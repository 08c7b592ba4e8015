#include "harness/RopeRows.h"
#include "harness/Bounds.h"

#include <random>

namespace layline::kernels::test {

using device::bf16;
using device::f16;

Variant ropeOf(DType dtype, int ranks, RopeStyle style, bool byElement) {
  Variant variant;
  variant.family = Family::Rope;
  variant.dtype = dtype;
  variant.ranks = ranks;
  variant.output = ranks == 1 ? Output::Own : Output::Everyone;
  variant.style = style;
  variant.byElement = byElement;
  return variant;
}

template <typename T>
RopeInputs<T> makeRopeInputs(const RopeCase &rope, std::uint32_t salt) {
  std::mt19937 random(salt);
  std::normal_distribution<float> normal;
  RopeInputs<T> inputs;
  inputs.rows.resize(static_cast<std::size_t>(rope.tokens * rope.width()));
  for (T &value : inputs.rows)
    value = device::from_float<T>(normal(random));
  for (std::int64_t t = 0; t < rope.tokens; ++t)
    inputs.positions.push_back(rope.firstPosition + salt % 17 + (t * 7) % 1000);
  for (int i = 0; i < rope.rotary / 2; ++i) {
    inputs.frequencies.push_back(std::pow(1e4, -2.0 * i / rope.rotary));
    inputs.halfTurns.push_back(inputs.frequencies.back() / std::acos(-1.0));
  }
  return inputs;
}

namespace {

/// A cosine or sine, rounded to float: of an angle that float64 has within two
/// of its steps, whichever way it is reduced.
Near turned(double exact, double angle) {
  return rounded(exact, std::abs(angle) * 0x1p-51);
}

std::string placeOf(const RopeCase &rope, std::int64_t head, int feature) {
  return "row " + std::to_string(head / rope.heads) + ", head " +
         std::to_string(head % rope.heads) + ", feature " +
         std::to_string(feature) + ": ";
}

} // namespace

template <typename T>
std::string ropeOutsideOf(const RopeCase &rope, const RopeInputs<T> &inputs,
                          const std::vector<T> &got) {
  if (got.size() != inputs.rows.size())
    return "found " + std::to_string(got.size()) + " numbers, expected " +
           std::to_string(inputs.rows.size());
  const int pairs = rope.rotary / 2;
  const bool fromHalf = rope.variant.style == RopeStyle::Half,
             toHalf = rope.variant.style != RopeStyle::Interleaved;
  for (std::int64_t head = 0; head < rope.tokens * rope.heads; ++head) {
    const T *from = inputs.rows.data() + head * rope.headWidth,
            *to = got.data() + head * rope.headWidth;
    auto at = [&](int feature, Near want) -> std::string {
      return isOutside(to[feature], want)
                 ? placeOf(rope, head, feature) +
                       foundAndExpected(to[feature], want)
                 : "";
    };
    for (int i = 0; i < pairs; ++i) {
      double angle =
          static_cast<double>(
              inputs.positions[static_cast<std::size_t>(head / rope.heads)]) *
          inputs.frequencies[static_cast<std::size_t>(i)];
      Near cosine = turned(std::cos(angle) * rope.attentionFactor, angle),
           sine = turned(std::sin(angle) * rope.attentionFactor, angle),
           a = exactly(from[fromHalf ? i : 2 * i]),
           b = exactly(from[fromHalf ? i + pairs : 2 * i + 1]);
      std::string text =
          at(toHalf ? i : 2 * i, a * cosine + b * Near{-sine.x, sine.e});
      if (text.empty())
        text = at(toHalf ? i + pairs : 2 * i + 1, b * cosine + a * sine);
      if (!text.empty())
        return text;
    }
    for (int i = rope.rotary; i < rope.headWidth; ++i)
      if (std::string text = at(i, exactly(from[i])); !text.empty())
        return text;
  }
  return {};
}

#define LAYLINE_INSTANTIATE(T)                                                 \
  template RopeInputs<T> makeRopeInputs(const RopeCase &, std::uint32_t);      \
  template std::string ropeOutsideOf(const RopeCase &, const RopeInputs<T> &,  \
                                     const std::vector<T> &);
LAYLINE_INSTANTIATE(bf16)
LAYLINE_INSTANTIATE(f16)
LAYLINE_INSTANTIATE(float)
#undef LAYLINE_INSTANTIATE

} // namespace layline::kernels::test
