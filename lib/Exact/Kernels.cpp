//===- Kernels.cpp - dispatch, and kernels that move data only ------------===//
#include "Kernels.h"
#include "Layouts.h"
#include <algorithm>

using namespace layline;
using namespace layline::exact;

const DimPart &KernelCall::part(DimRef ref) const {
  return layouts.part(valueOf(op, ref), ref.dim, rank);
}

unsigned KernelCall::dims(int tensor) const {
  return layouts.dims(valueOf(op, {tensor, 0}));
}

Shape KernelCall::resultShape(int result) const {
  Shape shape;
  for (unsigned dim = 0; dim < dims(-1 - result); ++dim)
    shape.append(part({-1 - result, dim}).size());
  return shape;
}

void KernelCall::set(const Shape &shape, LocalTensor::Data data, int result) {
  results[result] = std::make_shared<const LocalTensor>(shape, std::move(data));
}

Element exact::garbage(const KernelCall &call, uint64_t index) {
  return Hasher("garbage")
      .add(call.signature)
      .add(uint64_t(call.opIndex))
      .add(uint64_t(call.rank))
      .add(index)
      .element();
}

bool exact::isSampled(const KernelCall &call, ValueId value, Element index) {
  const Items *items = call.sampled.items[value][0];
  return !items ||
         std::binary_search(items->begin(), items->end(), int64_t(index));
}

Tensor exact::take(const KernelCall &call, const LocalTensor &from,
                   unsigned dim, const std::vector<int64_t> &positions,
                   int64_t size) {
  Shape shape = from.shape;
  shape[dim] = size;
  int64_t outer = 1, inner = 1;
  for (unsigned i = 0; i < dim; ++i)
    outer *= shape[i];
  for (unsigned i = dim + 1; i < shape.size(); ++i)
    inner *= shape[i];
  LocalTensor::Data data;
  data.reserve(outer * size * inner);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t position : positions) {
      const Element *row = from.data() + (o * from.dim(dim) + position) * inner;
      data.insert(data.end(), row, row + inner);
    }
    while (int64_t(data.size()) < (o + 1) * size * inner)
      data.push_back(garbage(call, data.size()));
  }
  return std::make_shared<const LocalTensor>(shape, std::move(data));
}

/// The elements of the result's part, wherever the operand has them: slice,
/// pad, unpad, and what a reduce-scatter keeps of the sum.
void exact::partKernel(KernelCall &call) {
  unsigned dim = call.attrs().dim;
  const DimPart &from = call.part({0, dim}), &to = call.part({-1, dim});
  std::vector<int64_t> positions;
  for (int64_t label : to.labels) {
    int64_t position = from.find(label);
    if (position < 0)
      return call.fail("element " + std::to_string(label) + " of dimension " +
                       std::to_string(dim) + " is not in the rank's operand");
    positions.push_back(position);
  }
  call.results[0] = take(call, call.in(0), dim, positions, to.size());
}

void exact::reshapeKernel(KernelCall &call) {
  Shape shape = call.resultShape();
  if (call.require(shape.product() == call.in(0).count(),
                   "heads and width do not make up the flat dimension"))
    call.results[0] = std::make_shared<const LocalTensor>(call.in(0), shape);
}

void exact::relabelKernel(KernelCall &call) {
  const LocalTensor &from = call.in(0);
  Shape shape = call.resultShape();
  int64_t count = shape.product();
  bool isFlat = shape.size() != from.shape.size();
  LocalTensor::Data data(count);
  for (int64_t i = 0; i < count; ++i) {
    // The same position in every dimension, or, seen with other dimensions,
    // in memory.
    int64_t at = isFlat ? i : 0;
    bool isThere = !isFlat || i < from.count();
    int64_t rest = i, stride = 1;
    for (size_t dim = shape.size(); !isFlat && dim-- > 0;) {
      int64_t index = rest % shape[dim];
      rest /= shape[dim];
      isThere &= index < from.dim(dim);
      at += index * stride;
      stride *= from.dim(dim);
    }
    data[i] = isThere ? from.data()[at] : garbage(call, i);
  }
  call.set(shape, std::move(data));
}

