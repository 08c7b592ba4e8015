//===- RowComparison.cpp - two row maps, symbolic and by counts -----------===//
#include "RowComparison.h"
#include "AffineCases.h"
#include "ExprTools.h"
#include <numeric>

using namespace layline;

using Answer = AffineCases::Answer;
using Relation = AffineCases::Relation;

Expr layline::getTotalSize(const std::vector<SegmentExpr> &segments) {
  Expr size = 0;
  for (const SegmentExpr &segment : segments)
    size = size + segment.size;
  return size;
}

Comparison::Comparison(Links first, Links second)
    : first(std::move(first)), second(std::move(second)) {
  points.add(this->first);
  points.add(this->second);
}

std::optional<Difference> Comparison::find(int64_t numTokens) const {
  // Stands for rows without a value.
  const std::vector<int64_t> noRows = {-1};
  std::optional<Difference> found;
  points.forEach([&](const MeshPoints::Coordinates &coordinates) {
    std::vector<int64_t> a =
        getRows(first, numTokens, coordinates).value_or(noRows);
    std::vector<int64_t> b =
        getRows(second, numTokens, coordinates).value_or(noRows);
    for (size_t j = 0; j < std::max(a.size(), b.size()) && !found; ++j) {
      auto at = [j](const std::vector<int64_t> &rows) {
        return j < rows.size() ? std::optional<int64_t>(rows[j]) : std::nullopt;
      };
      if (at(a) != at(b))
        found = Difference{numTokens, coordinates, static_cast<int64_t>(j),
                           at(a),     at(b),       a.size(),
                           b.size()};
    }
    return !found;
  });
  return found;
}

std::optional<Difference> Comparison::findSmallest(int64_t &last) const {
  constexpr int64_t kMostRows = 1 << 20;
  int64_t seen = 0;
  for (last = 0; seen < kMostRows; ++last) {
    if (std::optional<Difference> found = find(last))
      return found;
    seen += points.numRanks() + last;
  }
  return std::nullopt;
}

std::string Comparison::introduce(int64_t numTokens) const {
  return "with T = " + std::to_string(numTokens) + points.overRanks() + ": ";
}

LinkComparison::LinkComparison(const Link &first, const Link &second)
    : rankSymbol("rank." + first.axis), ranks(first.ranks),
      a(getLinkSegments(first, std::nullopt)),
      b(getLinkSegments(second, std::nullopt)),
      isComparable(first.axis == second.axis && first.ranks == second.ranks &&
                   !a.empty() && !b.empty()) {}

static Expr itemOf(const SegmentExpr &segment, const Expr &number) {
  if (segment.stride == 0)
    return segment.begin + number;
  return segment.begin +
         floorDiv(number, segment.block) * Expr(segment.stride) +
         mod(number, segment.block);
}

bool LinkComparison::prove(int64_t &queries) const {
  if (!isComparable)
    return false;
  AffineCases cases({{"tokens", 0, std::nullopt, false},
                     {rankSymbol, 0, ranks - 1, true},
                     {"row", 0, std::nullopt, false}});
  auto areEqual = [&](const Expr &lhs, const Expr &rhs,
                      const std::vector<Expr> &given) {
    return cases.prove(lhs, Relation::Equal, rhs, given) == Answer::Holds;
  };
  bool good = areEqual(getTotalSize(a), getTotalSize(b), {});
  // Any pair of segments that have a row in common.
  Expr row = Expr::symbol("row"), first = row;
  for (const SegmentExpr &left : a) {
    Expr second = row;
    for (const SegmentExpr &right : b) {
      good = good && areEqual(itemOf(left, first), itemOf(right, second),
                              {first, left.size - 1 - first, second,
                               right.size - 1 - second});
      second = second - right.size;
    }
    first = first - left.size;
  }
  queries += cases.numQueries();
  return good;
}

bool LinkComparison::proveByPeriods() const {
  constexpr int64_t kMost = 1 << 14;
  if (!isComparable || a.size() != b.size() || ranks > kMost)
    return false;
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (size_t i = 0; i < a.size(); ++i)
      if (!isEqualSegment(a[i], b[i], rank, kMost / ranks))
        return false;
  return true;
}

bool LinkComparison::isEqualSegment(const SegmentExpr &left,
                                    const SegmentExpr &right, int64_t rank,
                                    int64_t limit) const {
  if (left.stride != right.stride || left.block != right.block)
    return false;
  Tail common;
  for (const SegmentExpr *segment : {&left, &right})
    for (const Expr *expr : {&segment->begin, &segment->size}) {
      std::optional<Tail> tail =
          getTail(substitute(*expr, rankSymbol, rank), "tokens", limit);
      if (!tail || (expr == &segment->size && tail->slope < 0))
        return false;
      common.from = std::max(common.from, tail->from);
      common.period = std::lcm(common.period, tail->period);
      if (common.period > limit)
        return false;
    }
  for (int64_t n = 0; n < common.from + 3 * common.period; ++n) {
    Bindings bindings = {{"tokens", n}, {rankSymbol, rank}};
    auto size = evaluate(left.size, bindings);
    if (!size || size != evaluate(right.size, bindings))
      return false;
    if (*size > 0 &&
        evaluate(left.begin, bindings) != evaluate(right.begin, bindings))
      return false;
  }
  return true;
}
