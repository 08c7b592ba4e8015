//===- RopeKernel.cpp - rotation of pairs of features ---------------------===//
#include "Kernels.h"
#include <algorithm>

using namespace layline;
using namespace layline::exact;

namespace {

/// Where a feature of the result finds what it is made of.
struct Feature {
  int64_t own = -1;     ///< stored position of the feature that it goes on from
  int64_t partner = -1; ///< -1: not rotated
  bool isFirst = false;
  double inverseFrequency = 0;
};

int64_t findOffset(const DimPart &part, int64_t offset) {
  auto at = std::find(part.offsets.begin(), part.offsets.end(), offset);
  return at == part.offsets.end() ? -1 : at - part.offsets.begin();
}

/// By stored position of the result.
std::vector<Feature> pairFeatures(KernelCall &call,
                                  const std::vector<double> &frequencies) {
  const DimPart &from = call.part({0, 2}), &to = call.part({-1, 2});
  int64_t pairs = int64_t(frequencies.size());
  const RopeTable &rope = *call.attrs().rope;
  std::vector<Feature> features;
  for (int64_t at : to.offsets) {
    Feature feature;
    if (at >= 2 * pairs) {
      feature.own = findOffset(from, at);
    } else {
      bool isSplit = rope.isReordered || !rope.isInterleaved;
      int64_t pair = isSplit ? at % pairs : at / 2;
      feature.isFirst = isSplit ? at < pairs : at % 2 == 0;
      // The pair as it comes in.
      int64_t first = rope.isInterleaved ? 2 * pair : pair;
      int64_t second = rope.isInterleaved ? 2 * pair + 1 : pair + pairs;
      feature.own = findOffset(from, feature.isFirst ? first : second);
      feature.partner = findOffset(from, feature.isFirst ? second : first);
      feature.inverseFrequency = frequencies[pair];
      if (!call.require(feature.partner >= 0,
                        "a feature's partner in the rotation is not there"))
        break;
    }
    if (!call.require(feature.own >= 0, "a feature to rotate is not there"))
      break;
    features.push_back(feature);
  }
  return features;
}

} // namespace

void exact::ropeKernel(KernelCall &call) {
  const LocalTensor &x = call.in(0), &positions = call.in(1);
  const RopeTable &table = *call.attrs().rope;
  int64_t largest = call.run.base + call.run.past + call.run.tokens - 1;
  const RopeTable::Numbers &numbers =
      table.longNumbers && largest >= table.longAbove ? *table.longNumbers
                                                      : table.numbers;
  if (!call.require(
          int64_t(2 * numbers.inverseFrequencies.size()) <=
              call.part({0, 2}).extent,
          "the rotated width is larger than what the rank holds of a head"))
    return;
  std::vector<Feature> features =
      pairFeatures(call, numbers.inverseFrequencies);
  if (!call.fault.empty())
    return;
  // Of the frequencies only some are run; so every rotation knows them all.
  Hasher cosine("rope cosine"), sine("rope sine");
  for (Hasher *hasher : {&cosine, &sine}) {
    hasher->add(numbers.factor);
    for (double frequency : numbers.inverseFrequencies)
      hasher->add(frequency);
  }
  int64_t heads = x.dim(1), width = x.dim(2), out = call.part({-1, 2}).size();
  LocalTensor::Data data(x.dim(0) * heads * out);
  for (int64_t t = 0; t < x.dim(0); ++t)
    for (int64_t i = 0; i < out; ++i) {
      bool isPadding = i >= int64_t(features.size());
      Feature feature = isPadding ? Feature() : features[i];
      Element c = 1, s = 0;
      if (feature.partner >= 0) {
        auto rotation = [&](Hasher hasher) {
          return hasher.add(positions.data()[t])
              .add(feature.inverseFrequency)
              .element();
        };
        c = rotation(cosine);
        s = rotation(sine);
        if (feature.isFirst)
          s = negate(s);
      }
      for (int64_t h = 0; h < heads; ++h) {
        const Element *row = x.data() + (t * heads + h) * width;
        Element &y = data[(t * heads + h) * out + i];
        if (isPadding)
          y = garbage(call, (t * heads + h) * out + i);
        else if (feature.partner < 0)
          y = row[feature.own];
        else
          y = add(mul(row[feature.own], c), mul(row[feature.partner], s));
      }
    }
  call.set({x.dim(0), heads, out}, std::move(data));
}
