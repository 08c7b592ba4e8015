// Parts as functions of the number of items, and what is wrong with them by
// counting: without any of the code that is tested.
#ifndef LAYLINE_TEST_UNIT_VERIFICATION_PARTS_H
#define LAYLINE_TEST_UNIT_VERIFICATION_PARTS_H

#include "layline/Support/Partition.h"
#include <catch2/catch.hpp>
#include <functional>
#include <map>

namespace parts {

using namespace layline;

inline const Expr rank = Expr::rank("tp");
inline const Expr tokens = Expr::symbol("tokens");

using Segments = std::vector<SegmentExpr>;
/// The parts of so many items: of a number, or of the symbol "tokens".
using Parts = std::function<Segments(const Expr &items)>;

inline Parts ofKind(const Partition &partition, int64_t ranks) {
  return [=](const Expr &items) {
    return getSegmentExprs(partition, items, ranks, rank);
  };
}
inline Parts blocks(int64_t ranks) { return ofKind(Partition::block(), ranks); }

/// The parts with something added to begin and size of one segment.
inline Parts shifted(const Parts &parts, const Expr &begin, const Expr &size,
                     size_t segment = 0) {
  return [=](const Expr &items) {
    Segments part = parts(items);
    part[segment].begin = part[segment].begin + begin;
    part[segment].size = part[segment].size + size;
    return part;
  };
}

/// 1 for that rank, 0 for the others.
inline Expr isRank(int64_t which) {
  return max(0, Expr(1) - max(rank - which, Expr(which) - rank));
}
/// 1 from that number of items on, 0 below it.
inline Expr isFrom(const Expr &items, int64_t count) {
  return min(1, max(0, items - Expr(count - 1)));
}

inline int64_t at(const Expr &expr, int64_t k, int64_t n = 0) {
  auto value = expr.evaluate([&](const Expr &leaf) -> std::optional<int64_t> {
    if (leaf.name() == "tokens")
      return n;
    return leaf.name() == "rank.tp" ? std::optional<int64_t>(k) : std::nullopt;
  });
  REQUIRE(value);
  return *value;
}

/// The items of a rank in the order of its segments; none if a size is below 0.
inline std::optional<std::vector<int64_t>> itemsOf(const Segments &segments,
                                                   int64_t k, int64_t n = 0) {
  std::vector<int64_t> items;
  for (const SegmentExpr &segment : segments) {
    int64_t begin = at(segment.begin, k, n), size = at(segment.size, k, n);
    if (size < 0)
      return std::nullopt;
    for (int64_t j = 0; j < size; ++j)
      items.push_back(segment.stride == 0
                          ? begin + j
                          : begin + j / segment.block * segment.stride +
                                j % segment.block);
  }
  return items;
}

/// "" for a partition of 0..n-1.
inline std::string faultByCounting(const Segments &segments, int64_t ranks,
                                   int64_t n) {
  std::map<int64_t, std::vector<int64_t>> holders;
  for (int64_t item = 0; item < n; ++item)
    holders[item];
  for (int64_t k = 0; k < ranks; ++k) {
    auto items = itemsOf(segments, k, n);
    if (!items)
      return "rank " + std::to_string(k) + " has a negative size";
    for (int64_t item : *items)
      holders[item].push_back(k);
  }
  for (const auto &[item, by] : holders) {
    std::string holds = by.empty() ? ""
                                   : "rank " + std::to_string(by.front()) +
                                         " holds item " + std::to_string(item);
    if (item < 0)
      return holds + ", before the first";
    if (item >= n)
      return holds + ", past the last";
    std::string is = "item " + std::to_string(item) + " is held ";
    if (by.empty())
      return is + "by nobody";
    if (by.size() == 1)
      continue;
    std::vector<int64_t> distinct = by;
    distinct.erase(std::unique(distinct.begin(), distinct.end()),
                   distinct.end());
    if (distinct.size() == 1)
      return is + "twice by rank " + std::to_string(by[0]);
    std::string names = "ranks " + std::to_string(distinct[0]);
    size_t named = distinct.size() > 4 ? 3 : distinct.size();
    for (size_t i = 1; i < named; ++i)
      names += (i + 1 == distinct.size() ? " and " : ", ") +
               std::to_string(distinct[i]);
    if (named < distinct.size())
      names += " and " + std::to_string(distinct.size() - named) + " more";
    return is + "by " + names;
  }
  return "";
}

/// The whole sentence for the fewest items up to `most` with a fault, or "".
inline std::string problemByCounting(const Parts &parts, int64_t ranks,
                                     int64_t most) {
  Segments segments = parts(tokens);
  for (int64_t n = 0; n <= most; ++n) {
    std::string fault = faultByCounting(segments, ranks, n);
    if (!fault.empty())
      return "with " + std::to_string(n) + (n == 1 ? " item" : " items") +
             " over " + std::to_string(ranks) +
             (ranks == 1 ? " rank" : " ranks") + " of \"tp\", " + fault;
  }
  return "";
}

} // namespace parts

#endif // LAYLINE_TEST_UNIT_VERIFICATION_PARTS_H
