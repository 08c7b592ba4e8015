//===- RowKernels.cpp - norm, rope, router, quantisation, elements --------===//
#include "Kernels.h"
#include <algorithm>

using namespace layline;
using namespace layline::exact;

/// rms: y_j = x_j (offset + w_j) h(row); layer: the same of x - mean, + b_j.
void exact::normKernel(KernelCall &call) {
  const LocalTensor &x = call.in(0), &w = call.in(1);
  const LocalTensor *bias = call.operands.size() > 2 ? &call.in(2) : nullptr;
  bool isLayer = call.attrs().function == "layer";
  Element offset = constantElement(call.attrs().weightOffset);
  int64_t width = x.last(), rows = width == 0 ? 0 : x.count() / width;
  Element perElement = inverse(Element(width));
  Hasher function(isLayer ? "layer norm" : "norm");
  function.add(call.attrs().function).add(call.attrs().eps);
  LocalTensor::Data data(x.values);
  for (int64_t r = 0; r < rows; ++r) {
    Element *y = data.data() + r * width;
    if (isLayer) {
      Element mean = 0;
      for (int64_t i = 0; i < width; ++i)
        mean = add(mean, y[i]);
      mean = mul(mean, perElement);
      for (int64_t i = 0; i < width; ++i)
        y[i] = sub(y[i], mean);
    }
    Element scale = Hasher(function).add(y, width).element();
    for (int64_t i = 0; i < width; ++i) {
      // A weight of several rows belongs to the last dimensions together.
      int64_t at = (r * width + i) % w.count();
      y[i] = mul(mul(y[i], scale), add(offset, w.data()[at]));
      if (bias)
        y[i] = add(y[i], bias->data()[(r * width + i) % bias->count()]);
    }
  }
  call.set(x.shape, std::move(data));
}

namespace {

/// Where a stored feature finds its partner and frequency.
struct Feature {
  int64_t partner = -1; ///< -1: not rotated
  bool isFirst = false;
  double inverseFrequency = 0;
};

std::vector<Feature> pairFeatures(KernelCall &call,
                                  const std::vector<double> &frequencies) {
  const DimPart &width = call.part({0, 2});
  int64_t pairs = int64_t(frequencies.size());
  bool isInterleaved = call.attrs().rope->isInterleaved;
  std::vector<Feature> features(width.size());
  for (size_t i = 0; i < width.offsets.size(); ++i) {
    int64_t at = width.offsets[i];
    if (at >= 2 * pairs)
      continue;
    bool isFirst = isInterleaved ? at % 2 == 0 : at < pairs;
    int64_t step = isInterleaved ? 1 : pairs;
    auto partner = std::find(width.offsets.begin(), width.offsets.end(),
                             isFirst ? at + step : at - step);
    if (!call.require(partner != width.offsets.end(),
                      "a feature's partner in the rotation is not there"))
      break;
    features[i] = {partner - width.offsets.begin(), isFirst,
                   frequencies[isInterleaved ? at / 2 : at % pairs]};
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
  int64_t width = x.dim(2);
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
  LocalTensor::Data data(x.values);
  for (int64_t t = 0; t < x.dim(0); ++t)
    for (int64_t i = 0; i < width; ++i) {
      const Feature &feature = features[i];
      if (feature.partner < 0)
        continue;
      auto rotation = [&](Hasher hasher) {
        return hasher.add(positions.data()[t])
            .add(feature.inverseFrequency)
            .element();
      };
      Element c = rotation(cosine), s = rotation(sine);
      if (feature.isFirst)
        s = negate(s);
      for (int64_t h = 0; h < x.dim(1); ++h) {
        const Element *row = x.data() + (t * x.dim(1) + h) * width;
        data[(t * x.dim(1) + h) * width + i] =
            add(mul(row[i], c), mul(row[feature.partner], s));
      }
    }
  call.set(x.shape, std::move(data));
}

void exact::routerKernel(KernelCall &call) {
  const Attributes &attrs = call.attrs();
  const LocalTensor &logits = call.in(0);
  const DimPart &experts = call.part({0, 1}), &slots = call.part({-1, 1});
  int64_t rows = logits.dim(0), count = logits.dim(1), taken = slots.size();
  const Expr &topK = call.sampled.program->values[call.op.results[0]].shape[1];
  if (!call.require(topK.isConstant(attrs.topK),
                    "the results are not top_k wide") ||
      !call.require(taken <= int64_t(experts.offsets.size()),
                    "more experts are taken than there are"))
    return;
  bool isSoftmax = attrs.function == "softmax";
  Hasher function("router");
  function.add(attrs.function);
  Element factor = constantElement(attrs.factor);
  LocalTensor::Data ids(rows * taken), weights(rows * taken);
  std::vector<Element> sums(rows, 1);
  std::vector<int64_t> order(count);
  for (int64_t t = 0; t < rows; ++t) {
    const Element *x = logits.data() + t * count;
    for (int64_t e = 0; e < count; ++e)
      order[e] = e;
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return x[a] != x[b] ? x[a] > x[b] : a < b;
    });
    auto score = [&](int64_t e) {
      return Hasher(function).add(x[e]).element();
    };
    Element all = 0, chosen = 0;
    for (int64_t e = 0; isSoftmax && e < count; ++e)
      all = add(all, score(e));
    for (int64_t k = 0; k < taken; ++k) {
      // A device numbers the experts by their place in the row it holds.
      size_t e = order[k];
      ids[t * taken + k] = e < experts.offsets.size() ? experts.offsets[e] : e;
      weights[t * taken + k] = mul(score(order[k]), factor);
      chosen = add(chosen, score(order[k]));
    }
    if (attrs.renormalize)
      sums[t] = chosen;
    else if (isSoftmax)
      sums[t] = all;
  }
  invertAll(sums);
  for (int64_t i = 0; i < rows * taken; ++i)
    weights[i] = mul(weights[i], sums[i / taken]);
  call.set({rows, taken}, std::move(ids), 0);
  call.set({rows, taken}, std::move(weights), 1);
}

void exact::quantizeKernel(KernelCall &call) {
  const LocalTensor &x = call.in(0);
  int64_t width = x.last(), rows = width == 0 ? 0 : x.count() / width;
  LocalTensor::Data values(x.count()), scales(rows);
  for (int64_t r = 0; r < rows; ++r) {
    const Element *row = x.data() + r * width;
    scales[r] = Hasher("quantisation scale")
                    .add(call.attrs().format)
                    .add(row, width)
                    .element();
    Hasher function("quantised");
    function.add(call.attrs().format).add(scales[r]);
    for (int64_t i = 0; i < width; ++i)
      values[r * width + i] = Hasher(function).add(row[i]).element();
  }
  Shape scaleShape = x.shape;
  scaleShape.back() = 1;
  call.set(x.shape, std::move(values), 0);
  if (call.require(rows * width == x.count() &&
                       call.resultShape(1) == scaleShape,
                   "the scales are not one a row"))
    call.set(scaleShape, std::move(scales), 1);
}
