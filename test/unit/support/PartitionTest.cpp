#include "layline/Support/Partition.h"
#include <catch2/catch.hpp>

using namespace layline;

static int64_t at(const Expr &expr, int64_t rank, int64_t items) {
  auto value = expr.evaluate([&](const Expr &leaf) -> std::optional<int64_t> {
    if (leaf.name() == "rank.tp")
      return rank;
    if (leaf.name() == "tokens")
      return items;
    return std::nullopt;
  });
  REQUIRE(value);
  return *value;
}

static std::vector<int> countHolders(const Partition &partition, int64_t items,
                                     int64_t ranks) {
  std::vector<int> holders(items);
  int64_t largest = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t last = -1, extent = 0;
    for (Segment segment : getSegments(partition, items, ranks, rank)) {
      REQUIRE(segment.size > 0);
      REQUIRE(segment.begin > last);
      for (int64_t i = segment.begin; i < segment.end(); ++i)
        ++holders.at(i);
      last = segment.end() - 1;
      extent += segment.size;
    }
    REQUIRE(extent == getExtent(partition, items, ranks, rank));
    largest = std::max(largest, extent);
  }
  REQUIRE(largest == getLargestExtent(partition, items, ranks));
  return holders;
}

TEST_CASE("every item is held exactly once") {
  for (int64_t ranks = 1; ranks <= 20; ++ranks)
    for (int64_t items = 0; items <= 200; ++items) {
      std::vector<int64_t> owners;
      for (int64_t i = 0; i < items; ++i)
        owners.push_back(i * i % ranks);
      for (const Partition &partition :
           {Partition::block(), Partition::zigzag(), Partition::cyclic(1),
            Partition::cyclic(7), Partition::owner(owners)})
        REQUIRE(countHolders(partition, items, ranks) ==
                std::vector<int>(items, 1));
    }
}

TEST_CASE("block parts differ by one item at most, larger ones first") {
  for (int64_t ranks = 1; ranks <= 20; ++ranks)
    for (int64_t items = 0; items <= 200; ++items) {
      Expr rank = Expr::rank("tp");
      SegmentExpr symbolic = getBlockExpr(Expr::symbol("tokens"), ranks, rank);
      SegmentExpr folded = getBlockExpr(items, ranks, rank);
      for (int64_t r = 0; r < ranks; ++r) {
        Segment part = getBlock(items, ranks, r);
        REQUIRE(part.size == items / ranks + (r < items % ranks));
        for (const SegmentExpr &expr : {symbolic, folded})
          REQUIRE(Segment{at(expr.begin, r, items), at(expr.size, r, items)} ==
                  part);
      }
    }
}

TEST_CASE("segment expressions give the items of every partition") {
  for (const Partition &partition :
       {Partition::block(), Partition::zigzag(), Partition::cyclic(1),
        Partition::cyclic(5)})
    for (int64_t ranks = 1; ranks <= 9; ++ranks) {
      std::vector<SegmentExpr> segments = getSegmentExprs(
          partition, Expr::symbol("tokens"), ranks, Expr::rank("tp"));
      for (int64_t items = 0; items <= 100; ++items)
        for (int64_t rank = 0; rank < ranks; ++rank) {
          std::vector<int64_t> expected, found;
          for (Segment s : getSegments(partition, items, ranks, rank))
            for (int64_t i = s.begin; i < s.end(); ++i)
              expected.push_back(i);
          for (const SegmentExpr &s : segments) {
            int64_t begin = at(s.begin, rank, items);
            for (int64_t j = 0, size = at(s.size, rank, items); j < size; ++j)
              found.push_back(s.stride
                                  ? begin + j / s.block * s.stride + j % s.block
                                  : begin + j);
          }
          REQUIRE(found == expected);
        }
    }
  CHECK(getSegmentExprs(Partition::owner({0, 1}), 2, 2, Expr::rank("tp"))
            .empty());
}

TEST_CASE("zigzag evens out causal work") {
  // Rank k's items sum to the same position total when n divides by 2p.
  for (int64_t ranks = 1; ranks <= 8; ++ranks) {
    int64_t items = 6 * ranks;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t work = 0;
      for (Segment s : getSegments(Partition::zigzag(), items, ranks, rank))
        for (int64_t i = s.begin; i < s.end(); ++i)
          work += i;
      CHECK(work == items * (items - 1) / 2 / ranks);
    }
  }
}

