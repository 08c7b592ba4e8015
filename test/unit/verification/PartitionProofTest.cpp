// provePartition: what it accepts is a partition for every number of items, and
// what it refuses is none for the number that it names, the smallest there is.
#define CATCH_CONFIG_MAIN
#include "layline/Verification/PartitionProof.h"
#include "layline/Support/Partition.h"
#include <catch2/catch.hpp>

using namespace layline;

namespace {

const Expr rank = Expr::rank("tp");

/// The parts of so many items: of a number, or of the symbol "tokens".
using Parts = std::function<PartExprs(const Expr &items)>;

Parts blocks(int64_t ranks) {
  return [=](const Expr &items) -> PartExprs {
    SegmentExpr part = getBlockExpr(items, ranks, rank);
    return {part.begin, part.size};
  };
}

/// Right parts with something added to begin and size.
Parts shifted(const Parts &parts, const Expr &begin, const Expr &size) {
  return [=](const Expr &items) -> PartExprs {
    PartExprs part = parts(items);
    return {part.begin + begin, part.size + size};
  };
}

/// 1 for that rank, 0 for the others.
Expr isRank(int64_t which) {
  return max(0, Expr(1) - max(rank - which, Expr(which) - rank));
}
/// 1 from that number of items on, 0 below it.
Expr isFrom(const Expr &items, int64_t count) {
  return min(1, max(0, items - Expr(count - 1)));
}

int64_t at(const Expr &expr, int64_t k) {
  auto value = expr.evaluate([&](const Expr &leaf) -> std::optional<int64_t> {
    return leaf.name() == "rank.tp" ? std::optional<int64_t>(k) : std::nullopt;
  });
  REQUIRE(value);
  return *value;
}

/// By counting: parts of sizes >= 0, one behind the other, are 0..n-1.
bool isPartition(const Parts &parts, int64_t ranks, int64_t n) {
  PartExprs part = parts(n);
  int64_t next = 0;
  for (int64_t k = 0; k < ranks; ++k) {
    int64_t begin = at(part.begin, k), size = at(part.size, k);
    if (size < 0 || begin != next)
      return false;
    next = begin + size;
  }
  return next == n;
}

constexpr int64_t kMostItems = 300;

std::string prove(const Parts &parts, int64_t ranks) {
  return provePartition(parts(Expr::symbol("tokens")), "tp", ranks,
                        std::nullopt);
}
std::string prove(const Parts &parts, int64_t ranks, int64_t items) {
  return provePartition(parts(items), "tp", ranks, items);
}

void checkAccepted(const Parts &parts, int64_t ranks) {
  INFO(ranks << " ranks");
  CHECK(prove(parts, ranks) == "");
  for (int64_t n = 0; n <= kMostItems; ++n)
    REQUIRE(isPartition(parts, ranks, n));
}

/// Refused with the smallest count there is; `says` is in the message.
void checkRefused(const Parts &parts, int64_t ranks, const std::string &says) {
  int64_t smallest = 0;
  while (smallest <= kMostItems && isPartition(parts, ranks, smallest))
    ++smallest;
  REQUIRE(smallest <= kMostItems);
  std::string expected = "with " + std::to_string(smallest) + " items over " +
                         std::to_string(ranks) + " ranks of \"tp\", " + says;
  CHECK(prove(parts, ranks) == expected);
  // The counterexample is one by itself, and the counts below it are none.
  CHECK(prove(parts, ranks, smallest) == expected);
  for (int64_t n = 0; n < smallest; ++n)
    REQUIRE(prove(parts, ranks, n) == "");
}

std::string gapBehind(int64_t k) {
  return "rank " + std::to_string(k) + " does not end where rank " +
         std::to_string(k + 1) + " begins: items are held twice or by nobody";
}
std::string lastEnds(int64_t ranks) {
  return "rank " + std::to_string(ranks - 1) + " does not end at the last item";
}

} // namespace

TEST_CASE("blocks of any number of tokens are a partition") {
  for (int64_t ranks = 1; ranks <= 64; ++ranks)
    checkAccepted(blocks(ranks), ranks);
}

TEST_CASE("blocks of a known number of items are a partition") {
  for (int64_t ranks : {1, 2, 3, 4, 7, 8, 16, 61, 64})
    for (int64_t items : {0, 1, 2, 3, 8, 9, 63, 64, 65, 128, 151936})
      CHECK(prove(blocks(ranks), ranks, items) == "");
}

TEST_CASE("right partitions of another kind are accepted") {
  for (int64_t ranks : {1, 2, 3, 5, 8, 16, 64}) {
    // As many items as the largest part needs, until there are no more.
    checkAccepted(
        [=](const Expr &n) -> PartExprs {
          Expr most = ceilDiv(n, ranks);
          Expr begin = min(rank * most, n);
          return {begin, min((rank + 1) * most, n) - begin};
        },
        ranks);
    // The remainder is the last rank's.
    checkAccepted(
        [=](const Expr &n) -> PartExprs {
          Expr quotient = floorDiv(n, ranks);
          return {rank * quotient,
                  quotient + isRank(ranks - 1) * mod(n, ranks)};
        },
        ranks);
    // All of them are the first rank's.
    checkAccepted(
        [=](const Expr &n) -> PartExprs {
          return {min(rank, 1) * n, isRank(0) * n};
        },
        ranks);
  }
}

