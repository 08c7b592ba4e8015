//===- Memo.cpp - local tensors and what was computed of them -------------===//
#include "layline/Exact/Memo.h"

using namespace layline::exact;

int64_t Shape::product() const {
  int64_t product = 1;
  for (size_t dim = 0; dim < count; ++dim)
    product *= extents[dim];
  return product;
}

static Digest digestOf(const Shape &shape, const Digest &data) {
  Hasher hasher("tensor");
  hasher.add(uint64_t(shape.size())).add(data);
  for (size_t dim = 0; dim < shape.size(); ++dim)
    hasher.add(uint64_t(shape[dim]));
  return hasher.digest();
}

LocalTensor::LocalTensor(const Shape &shape, Data data)
    : shape(shape), values(std::move(data)),
      dataDigest(Hasher("data").add(values.data(), values.size()).digest()),
      digest(digestOf(shape, dataDigest)) {}

LocalTensor::LocalTensor(const LocalTensor &other, const Shape &shape)
    : shape(shape), values(other.values), dataDigest(other.dataDigest),
      digest(digestOf(shape, dataDigest)) {}

RankTensors::RankTensors(std::vector<Tensor> tensors)
    : ranks(std::move(tensors)) {
  Hasher hasher("tensors of the ranks");
  for (const Tensor &tensor : ranks)
    hasher.add(tensor->digest);
  digest = hasher.digest();
}

template <typename Result>
const Result *Memo::Table<Result>::find(const Digest &key) const {
  if (slots.empty())
    return nullptr;
  for (size_t i = key.low;; ++i) {
    const Slot &slot = slots[i & (slots.size() - 1)];
    if (!slot.result)
      return nullptr;
    if (slot.key == key)
      return &slot.result;
  }
}

template <typename Result> void Memo::Table<Result>::grow() {
  std::vector<Slot> before = std::move(slots);
  slots = std::vector<Slot>(before.empty() ? 1024 : 2 * before.size());
  used = 0;
  for (Slot &slot : before)
    if (slot.result)
      insert(slot.key, std::move(slot.result));
}

template <typename Result>
void Memo::Table<Result>::insert(const Digest &key, Result result) {
  if (2 * used >= slots.size())
    grow();
  size_t i = key.low & (slots.size() - 1);
  while (slots[i].result && slots[i].key != key)
    i = (i + 1) & (slots.size() - 1);
  used += !slots[i].result;
  slots[i] = {key, std::move(result)};
}

Tensor Memo::find(const Digest &key, bool isLasting) {
  if (const Tensor *result = (isLasting ? lasting : young).find(key))
    return *result;
  const Tensor *last = isLasting ? nullptr : old.find(key);
  if (!last)
    return nullptr;
  Tensor result = *last;
  add(key, result);
  return result;
}

void Memo::insert(const Digest &key, Tensor result, bool isLasting) {
  ++computed;
  if (isLasting)
    lasting.insert(key, std::move(result));
  else
    add(key, std::move(result));
}

RankValue Memo::findOnRanks(const Digest &key) const {
  const RankValue *result = onRanks.find(key);
  return result ? *result : nullptr;
}

void Memo::insertOnRanks(const Digest &key, RankValue result) {
  onRanks.insert(key, std::move(result));
}

void Memo::beginStep() {
  onRanks.clear();
  facts.clear();
  young.clear();
  old.clear();
  youngBytes = 0;
}

void Memo::add(const Digest &key, Tensor result) {
  constexpr size_t kEntryBytes = 256; // what is around the elements
  youngBytes += result->values.size() * sizeof(Element) + kEntryBytes;
  young.insert(key, std::move(result));
  if (youngBytes <= budget / 2)
    return;
  old = std::move(young);
  young.clear();
  youngBytes = 0;
  onRanks.clear(); // it holds on to tensors
}
