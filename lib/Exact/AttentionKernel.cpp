//===- AttentionKernel.cpp - softmax attention ----------------------------===//
#include "Kernels.h"
#include <algorithm>

using namespace layline;
using namespace layline::exact;

namespace {

/// One head of [rows, heads, width], with a digest to know it again by.
Tensor takeHead(const LocalTensor &x, int64_t head) {
  int64_t width = x.dim(2);
  LocalTensor::Data data;
  data.reserve(x.dim(0) * width);
  for (int64_t t = 0; t < x.dim(0); ++t) {
    const Element *row = x.data() + (t * x.dim(1) + head) * width;
    data.insert(data.end(), row, row + width);
  }
  return std::make_shared<const LocalTensor>(Shape{x.dim(0), width},
                                             std::move(data));
}

struct Head {
  Tensor query, keys, values;
  std::optional<Element> sink;
};

/// Numerator and denominator are summed apart, as partial softmaxes that are
/// merged would be; a row that sees nothing has none and gets zeros.
Tensor attend(const KernelCall &call, const Head &head) {
  const LocalTensor &positions = call.in(3), &keyPositions = call.in(4);
  int64_t rows = head.query->dim(0), keys = head.keys->dim(0);
  int64_t width = head.query->dim(1), valueWidth = head.values->dim(1);
  // Windows are longer than a run; so the function knows the mask's kind too.
  Hasher function("attention");
  function.add(call.attrs().factor)
      .add(call.attrs().softcap)
      .add(uint64_t(call.attrs().isCausal))
      .add(uint64_t(call.attrs().window.value_or(-1)));
  LocalTensor::Data data(rows * valueWidth);
  std::vector<Element> denominators(rows);
  std::vector<DotProduct> numerators(valueWidth);
  for (int64_t t = 0; t < rows; ++t) {
    numerators.assign(valueWidth, {});
    const Element *q = head.query->data() + t * width;
    for (int64_t s = 0; s < keys; ++s) {
      if (!isVisible(call.attrs(), int64_t(positions.data()[t]),
                     int64_t(keyPositions.data()[s])))
        continue;
      DotProduct score;
      for (int64_t i = 0; i < width; ++i)
        score.add(q[i], head.keys->data()[s * width + i]);
      Element e = Hasher(function).add(score.get()).element();
      denominators[t] = add(denominators[t], e);
      for (int64_t i = 0; i < valueWidth; ++i)
        numerators[i].add(e, head.values->data()[s * valueWidth + i]);
    }
    for (int64_t i = 0; i < valueWidth; ++i)
      data[t * valueWidth + i] = numerators[i].get();
  }
  // A key that every row sees and that has no value.
  if (head.sink)
    for (Element &sum : denominators)
      sum = add(sum, Hasher("attention sink").add(*head.sink).element());
  invertAll(denominators);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = mul(data[i], denominators[i / valueWidth]);
  return std::make_shared<const LocalTensor>(Shape{rows, valueWidth},
                                             std::move(data));
}

/// The reference and the rank that has the head share the work.
Tensor attendOnce(KernelCall &call, const Head &head) {
  Digest key = Hasher("attention head")
                   .add(call.signature)
                   .add(head.query->digest)
                   .add(head.keys->digest)
                   .add(head.values->digest)
                   .add(call.in(3).digest)
                   .add(call.in(4).digest)
                   .add(uint64_t(head.sink.has_value()))
                   .add(head.sink.value_or(0))
                   .digest();
  Tensor result = call.memo.find(key);
  if (!result) {
    result = attend(call, head);
    call.memo.insert(key, result);
  }
  return result;
}

} // namespace

bool exact::isVisible(const Attributes &attrs, int64_t query, int64_t key) {
  return (!attrs.isCausal || key <= query) &&
         (!attrs.window || query - key < *attrs.window);
}

void exact::attentionKernel(KernelCall &call) {
  const std::vector<Value> &values = call.sampled.program->values;
  int64_t perKVHead = values[call.op.operands[0]].shape[1].constant() /
                      values[call.op.operands[1]].shape[1].constant();
  const LocalTensor &query = call.in(0);
  const DimPart &heads = call.part({0, 1}), &keyHeads = call.part({1, 1}),
                &valueHeads = call.part({2, 1});
  int64_t rows = query.dim(0), count = query.dim(1);
  int64_t valueWidth = call.in(2).dim(2);
  LocalTensor::Data data(rows * count * valueWidth);
  Head head;
  int64_t last = -1;
  int64_t valid = int64_t(heads.labels.size());
  if (!call.require(perKVHead > 0, "query heads do not fit KV heads"))
    return;
  // Whatever a kernel gives for padding means nothing.
  for (int64_t t = 0; t < rows; ++t)
    for (int64_t i = valid * valueWidth; i < count * valueWidth; ++i)
      data[t * count * valueWidth + i] =
          garbage(call, t * count * valueWidth + i);
  for (int64_t h = 0; h < valid; ++h) {
    int64_t kvHead = heads.labels[h] / perKVHead;
    int64_t key = keyHeads.find(kvHead), value = valueHeads.find(kvHead);
    if (key < 0 || value < 0)
      return call.fail("query head " + std::to_string(heads.labels[h]) +
                       " reads KV head " + std::to_string(kvHead) +
                       ", which the rank does not hold");
    if (kvHead != last) {
      head.keys = takeHead(call.in(1), key);
      head.values = takeHead(call.in(2), value);
      last = kvHead;
    }
    head.query = takeHead(query, h);
    if (call.operands.size() > 5)
      head.sink = call.in(5).data()[h];
    Tensor result = attendOnce(call, head);
    for (int64_t t = 0; t < rows; ++t)
      std::copy_n(result->data() + t * valueWidth, valueWidth,
                  data.data() + (t * count + h) * valueWidth);
  }
  call.set({rows, count, valueWidth}, std::move(data));
}
