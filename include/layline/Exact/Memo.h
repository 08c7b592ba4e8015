//===- Memo.h - local tensors and what was computed of them -----*- C++ -*-===//
#ifndef LAYLINE_EXACT_MEMO_H
#define LAYLINE_EXACT_MEMO_H

#include "layline/Exact/Field.h"
#include <memory>
#include <unordered_map>
#include <vector>

namespace layline::exact {

/// What one rank holds of a value: the sampled elements in local order. Never
/// changed once it is made. Integers (ids, positions) are their own elements.
struct LocalTensor {
  using Data = std::vector<Element>;
  using Shape = std::vector<int64_t>;

  LocalTensor(Shape shape, Data data);
  /// The same data in another shape of as many elements.
  LocalTensor(const LocalTensor &other, Shape shape);

  int64_t dim(size_t i) const { return shape[i]; }
  int64_t last() const { return shape.back(); }
  int64_t count() const { return static_cast<int64_t>(values->size()); }
  const Element *data() const { return values->data(); }

  Shape shape;
  std::shared_ptr<const Data> values;
  Digest dataDigest;
  Digest digest; ///< of shape and data: equal tensors have equal ones
};
using Tensor = std::shared_ptr<const LocalTensor>;

/// Results by what they were computed from, so that ranks, programs and steps
/// that hold the same data compute once. Not for several threads at once.
class Memo {
public:
  /// About `budget` bytes of results are kept, those used last.
  explicit Memo(size_t budget = size_t(256) << 20) : budget(budget) {}

  /// Null if there is none.
  Tensor find(const Digest &key);
  void insert(const Digest &key, Tensor result);

  /// Results computed, as opposed to found.
  size_t getComputed() const { return computed; }

private:
  using Results = std::unordered_map<Digest, Tensor, DigestHash>;

  void add(const Digest &key, Tensor result);

  size_t budget;
  size_t computed = 0;
  size_t youngBytes = 0;
  /// Once the young results fill half of the budget they become the old ones,
  /// and the old ones are dropped; a find brings a result back.
  Results young, old;
};

} // namespace layline::exact

#endif // LAYLINE_EXACT_MEMO_H