void exact::addCoordinates(const KernelCall &call, Hasher &key) {
  auto addRun = [&] {
    key.add(uint64_t(call.run.tokens))
        .add(uint64_t(call.run.past))
        .add(uint64_t(call.run.base));
  };
  auto addPart = [&](int tensor, unsigned dim) {
    key.add(call.part({tensor, dim}).digest);
  };
  auto addGarbage = [&](const DimPart &part) {
    if (part.padStored != 0)
      key.add(uint64_t(call.opIndex)).add(uint64_t(call.rank));
  };
  auto addResult = [&] {
    for (unsigned dim = 0; dim < call.dims(-1); ++dim) {
      addPart(-1, dim);
      addGarbage(call.part({-1, dim}));
    }
  };
  switch (call.op.kind) {
  case OpKind::Input:
  case OpKind::Cache:
    addRun();
    return addResult();
  case OpKind::Weight:
    return addResult();
  case OpKind::Relabel:
    key.add(uint64_t(call.opIndex)).add(uint64_t(call.rank));
    return addResult();
  case OpKind::Embedding:
    return addPart(1, 0);
  case OpKind::Rope:
    addRun();
    addGarbage(call.part({-1, 2}));
    addPart(-1, 2);
    return addPart(0, 2);
  case OpKind::SplitHeads:
  case OpKind::MergeHeads:
    for (unsigned dim = 0; dim < call.dims(-1); ++dim)
      key.add(uint64_t(call.part({-1, dim}).size()));
    return;
  case OpKind::Attention:
    for (int operand : {0, 1, 2})
      addPart(operand, 1);
    addGarbage(call.part({-1, 1}));
    for (ValueId value : {call.op.operands[0], call.op.operands[1]})
      key.add(
          uint64_t(call.sampled.program->values[value].shape[1].constant()));
    return;
  case OpKind::LatentAttention:
    for (int operand : {0, 4, 5})
      addPart(operand, operand == 0 ? 1 : 0);
    return addGarbage(call.part({-1, 1}));
  case OpKind::Indexer:
    return addPart(-1, 1);
  case OpKind::Router:
    addPart(0, 1);
    return addPart(-1, 1);
  case OpKind::Experts:
  case OpKind::AddExpertBias:
    return addPart(3, 0);
  case OpKind::SliceColumns:
  case OpKind::ConcatColumns: {
    unsigned last = call.dims(-1) - 1;
    for (int operand = 0; operand < int(call.op.operands.size()); ++operand)
      addPart(operand, last);
    addGarbage(call.part({-1, last}));
    return addPart(-1, last);
  }
  case OpKind::Pad:
  case OpKind::Unpad:
  case OpKind::Slice:
  case OpKind::ReduceScatter:
    addPart(0, call.attrs().dim);
    addGarbage(call.part({-1, call.attrs().dim}));
    return addPart(-1, call.attrs().dim);
  default:
    return;
  }
}

void exact::runKernel(KernelCall &call) {
  switch (call.op.kind) {
  case OpKind::Input:
    return inputKernel(call);
  case OpKind::Weight:
    return weightKernel(call);
  case OpKind::Embedding:
    return embeddingKernel(call);
  case OpKind::Norm:
    return normKernel(call);
  case OpKind::RowSquares:
    return rowSquaresKernel(call);
  case OpKind::NormBy:
    return normByKernel(call);
  case OpKind::Linear:
    return linearKernel(call);
  case OpKind::SplitHeads:
  case OpKind::MergeHeads:
    return reshapeKernel(call);
  case OpKind::Rope:
    return ropeKernel(call);
  case OpKind::Cache:
    return cacheKernel(call);
  case OpKind::Attention:
    return attentionKernel(call);
  case OpKind::LatentAttention:
    return latentAttentionKernel(call);
  case OpKind::Indexer:
    return indexerKernel(call);
  case OpKind::Router:
    return routerKernel(call);
  case OpKind::Experts:
    return expertsKernel(call);
  case OpKind::AddExpertBias:
    return addExpertBiasKernel(call);
  case OpKind::AddBias:
    return addBiasKernel(call);
  case OpKind::Quantize:
    return quantizeKernel(call);
  case OpKind::Activation:
  case OpKind::GatedActivation:
  case OpKind::Add:
  case OpKind::Mul:
  case OpKind::Scale:
  case OpKind::Cast:
  case OpKind::Dequantize:
  case OpKind::RowScale:
    return elementwiseKernel(call);
  case OpKind::SliceColumns:
    return sliceColumnsKernel(call);
  case OpKind::ConcatColumns:
    return concatColumnsKernel(call);
  case OpKind::Pad:
  case OpKind::Unpad:
  case OpKind::Slice:
    return partKernel(call);
  case OpKind::Relabel:
    return relabelKernel(call);
  case OpKind::AllReduce:
  case OpKind::ReduceScatter:
  case OpKind::AllGather:
  case OpKind::Broadcast:
  case OpKind::Dispatch:
  case OpKind::Combine:
    return call.fail("a collective is no op of one rank");
  }
}
