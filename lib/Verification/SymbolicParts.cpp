//===- SymbolicParts.cpp - partitions with an unknown rank ----------------===//
#include "SymbolicParts.h"
#include "ExprTools.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace layline;

using Answer = AffineCases::Answer;

SymbolicParts::SymbolicParts(const std::vector<SegmentExpr> &segments,
                             std::string axis, int64_t ranks,
                             std::optional<int64_t> items)
    : segments(segments), axis(std::move(axis)), ranks(ranks), items(items),
      count(items ? Expr(*items) : Expr::symbol("tokens")),
      rank(Expr::rank(this->axis)) {}

Expr SymbolicParts::at(const Expr &expr, const Expr &value) const {
  return substitute(expr, rank.name(), value);
}

std::vector<AffineCases::Unknown>
SymbolicParts::getUnknowns(int64_t lastRank) const {
  std::vector<AffineCases::Unknown> unknowns;
  if (!items)
    unknowns.push_back({"tokens", 0, std::nullopt, false});
  if (ranks > 1)
    unknowns.push_back({rank.name(), 0, lastRank, true});
  return unknowns;
}

bool SymbolicParts::isAffine() {
  AffineCases cases(getUnknowns(ranks - 1));
  for (const SegmentExpr &segment : segments)
    for (const Expr &expr : {segment.begin, segment.size})
      if (!cases.hasAffineForm(ranks > 1 ? expr : at(expr, 0)))
        return false;
  return true;
}

/// A wrong certificate fails for the first counts already: no need to ask.
bool SymbolicParts::holdsAtSamples(const Expr &lhs, Relation relation,
                                   const Expr &rhs, int64_t lastRank) const {
  const Expr difference = lhs - rhs;
  std::vector<int64_t> counts = {1, ranks + 1, 5 * ranks - 1};
  if (items)
    counts = {*items};
  for (int64_t n : counts)
    for (int64_t k : {int64_t(0), lastRank / 2}) {
      std::optional<int64_t> value =
          evaluate(difference, {{"tokens", n}, {rank.name(), k}});
      if (!value || *value < 0 || (relation == Relation::Equal && *value > 0))
        return false;
    }
  return true;
}

bool SymbolicParts::prove(const Expr &lhs, Relation relation, const Expr &rhs,
                          int64_t lastRank, const std::vector<Expr> &given) {
  if (lastRank < 0)
    return true;
  Expr left = lhs, right = rhs;
  if (ranks == 1)
    left = at(lhs, 0), right = at(rhs, 0);
  if (given.empty() && !holdsAtSamples(left, relation, right, lastRank))
    return false;
  AffineCases cases(getUnknowns(lastRank));
  std::vector<Expr> conditions = given;
  if (ranks == 1)
    for (Expr &condition : conditions)
      condition = at(condition, 0);
  bool holds = cases.prove(left, relation, right, conditions) == Answer::Holds;
  queries += cases.numQueries();
  return holds;
}

bool SymbolicParts::hasGoodSizes() {
  return llvm::all_of(segments, [&](const SegmentExpr &segment) {
    return prove(segment.size, Relation::AtLeast, 0, ranks - 1);
  });
}

/// Where a part begins; a clamped one that begins past the end, at the end.
Expr SymbolicParts::getBegin(size_t segment, bool isClamped) const {
  const Expr &begin = segments[segment].begin;
  return isClamped ? min(begin, count) : begin;
}

/// Clamping changes only the begins of empty parts.
bool SymbolicParts::proveClamped() {
  return llvm::all_of(segments, [&](const SegmentExpr &segment) {
    return prove(count, Relation::AtLeast, segment.begin, ranks - 1,
                 {segment.size - 1});
  });
}

bool SymbolicParts::proveChain(const std::vector<Family> &chain,
                               bool isClamped) {
  Expr end = 0;
  for (const Family &family : chain) {
    Expr begin = getBegin(family.segment, isClamped);
    Expr partEnd = begin + segments[family.segment].size;
    int64_t first = family.isBackward ? ranks - 1 : 0;
    if (!prove(at(begin, first), Relation::Equal, end, ranks - 1))
      return false;
    Expr next = rank + 1;
    bool isLinked =
        family.isBackward
            ? prove(at(partEnd, next), Relation::Equal, begin, ranks - 2)
            : prove(partEnd, Relation::Equal, at(begin, next), ranks - 2);
    if (!isLinked)
      return false;
    end = at(partEnd, ranks - 1 - first);
  }
  return prove(end, Relation::Equal, count, ranks - 1);
}

bool SymbolicParts::proveInterleaved(bool isClamped) {
  Expr end = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    Expr begin = getBegin(i, isClamped);
    bool good = i == 0 ? prove(at(begin, 0), Relation::Equal, 0, ranks - 1)
                       : prove(end, Relation::Equal, begin, ranks - 1);
    if (!good)
      return false;
    end = begin + segments[i].size;
  }
  return prove(end, Relation::Equal, at(getBegin(0, isClamped), rank + 1),
               ranks - 2) &&
         prove(at(end, ranks - 1), Relation::Equal, count, ranks - 1);
}