TEST_CASE("readers hold exactly the KV heads that their query heads read") {
  for (int64_t kvHeads = 1; kvHeads <= 16; ++kvHeads)
    for (int64_t group = 1; group <= 9; ++group)
      for (int64_t ranks = 1; ranks <= 20; ++ranks) {
        int64_t heads = kvHeads * group;
        SegmentExpr expr =
            getReadersExpr(kvHeads, heads, ranks, Expr::rank("tp"));
        for (int64_t rank = 0; rank < ranks; ++rank) {
          std::vector<int64_t> read, held;
          Segment queries = getBlock(heads, ranks, rank);
          for (int64_t h = queries.begin; h < queries.end(); ++h)
            if (read.empty() || read.back() != h / group)
              read.push_back(h / group);
          for (Segment s :
               getSegments(Partition::readers(heads), kvHeads, ranks, rank))
            for (int64_t i = s.begin; i < s.end(); ++i)
              held.push_back(i);
          REQUIRE(held == read);
          REQUIRE(at(expr.size, rank, 0) == static_cast<int64_t>(held.size()));
          if (!held.empty())
            REQUIRE(at(expr.begin, rank, 0) == held.front());
          REQUIRE(at(expr.begin, rank, 0) + at(expr.size, rank, 0) <= kvHeads);
        }
      }
}

TEST_CASE("first readers are a partition of what readers hold") {
  for (int64_t kvHeads = 1; kvHeads <= 16; ++kvHeads)
    for (int64_t group = 1; group <= 9; ++group)
      for (int64_t ranks = 1; ranks <= 20; ++ranks) {
        int64_t heads = kvHeads * group;
        SegmentExpr expr =
            getFirstReadersExpr(kvHeads, heads, ranks, Expr::rank("tp"));
        // Rank by rank, what is read for the first time.
        int64_t read = 0;
        for (int64_t rank = 0; rank < ranks; ++rank) {
          std::vector<Segment> all =
              getSegments(Partition::readers(heads), kvHeads, ranks, rank);
          int64_t end = all.empty() ? read : all.back().end();
          std::vector<Segment> expected;
          if (end > read)
            expected.push_back({read, end - read});
          std::vector<Segment> kept =
              getSegments(Partition::firstReaders(heads), kvHeads, ranks, rank);
          REQUIRE(kept == expected);
          REQUIRE(at(expr.size, rank, 0) == end - read);
          if (!kept.empty())
            REQUIRE(at(expr.begin, rank, 0) == read);
          read = end;
        }
        REQUIRE(read == kvHeads);
      }
}

TEST_CASE("9 query heads on 3 KV heads do not divide by 2, 4 or 8") {
  auto extents = [](int64_t ranks) {
    std::vector<Segment> all;
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (Segment s : getSegments(Partition::readers(9), 3, ranks, rank))
        all.push_back(s);
    return all;
  };
  CHECK(extents(2) == std::vector<Segment>{{0, 2}, {1, 2}});
  CHECK(extents(4) == std::vector<Segment>{{0, 1}, {1, 1}, {1, 2}, {2, 1}});
  CHECK(extents(8) ==
        std::vector<Segment>{
            {0, 1}, {0, 1}, {1, 1}, {1, 1}, {1, 1}, {2, 1}, {2, 1}, {2, 1}});
}

TEST_CASE("expressions fold constants and refuse what has no value") {
  CHECK((Expr(2) * 3 + 4).isConstant(10));
  CHECK(floorDiv(-7, 2).isConstant(-4));
  CHECK(mod(-7, 2).isConstant(1));
  CHECK(ceilDiv(7, 2).isConstant(4));
  CHECK((Expr::symbol("tokens") * 0).isConstant(0));
  auto none = [](const Expr &) { return std::optional<int64_t>(); };
  CHECK(!floorDiv(1, 0).evaluate(none));
  CHECK(!(Expr(INT64_MAX) + 1).evaluate(none));
  CHECK(!Expr::symbol("tokens").evaluate(none));
}
