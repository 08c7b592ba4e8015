//===- Memo.h - local tensors and what was computed of them -----*- C++ -*-===//
#ifndef LAYLINE_EXACT_MEMO_H
#define LAYLINE_EXACT_MEMO_H

#include "layline/Exact/Field.h"
#include <array>
#include <memory>
#include <unordered_set>
#include <vector>

namespace layline::exact {

/// Extents of a local tensor, as stored.
class Shape {
public:
  static constexpr size_t kMostDims = 4;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) {
    for (int64_t extent : extents)
      append(extent);
  }
  void append(int64_t extent) { extents[count++] = extent; }
  size_t size() const { return count; }
  int64_t &operator[](size_t dim) { return extents[dim]; }
  int64_t operator[](size_t dim) const { return extents[dim]; }
  int64_t &back() { return extents[count - 1]; }
  int64_t back() const { return extents[count - 1]; }
  /// The number of elements.
  int64_t product() const;
  bool operator==(const Shape &other) const {
    return count == other.count && extents == other.extents;
  }
  bool operator!=(const Shape &other) const { return !(*this == other); }

private:
  std::array<int64_t, kMostDims> extents = {}; ///< zero beyond count
  size_t count = 0;
};

/// What one rank holds of a value: the sampled elements in local order. Never
/// changed once it is made. Integers (ids, positions) are their own elements.
struct LocalTensor {
  using Data = std::vector<Element>;

  LocalTensor(const Shape &shape, Data data);
  /// The same data in another shape of as many elements.
  LocalTensor(const LocalTensor &other, const Shape &shape);

  int64_t dim(size_t i) const { return shape[i]; }
  int64_t last() const { return shape.back(); }
  int64_t count() const { return static_cast<int64_t>(values.size()); }
  const Element *data() const { return values.data(); }

  Shape shape;
  Data values;
  Digest dataDigest;
  Digest digest; ///< of shape and data: equal tensors have equal ones
};
using Tensor = std::shared_ptr<const LocalTensor>;

/// A value on all ranks.
struct RankTensors {
  explicit RankTensors(std::vector<Tensor> tensors);

  std::vector<Tensor> ranks;
  Digest digest;
};
using RankValue = std::shared_ptr<const RankTensors>;

/// Results by what they were computed from, so that ranks, programs and steps
/// that hold the same data compute once. Not for several threads at once.
class Memo {
public:
  /// About `budget` bytes of results are kept, those used last, besides the
  /// lasting ones.
  explicit Memo(size_t budget = size_t(256) << 20) : budget(budget) {}

  /// Null if there is none. Lasting results are those that do not depend on
  /// the sizes of a step: weights.
  Tensor find(const Digest &key, bool isLasting = false);
  void insert(const Digest &key, Tensor result, bool isLasting = false);
  /// The same for ops on all ranks at once: programs that are alike up to here
  /// look up one result an op.
  RankValue findOnRanks(const Digest &key) const;
  void insertOnRanks(const Digest &key, RankValue result);
  /// Of comparisons it is enough to know that they were made.
  bool isKnown(const Digest &fact) const { return facts.count(fact) != 0; }
  void note(const Digest &fact) { facts.insert(fact); }
  /// Drops all but lasting results: steps of other sizes have no use for them.
  void beginStep();

  /// Results computed, as opposed to found.
  size_t getComputed() const { return computed; }

private:
  /// Open addressing: a look-up touches one line of memory.
  template <typename Result> class Table {
  public:
    const Result *find(const Digest &key) const;
    void insert(const Digest &key, Result result);
    void clear() {
      slots.clear();
      used = 0;
    }

  private:
    struct Slot {
      Digest key;
      Result result; ///< null: free
    };
    void grow();

    std::vector<Slot> slots; ///< a power of two
    size_t used = 0;
  };

  void add(const Digest &key, Tensor result);

  size_t budget;
  size_t computed = 0;
  size_t youngBytes = 0;
  /// Once the young results fill half of the budget they become the old ones,
  /// and the old ones are dropped; a find brings a result back.
  Table<Tensor> young, old, lasting;
  Table<RankValue> onRanks;
  std::unordered_set<Digest, DigestHash> facts;
};

} // namespace layline::exact

#endif // LAYLINE_EXACT_MEMO_H
