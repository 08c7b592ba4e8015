//===- Collectives.cpp - ops that ranks run together ----------------------===//
#include "Collectives.h"
#include <algorithm>

using namespace layline;
using namespace layline::exact;

bool exact::isCollective(OpKind kind) {
  return kind == OpKind::AllReduce || kind == OpKind::ReduceScatter ||
         kind == OpKind::AllGather || kind == OpKind::Broadcast ||
         isRouting(kind);
}

static Digest keyOf(const char *what, const std::vector<Tensor> &inputs) {
  Hasher key(what);
  for (const Tensor &input : inputs)
    key.add(input->digest);
  return key.digest();
}

Tensor exact::sumOnce(const std::vector<Tensor> &addends, Memo &memo) {
  Digest key = keyOf("sum", addends);
  if (Tensor known = memo.find(key))
    return known;
  LocalTensor::Data data(addends.front()->values);
  for (size_t member = 1; member < addends.size(); ++member)
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = add(data[i], addends[member]->data()[i]);
  auto total = std::make_shared<const LocalTensor>(addends.front()->shape,
                                                   std::move(data));
  memo.insert(key, total);
  return total;
}

namespace {

class Collective {
public:
  Collective(KernelCall &call, const std::vector<int64_t> &group,
             const std::vector<Tensor> &inputs)
      : call(call), group(group), inputs(inputs) {}

  Tensor sum();
  void scatter(const Tensor &whole, std::vector<Tensor> &outputs);
  void gather(std::vector<Tensor> &outputs);
  void broadcast(std::vector<Tensor> &outputs);

private:
  /// Fails unless all members show tensors of one shape, but for `except`.
  bool haveOneShape(std::optional<unsigned> except);
  Tensor gatherFor(size_t member);

  KernelCall &call;
  const std::vector<int64_t> &group;
  const std::vector<Tensor> &inputs;
};

bool Collective::haveOneShape(std::optional<unsigned> except) {
  const Shape &first = inputs.front()->shape;
  for (size_t member = 1; member < inputs.size(); ++member)
    for (unsigned dim = 0; dim < first.size(); ++dim) {
      if (dim == except)
        continue;
      call.rank = group[0];
      const DimPart &a = call.part({0, dim});
      call.rank = group[member];
      const DimPart &b = call.part({0, dim});
      if (a.fits(b) && inputs[member]->dim(dim) == first[dim])
        continue;
      call.fail("dimension " + std::to_string(dim) + " is " +
                std::to_string(b.extent + b.padding) + " long here, but " +
                std::to_string(a.extent + a.padding) + " on rank " +
                std::to_string(group[0]));
      return false;
    }
  return true;
}

Tensor Collective::sum() {
  return haveOneShape(std::nullopt) ? sumOnce(inputs, call.memo) : nullptr;
}

void Collective::scatter(const Tensor &whole, std::vector<Tensor> &outputs) {
  call.operands = {whole};
  for (size_t member = 0; member < group.size(); ++member) {
    call.rank = group[member];
    Hasher coordinates("part");
    coordinates.add(whole->digest);
    addCoordinates(call, coordinates);
    Digest key = coordinates.digest();
    outputs[member] = call.memo.find(key);
    if (outputs[member])
      continue;
    partKernel(call);
    if (!call.fault.empty())
      return;
    outputs[member] = call.results[0];
    call.memo.insert(key, outputs[member]);
  }
}

/// All parts, where the result of a member has their elements.
Tensor Collective::gatherFor(size_t member) {
  unsigned dim = call.attrs().dim;
  call.rank = group[member];
  const DimPart &to = call.part({-1, dim});
  // By position in the result: who has the element, and where.
  std::vector<std::pair<size_t, int64_t>> sources(to.labels.size(),
                                                  {group.size(), 0});
  for (size_t source = 0; source < group.size(); ++source) {
    call.rank = group[source];
    const std::vector<int64_t> &labels = call.part({0, dim}).labels;
    for (size_t i = 0; i < labels.size(); ++i) {
      int64_t position = to.find(labels[i]);
      if (position < 0) {
        call.fail("element " + std::to_string(labels[i]) + " of dimension " +
                  std::to_string(dim) + " has no place in the result");
        return nullptr;
      }
      sources[position] = {source, int64_t(i)};
    }
  }
  call.rank = group[member];
  Shape shape = inputs[member]->shape;
  shape[dim] = to.size();
  int64_t outer = 1, inner = 1;
  for (unsigned i = 0; i < shape.size(); ++i)
    (i < dim ? outer : inner) *= i == dim ? 1 : shape[i];
  LocalTensor::Data data;
  data.reserve(outer * to.size() * inner);
  for (int64_t o = 0; o < outer; ++o) {
    for (size_t position = 0; position < sources.size(); ++position) {
      auto [source, at] = sources[position];
      if (source == group.size()) {
        call.fail("element " + std::to_string(to.labels[position]) +
                  " of dimension " + std::to_string(dim) +
                  " is held by no rank of the group");
        return nullptr;
      }
      const LocalTensor &from = *inputs[source];
      const Element *row = from.data() + (o * from.dim(dim) + at) * inner;
      data.insert(data.end(), row, row + inner);
    }
    while (int64_t(data.size()) < (o + 1) * to.size() * inner)
      data.push_back(garbage(call, data.size()));
  }
  return std::make_shared<const LocalTensor>(shape, std::move(data));
}

void Collective::gather(std::vector<Tensor> &outputs) {
  unsigned dim = call.attrs().dim;
  if (!haveOneShape(dim))
    return;
  Hasher parts("gather");
  parts.add(keyOf("parts", inputs)).add(uint64_t(dim));
  for (int64_t rank : group) {
    call.rank = rank;
    parts.add(call.part({0, dim}).digest);
  }
  const DimPart *last = nullptr;
  for (size_t member = 0; member < group.size(); ++member) {
    call.rank = group[member];
    const DimPart &to = call.part({-1, dim});
    if (last && last->digest == to.digest && to.padStored == 0) {
      outputs[member] = outputs[member - 1];
      continue;
    }
    last = &to;
    Hasher own = parts;
    own.add(to.digest);
    if (to.padStored != 0)
      own.add(uint64_t(call.opIndex)).add(uint64_t(call.rank));
    Digest key = own.digest();
    outputs[member] = call.memo.find(key);
    if (outputs[member])
      continue;
    outputs[member] = gatherFor(member);
    if (!outputs[member])
      return;
    call.memo.insert(key, outputs[member]);
  }
}

void Collective::broadcast(std::vector<Tensor> &outputs) {
  if (call.attrs().root < 0 || call.attrs().root >= int64_t(group.size()))
    return call.fail("the group has no member " +
                     std::to_string(call.attrs().root));
  if (haveOneShape(std::nullopt))
    std::fill(outputs.begin(), outputs.end(), inputs[call.attrs().root]);
}

} // namespace

void exact::runCollective(KernelCall &call, const std::vector<int64_t> &group,
                          const std::vector<Tensor> &inputs,
                          std::vector<Tensor> &outputs) {
  Collective collective(call, group, inputs);
  outputs.assign(group.size(), nullptr);
  call.rank = group.front();
  switch (call.op.kind) {
  case OpKind::AllReduce:
    if (Tensor total = collective.sum())
      std::fill(outputs.begin(), outputs.end(), total);
    return;
  case OpKind::ReduceScatter:
    if (Tensor total = collective.sum())
      collective.scatter(total, outputs);
    return;
  case OpKind::AllGather:
    return collective.gather(outputs);
  default:
    return collective.broadcast(outputs);
  }
}
