//===- RopeTable.cpp - rotary frequencies of a model ----------------------===//
//
// Each function follows the one of its name in transformers 5.24.0,
// modeling_rope_utils.py, which computes in float32.
//
//===----------------------------------------------------------------------===//

#include "layline/Import/RopeTable.h"
#include <algorithm>
#include <cmath>

using namespace layline;

namespace {

constexpr double kPi = 3.14159265358979323846;

std::vector<double> plainFrequencies(const RopeConfig &rope) {
  std::vector<double> frequencies;
  double width = static_cast<double>(rope.rotaryDim);
  for (int64_t even = 0; even < rope.rotaryDim; even += 2)
    frequencies.push_back(
        1 / std::pow(rope.theta, static_cast<double>(even) / width));
  return frequencies;
}

/// Frequencies whose wavelength the pre-training context holds often enough
/// stay, the long ones are divided by the factor, those between are blended.
void scaleLlama3(const RopeScaling &scaling, std::vector<double> &frequencies) {
  double context = static_cast<double>(scaling.originalMaxPositions);
  for (double &frequency : frequencies) {
    double wavelength = 2 * kPi / frequency;
    if (wavelength < context / scaling.highFreqFactor)
      continue;
    if (wavelength > context / scaling.lowFreqFactor) {
      frequency /= scaling.factor;
      continue;
    }
    double smooth = (context / wavelength - scaling.lowFreqFactor) /
                    (scaling.highFreqFactor - scaling.lowFreqFactor);
    frequency = (1 - smooth) * frequency / scaling.factor + smooth * frequency;
  }
}

double yarnMscale(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

double yarnAttentionFactor(const RopeScaling &scaling) {
  if (scaling.attentionFactor)
    return *scaling.attentionFactor;
  if (scaling.mscale != 0 && scaling.mscaleAllDim != 0)
    return yarnMscale(scaling.factor, scaling.mscale) /
           yarnMscale(scaling.factor, scaling.mscaleAllDim);
  return yarnMscale(scaling.factor, 1);
}

/// Dimensions that turn more than betaFast times in the pre-training context
/// keep their frequency, those below betaSlow turns are divided by the factor,
/// with a linear ramp between.
void scaleYarn(const RopeConfig &rope, std::vector<double> &frequencies) {
  const RopeScaling &scaling = rope.scaling;
  double width = static_cast<double>(rope.rotaryDim);
  auto dimensionTurning = [&](double turns) {
    double context = static_cast<double>(scaling.originalMaxPositions);
    return width * std::log(context / (turns * 2 * kPi)) /
           (2 * std::log(rope.theta));
  };
  double low = dimensionTurning(scaling.betaFast);
  double high = dimensionTurning(scaling.betaSlow);
  if (scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, width - 1);
  if (low == high)
    high += 0.001; // HF: prevents a division by zero

  for (size_t i = 0; i < frequencies.size(); ++i) {
    double ramp = (static_cast<double>(i) - low) / (high - low);
    double keep = 1 - std::clamp(ramp, 0.0, 1.0);
    frequencies[i] =
        frequencies[i] / scaling.factor * (1 - keep) + frequencies[i] * keep;
  }
}

RopeFrequencies longRope(const RopeConfig &rope,
                         const std::vector<double> &divisors) {
  const RopeScaling &scaling = rope.scaling;
  RopeFrequencies result;
  result.invFreq = plainFrequencies(rope);
  for (size_t i = 0; i < result.invFreq.size(); ++i)
    result.invFreq[i] /= divisors[i];
  if (scaling.attentionFactor)
    result.attentionFactor = *scaling.attentionFactor;
  else if (scaling.factor > 1)
    result.attentionFactor = std::sqrt(
        1 + std::log(scaling.factor) /
                std::log(static_cast<double>(scaling.originalMaxPositions)));
  return result;
}

} // namespace

RopeTable layline::computeRopeTable(const RopeConfig &rope) {
  RopeTable table;
  std::vector<double> &frequencies = table.base.invFreq;
  frequencies = plainFrequencies(rope);
  switch (rope.scaling.kind) {
  case RopeScalingKind::None:
    break;
  case RopeScalingKind::Linear:
    for (double &frequency : frequencies)
      frequency /= rope.scaling.factor;
    break;
  case RopeScalingKind::Llama3:
    scaleLlama3(rope.scaling, frequencies);
    break;
  case RopeScalingKind::Yarn:
    scaleYarn(rope, frequencies);
    table.base.attentionFactor = yarnAttentionFactor(rope.scaling);
    break;
  case RopeScalingKind::LongRope:
    table.base = longRope(rope, rope.scaling.shortFactor);
    table.longContext =
        RopeTable::LongContext{rope.scaling.originalMaxPositions,
                               longRope(rope, rope.scaling.longFactor)};
    break;
  }
  return table;
}