TEST_CASE("a floor division loses the remainder") {
  for (int64_t ranks : {2, 3, 8, 64})
    checkRefused(
        [=](const Expr &n) -> PartExprs {
          Expr quotient = floorDiv(n, ranks);
          return {rank * quotient, quotient};
        },
        ranks, lastEnds(ranks));
}

TEST_CASE("a ceiling division runs past the end") {
  for (int64_t ranks : {2, 3, 8, 64})
    checkRefused(
        [=](const Expr &n) -> PartExprs {
          Expr most = ceilDiv(n, ranks);
          return {rank * most, most};
        },
        ranks, lastEnds(ranks));
}

TEST_CASE("parts begin where the part before ends, also empty ones") {
  // Every item is held once, but empty parts begin past the end: with 1 item
  // over 3 ranks, rank 2 begins at 2.
  checkRefused(
      [](const Expr &n) -> PartExprs {
        Expr most = ceilDiv(n, 3);
        return {rank * most, max(0, min(most, n - rank * most))};
      },
      3, gapBehind(1));
}

TEST_CASE("begins are off by one") {
  for (int64_t ranks : {2, 3, 8, 64}) {
    checkRefused(shifted(blocks(ranks), 1, 0), ranks,
                 "the first items are held by nobody: rank 0 does not begin at "
                 "item 0");
    checkRefused(shifted(blocks(ranks), min(rank, 1), 0), ranks, gapBehind(0));
  }
}

TEST_CASE("a size is off by one") {
  for (int64_t ranks : {2, 3, 8, 64}) {
    checkRefused(shifted(blocks(ranks), 0, isRank(0)), ranks, gapBehind(0));
    checkRefused(shifted(blocks(ranks), 0, isRank(ranks - 1)), ranks,
                 lastEnds(ranks));
    // One item less than none is no size.
    checkRefused(shifted(blocks(ranks), 0, Expr(0) - isRank(1)), ranks,
                 "rank 1 has a negative size");
  }
}

TEST_CASE(
    "the remainder goes to the last rank in size, to the first in begin") {
  for (int64_t ranks : {2, 3, 8, 64})
    checkRefused(
        [=](const Expr &n) -> PartExprs {
          Expr quotient = floorDiv(n, ranks), remainder = mod(n, ranks);
          return {rank * quotient + min(rank, remainder),
                  quotient + isRank(ranks - 1) * remainder};
        },
        ranks, gapBehind(0));
}

TEST_CASE("parts overlap by an item") {
  for (int64_t ranks : {2, 3, 8, 64})
    checkRefused(shifted(blocks(ranks), 0, min(1, Expr(ranks - 1) - rank)),
                 ranks, gapBehind(0));
}

TEST_CASE("every rank holds everything") {
  for (int64_t ranks : {2, 3, 8})
    checkRefused(
        [](const Expr &n) -> PartExprs {
          return {0, n};
        },
        ranks, gapBehind(0));
}

TEST_CASE("the ranks are in reverse order") {
  // Each item is held once, but not in rank order. A single item is where the
  // order first shows.
  checkRefused(
      [](const Expr &n) -> PartExprs {
        SegmentExpr part = getBlockExpr(n, 2, Expr(1) - rank);
        return {part.begin, part.size};
      },
      2, "the first items are held by nobody: rank 0 does not begin at item 0");
}

TEST_CASE("a negative size is no part, also where the sums are right") {
  checkRefused(
      [](const Expr &n) -> PartExprs {
        return {rank * (n - 5), isRank(0) * (n - 5) + isRank(1) * 5};
      },
      2, "rank 0 has a negative size");
}

TEST_CASE("a fault that few items do not show") {
  for (int64_t capacity = 0; capacity <= 5; ++capacity)
    for (int64_t ranks = 1; ranks <= 8; ++ranks)
      checkRefused(
          [=](const Expr &n) -> PartExprs {
            Expr begin = min(n, rank * capacity);
            return {begin, min(n, rank * capacity + capacity) - begin};
          },
          ranks, lastEnds(ranks));
  checkRefused(
      [](const Expr &n) -> PartExprs { return blocks(8)(min(n, 256)); }, 8,
      lastEnds(8));
}

TEST_CASE("of several faults, the one with the fewest items is named") {
  checkRefused(
      [](const Expr &n) -> PartExprs {
        PartExprs part = blocks(4)(n);
        Expr wrong = isRank(0) * isFrom(n, 50) + isRank(2) * isFrom(n, 7);
        return {part.begin, part.size + wrong};
      },
      4, gapBehind(2));
}

TEST_CASE("what is not affine is refused, not guessed") {
  const std::string problem =
      "the part of rank 0 is not affine in the number of items";
  Expr tokens = Expr::symbol("tokens");
  for (const Expr &size :
       {tokens * tokens, floorDiv(tokens, tokens), Expr::symbol("past"),
        Expr::rank("cp"), Expr::size("rows"), Expr::begin("rows")})
    CHECK(provePartition({0, size}, "tp", 1, std::nullopt) == problem);
  // With a known count there are no tokens to speak of.
  CHECK(provePartition({0, tokens}, "tp", 1, 8) == problem);
}
