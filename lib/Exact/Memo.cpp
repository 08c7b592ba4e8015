//===- Memo.cpp - local tensors and what was computed of them -------------===//
#include "layline/Exact/Memo.h"

using namespace layline::exact;

static Digest digestOf(const LocalTensor::Shape &shape, const Digest &data) {
  return Hasher("tensor").add(shape).add(data).digest();
}

LocalTensor::LocalTensor(Shape dims, Data data)
    : shape(std::move(dims)),
      values(std::make_shared<const Data>(std::move(data))) {
  dataDigest = Hasher("data").add(values->data(), values->size()).digest();
  digest = digestOf(shape, dataDigest);
}

LocalTensor::LocalTensor(const LocalTensor &other, Shape dims)
    : shape(std::move(dims)), values(other.values),
      dataDigest(other.dataDigest), digest(digestOf(shape, dataDigest)) {}

Tensor Memo::find(const Digest &key) {
  if (auto it = young.find(key); it != young.end())
    return it->second;
  auto it = old.find(key);
  if (it == old.end())
    return nullptr;
  Tensor result = it->second;
  add(key, result);
  return result;
}

void Memo::insert(const Digest &key, Tensor result) {
  ++computed;
  add(key, std::move(result));
}

void Memo::add(const Digest &key, Tensor result) {
  constexpr size_t kEntryBytes = 256; // the nodes around the elements
  youngBytes += result->values->size() * sizeof(Element) + kEntryBytes;
  young[key] = std::move(result);
  if (youngBytes <= budget / 2)
    return;
  old = std::move(young);
  young.clear();
  youngBytes = 0;
}