/// Every order and direction of the segments; that of zigzag first.
std::vector<std::vector<SymbolicParts::Family>>
SymbolicParts::getChains() const {
  std::vector<std::vector<Family>> chains;
  std::vector<size_t> order(segments.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  constexpr size_t kMostSegments = 3; // 48 chains
  if (order.size() > kMostSegments)
    return chains;
  do {
    for (unsigned backward = 0; backward < 1u << order.size(); ++backward) {
      std::vector<Family> chain;
      for (size_t i = 0; i < order.size(); ++i)
        // The second one backward first of all.
        chain.push_back({order[i], ((backward ^ 2u) >> i & 1) != 0});
      chains.push_back(std::move(chain));
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return chains;
}

/// Each item is period * stride + slot * block + place in one way, with a slot
/// for each rank and a place below block. A rank that begins with its slot has
/// this item as its number period * block + place, if it has as many.
bool SymbolicParts::proveStrided(bool isReversed) {
  const SegmentExpr &part = segments.front();
  if (part.block < 1 || part.block > part.stride / ranks ||
      part.stride != part.block * ranks)
    return false;
  std::vector<AffineCases::Unknown> unknowns = {
      {rank.name(), 0, ranks - 1, true},
      {"period", 0, std::nullopt, false},
      {"place", 0, part.block - 1, false}};
  if (!items)
    unknowns.push_back({"tokens", 0, std::nullopt, false});
  AffineCases cases(std::move(unknowns));
  Expr period = Expr::symbol("period"), place = Expr::symbol("place");
  Expr slot = isReversed ? Expr(ranks - 1) - rank : rank;
  Expr item = period * Expr(part.stride) + slot * Expr(part.block) + place;
  Expr number = period * Expr(part.block) + place;
  Expr isItem = count - 1 - item, isHeld = part.size - 1 - number;
  auto follows = [&](const Expr &claim, const Expr &given) {
    return cases.prove(claim, Relation::AtLeast, 0, {given}) == Answer::Holds;
  };
  bool good = cases.prove(part.begin, Relation::Equal, slot * Expr(part.block),
                          {part.size - 1}) == Answer::Holds &&
              follows(isHeld, isItem) && follows(isItem, isHeld);
  queries += cases.numQueries();
  return good;
}

std::string SymbolicParts::prove() {
  if (segments.empty() || !hasGoodSizes())
    return {};
  auto isStrided = [](const SegmentExpr &part) { return part.stride > 0; };
  if (llvm::any_of(segments, isStrided)) {
    bool good = segments.size() == 1 &&
                (proveStrided(false) || (ranks > 1 && proveStrided(true)));
    return good ? "strided" : "";
  }
  std::vector<std::vector<Family>> chains = getChains();
  for (bool isClamped : {false, true}) {
    if (isClamped && !proveClamped())
      break;
    for (const std::vector<Family> &chain : chains)
      if (proveChain(chain, isClamped))
        return "chain";
    if (segments.size() > 1 && proveInterleaved(isClamped))
      return "chain";
  }
  return {};
}

std::string SymbolicParts::proveRankOrder() {
  if (segments.empty() || !hasGoodSizes())
    return {};
  if (segments.front().stride > 0) {
    // Runs that follow one another, of a single rank.
    const SegmentExpr &part = segments.front();
    bool good = segments.size() == 1 && ranks == 1 &&
                part.block == part.stride && proveStrided(false);
    return good ? "strided" : "";
  }
  for (bool isClamped : {false, true})
    if ((!isClamped || proveClamped()) && proveInterleaved(isClamped))
      return "chain";
  return {};
}

std::optional<int64_t> SymbolicParts::findLeastGap() {
  constexpr int64_t kMostCount = int64_t(1) << 40;
  std::optional<int64_t> least;
  // The least count up to the one known at which the claim is wrong.
  auto check = [&](const Expr &lhs, Relation relation, const Expr &rhs) {
    auto isWrongUpTo = [&](int64_t bound) {
      AffineCases cases({{"tokens", 0, bound, false}});
      bool isOpen = cases.prove(lhs, relation, rhs) == Answer::Open;
      queries += cases.numQueries();
      return isOpen;
    };
    int64_t high = least ? *least - 1 : kMostCount, low = -1;
    if (high < 0 || !isWrongUpTo(high))
      return;
    while (high - low > 1) {
      int64_t middle = low + (high - low) / 2;
      (isWrongUpTo(middle) ? high : low) = middle;
    }
    least = high;
  };
  Expr end = 0;
  for (size_t i = 0; i < segments.size(); ++i)
    for (int64_t k = 0; k < ranks; ++k) {
      Expr onRank = i == 1 ? ranks - 1 - k : k;
      Expr size = at(segments[i].size, onRank);
      check(size, Relation::AtLeast, 0);
      check(at(segments[i].begin, onRank), Relation::Equal, end);
      end = at(segments[i].begin, onRank) + size;
    }
  check(end, Relation::Equal, count);
  return least;
}
