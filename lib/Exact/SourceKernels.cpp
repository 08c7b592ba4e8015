//===- SourceKernels.cpp - inputs, weights, embedding, caches -------------===//
//
// Where elements come from: hashes of what they are and of their true global
// coordinates, so that ranks and programs that mean the same element have it.
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include <numeric>

using namespace layline;
using namespace layline::exact;

/// Fills a result: `element` gives it from the global coordinates. Padding is
/// garbage.
template <typename Function>
static void generate(KernelCall &call, const Function &element) {
  Shape shape = call.resultShape();
  std::vector<const DimPart *> parts;
  int64_t count = 1;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    parts.push_back(&call.part({-1, dim}));
    count *= shape[dim];
  }
  LocalTensor::Data data(count);
  std::vector<int64_t> labels(shape.size());
  for (int64_t i = 0; i < count; ++i) {
    bool isPadding = false;
    int64_t rest = i;
    for (size_t dim = shape.size(); dim-- > 0;) {
      size_t index = rest % shape[dim];
      rest /= shape[dim];
      isPadding |= index >= parts[dim]->labels.size();
      labels[dim] = isPadding ? -1 : parts[dim]->labels[index];
    }
    data[i] = isPadding ? garbage(call, i) : element(labels);
  }
  call.set(shape, std::move(data));
}

static Element hashed(Hasher hasher, const std::vector<int64_t> &labels) {
  for (int64_t label : labels)
    hasher.add(uint64_t(label));
  return hasher.element();
}

void exact::inputKernel(KernelCall &call) {
  const Attributes &attrs = call.attrs();
  Hasher source("input");
  source.add(attrs.input);
  switch (attrs.role) {
  case InputRole::Ids: {
    const Items *entries = call.sampled.vocabulary;
    if (!call.require(entries && !entries->empty(),
                      "there is no vocabulary to draw ids from"))
      return;
    // Every entry once before one comes again, in no order that a split has.
    uint64_t count = entries->size();
    uint64_t stride = 1 + count * 5 / 8;
    while (std::gcd(stride, count) != 1)
      ++stride;
    uint64_t first = hashed(source, {call.run.base}) % count;
    return generate(call, [&](const std::vector<int64_t> &labels) {
      uint64_t row = labels.empty() ? 0 : uint64_t(labels[0]) % count;
      return Element((*entries)[(first + row * stride) % count]);
    });
  }
  case InputRole::Positions:
    if (call.require(call.dims(-1) == 1, "positions have one dimension"))
      generate(call, [&](const std::vector<int64_t> &labels) {
        return Element(call.run.base + call.run.past + labels[0]);
      });
    return;
  case InputRole::Values:
    return generate(call, [&](const std::vector<int64_t> &labels) {
      return hashed(source, labels);
    });
  }
}

void exact::weightKernel(KernelCall &call) {
  const StoredTensor &stored = call.attrs().weight;
  Hasher source("weight");
  source.add(stored.key)
      .add(uint64_t(stored.isStacked))
      .add(uint64_t(stored.isOneTensor))
      .add(uint64_t(stored.isTransposed));
  size_t rowDim = stored.isStacked;
  generate(call, [&](std::vector<int64_t> &labels) {
    if (rowDim < labels.size() && stored.rows) {
      int64_t &row = labels[rowDim];
      int64_t size = stored.rows->size;
      row = stored.period ? row / size * stored.period + row % size : row;
      row += stored.rows->begin;
    }
    return hashed(source, labels);
  });
}

void exact::embeddingKernel(KernelCall &call) {
  const LocalTensor &ids = call.in(0), &table = call.in(1);
  const DimPart &rows = call.part({1, 0});
  int64_t width = table.last();
  LocalTensor::Data data;
  data.reserve(ids.count() * width);
  for (int64_t t = 0; t < ids.count(); ++t) {
    if (!isSampled(call, call.op.operands[1], ids.data()[t]))
      return call.fail("id " + std::to_string(ids.data()[t]) + " of row " +
                       std::to_string(t) + " is none that was asked for");
    int64_t row = rows.find(int64_t(ids.data()[t]));
    for (int64_t i = 0; i < width; ++i)
      // Entries of other ranks are zero here: the result owes the sum.
      data.push_back(row < 0 ? 0 : table.data()[row * width + i]);
  }
  call.set({ids.count(), width}, std::move(data));
}

/// The history is what earlier steps appended: known by layer, plane, position
/// and feature.
void exact::cacheKernel(KernelCall &call) {
  const Attributes &attrs = call.attrs();
  const LocalTensor &rows = call.in(0);
  const DimPart &context = call.part({-1, 0});
  int64_t history = 0;
  while (history < int64_t(context.labels.size()) &&
         context.labels[history] < call.run.past)
    ++history;
  if (!call.require(history + rows.dim(0) == context.size(),
                    "the rows of the step do not fill what the rank caches "
                    "behind its history"))
    return;
  Hasher source("history");
  source.add(uint64_t(attrs.layer)).add(attrs.plane);
  ValueId result = call.op.results[0];
  bool isPosition =
      call.sampled.program->values[result].elements == ElementClass::Integer;
  int64_t next = 0;
  generate(call, [&](std::vector<int64_t> &labels) {
    if (labels[0] >= call.run.past)
      return rows.data()[next++];
    labels[0] += call.run.base;
    return isPosition ? Element(labels[0]) : hashed(source, labels);
  });
}
