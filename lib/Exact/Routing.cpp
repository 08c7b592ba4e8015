//===- Routing.cpp - rows to the ranks of their experts and back ----------===//
#include "Collectives.h"
#include "layline/Support/Partition.h"

using namespace layline;
using namespace layline::exact;

bool exact::isRouting(OpKind kind) {
  return kind == OpKind::Dispatch || kind == OpKind::Combine;
}

namespace {

using Members = std::vector<Tensor>;

class Router {
public:
  Router(KernelCall &call, const std::vector<int64_t> &group)
      : call(call), group(group), members(int64_t(group.size())) {}

  Tensor dispatch(size_t to, const Members &rows, const Members &ids,
                  int tensor);
  Tensor combine(size_t to, const Members &addends, const Members &ids);

private:
  /// Which members have an expert of row `row` of some ids.
  bool findOwners(const LocalTensor &ids, int64_t row,
                  std::vector<bool> &owners);
  const DimPart &partOn(size_t member, DimRef ref) {
    call.rank = group[member];
    return call.part(ref);
  }

  KernelCall &call;
  const std::vector<int64_t> &group;
  int64_t members;
};

bool Router::findOwners(const LocalTensor &ids, int64_t row,
                        std::vector<bool> &owners) {
  owners.assign(group.size(), false);
  for (int64_t slot = 0; slot < ids.dim(1); ++slot) {
    Element id = ids.data()[row * ids.dim(1) + slot];
    if (id >= Element(call.attrs().experts)) {
      call.fail("id " + std::to_string(id) + " of row " + std::to_string(row) +
                " is none of " + std::to_string(call.attrs().experts) +
                " experts");
      return false;
    }
    owners[getBlockOwner(call.attrs().experts, members, int64_t(id))] = true;
  }
  return true;
}

/// What member `to` gets of operand `tensor`. Where it gets nothing there is
/// something else on every rank, or no id.
Tensor Router::dispatch(size_t to, const Members &rows, const Members &ids,
                        int tensor) {
  const DimPart &places = partOn(to, {-1 - tensor, 0});
  int64_t width = rows[to]->dim(1);
  LocalTensor::Data data(places.size() * width);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = tensor == 1 ? kNoExpert
                          : Hasher("no row")
                                .add(call.signature)
                                .add(uint64_t(group[to]))
                                .add(uint64_t(tensor))
                                .add(uint64_t(i))
                                .element();
  std::vector<bool> owners;
  for (size_t from = 0; from < group.size(); ++from) {
    const std::vector<int64_t> labels = partOn(from, {tensor, 0}).labels;
    for (size_t row = 0; row < labels.size(); ++row) {
      if (!findOwners(*ids[from], int64_t(row), owners))
        return nullptr;
      if (!owners[to])
        continue;
      int64_t place = places.find(labels[row]);
      if (place < 0) {
        call.fail("row " + std::to_string(labels[row]) +
                  " has no place in the result");
        return nullptr;
      }
      const Element *source = rows[from]->data() + int64_t(row) * width;
      std::copy(source, source + width, data.begin() + place * width);
    }
  }
  return std::make_shared<const LocalTensor>(Shape{places.size(), width},
                                             std::move(data));
}

/// Of each row of member `to` the sum of what its experts' ranks have.
Tensor Router::combine(size_t to, const Members &addends, const Members &ids) {
  const std::vector<int64_t> own = partOn(to, {1, 0}).labels;
  int64_t width = addends[to]->dim(1);
  LocalTensor::Data data(int64_t(own.size()) * width);
  std::vector<bool> owners;
  for (size_t row = 0; row < own.size(); ++row) {
    if (!findOwners(*ids[to], int64_t(row), owners))
      return nullptr;
    for (size_t from = 0; from < group.size(); ++from) {
      if (!owners[from])
        continue;
      int64_t place = partOn(from, {0, 0}).find(own[row]);
      if (place < 0) {
        call.fail("row " + std::to_string(own[row]) + " is not on rank " +
                  std::to_string(group[from]));
        return nullptr;
      }
      for (int64_t i = 0; i < width; ++i) {
        Element &sum = data[int64_t(row) * width + i];
        sum = add(sum, addends[from]->data()[place * width + i]);
      }
    }
  }
  call.rank = group[to];
  return std::make_shared<const LocalTensor>(Shape{int64_t(own.size()), width},
                                             std::move(data));
}

} // namespace

void exact::runRouting(KernelCall &call, const std::vector<int64_t> &group,
                       const std::vector<std::vector<Tensor>> &inputs,
                       std::vector<std::vector<Tensor>> &outputs) {
  for (const Members &tensors : inputs)
    for (size_t member = 1; member < group.size(); ++member)
      if (tensors[member]->dim(1) != tensors[0]->dim(1)) {
        call.rank = group[member];
        return call.fail(
            "rows have " + std::to_string(tensors[member]->dim(1)) +
            " elements here, but " + std::to_string(tensors[0]->dim(1)) +
            " on rank " + std::to_string(group[0]));
      }
  Router router(call, group);
  for (size_t result = 0; result < outputs.size(); ++result) {
    outputs[result].assign(group.size(), nullptr);
    for (size_t to = 0; to < group.size(); ++to) {
      outputs[result][to] =
          call.op.kind == OpKind::Dispatch
              ? router.dispatch(to, inputs[result], inputs[1], int(result))
              : router.combine(to, inputs[0], inputs[1]);
      if (!outputs[result][to])
        return;
    }
  }
}
