// Norms over features that ranks share out, KV heads counted once.
#include "ProgramBuilder.h"

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

namespace {

constexpr int64_t kHeads = 12, kKVHeads = 4, kWidth = 16;
constexpr int64_t kK = kKVHeads * kWidth;

struct Mistakes {
  /// How the KV heads are dealt out that a rank sums the squares of.
  std::optional<Partition> counted = Partition::firstReaders(kHeads);
  int64_t width = kK;
  bool isSummed = true;
  double eps = 1e-6;
};

/// The keys of a layer, normed over all heads.
Program keys(int64_t ranks, const Mistakes &mistakes = {}) {
  Builder b(ranks);
  DimLayout held = b.split(Partition::readers(kHeads), kWidth);
  ValueId x = b.input("x", kIn);
  ValueId k = b.op(OpKind::Linear, {x, b.weight("k", {kK, kIn}, {held})},
                   b.value({kTokens, kK}, {{}, held}));
  ValueId counted = k;
  if (ranks > 1 && mistakes.counted)
    counted = b.move(
        OpKind::Slice, k,
        b.value({kTokens, kK}, {{}, b.split(*mistakes.counted, kWidth)}), 1);
  ValueId sum =
      b.op(OpKind::RowSquares, {counted}, b.value({kTokens, 1}, {}, true));
  if (ranks > 1 && mistakes.isSummed)
    sum = b.move(OpKind::AllReduce, sum, b.value({kTokens, 1}));
  Attributes attrs;
  attrs.eps = mistakes.eps;
  attrs.width = mistakes.width;
  ValueId normed =
      b.op(OpKind::NormBy, {k, sum, b.weight("gamma", {kK}, {held})},
           b.value({kTokens, kK}, {{}, held}), attrs);
  return b.finish({normed});
}

Mistakes counting(std::optional<Partition> counted) {
  Mistakes mistakes;
  mistakes.counted = counted;
  return mistakes;
}

} // namespace

TEST_CASE("each KV head is in the sum of squares once") {
  for (int64_t ranks : {2, 3, 4, 5, 8, 12, 16}) {
    CAPTURE(ranks);
    requireEqual(keys(1), keys(ranks));
  }
  // Whole groups of query heads: nobody shares a KV head.
  for (int64_t ranks : {2, 4})
    requireEqual(keys(1), keys(ranks, counting(std::nullopt)));
}

TEST_CASE("heads that several ranks count are found") {
  for (int64_t ranks : {3, 5, 8, 12, 16}) {
    CAPTURE(ranks);
    requireDifferent(keys(1), keys(ranks, counting(std::nullopt)));
  }
}

TEST_CASE("a head that the rank does not hold cannot be counted") {
  std::vector<Mismatch> found =
      check(keys(1), keys(8, counting(Partition::block())));
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0].text,
             Catch::Matchers::Contains("is not in the rank's operand"));
}

TEST_CASE("a norm by a part of the statistic, or with another divisor") {
  for (int64_t ranks : {1, 4, 8}) {
    Mistakes mistakes;
    mistakes.width = kK / 4;
    requireDifferent(keys(1), keys(ranks, mistakes));
    mistakes = {};
    mistakes.eps = 1e-5;
    requireDifferent(keys(1), keys(ranks, mistakes));
  }
  Mistakes mistakes;
  mistakes.isSummed = false;
  requireDifferent(keys(1), keys(4, mistakes));
}

TEST_CASE("statistics of another shape are a fault") {
  Builder b;
  ValueId x = b.input("x", kIn);
  ValueId sums = b.op(OpKind::RowSquares, {x}, b.value({kTokens, 2}));
  std::vector<Mismatch> found = check(b.finish({sums}), [] {
    Builder other;
    ValueId y = other.input("x", kIn);
    return other.finish(
        {other.op(OpKind::RowSquares, {y}, other.value({kTokens, 2}))});
  }());
  REQUIRE(!found.empty());
  CHECK_THAT(found[0].text,
             Catch::Matchers::Contains("the result is not one number a row"));
}
