// provePartition: what it accepts is a partition for every number of items, and
// what it refuses is none for the number that it names, the smallest there is.
#include "layline/Verification/PartitionProof.h"
#include "Parts.h"

using namespace layline;
using namespace parts;

namespace {

constexpr int64_t kMostItems = 300;

Proof prove(const Parts &parts, int64_t ranks) {
  return provePartition(parts(tokens), "tp", ranks, std::nullopt);
}
Proof prove(const Parts &parts, int64_t ranks, int64_t items) {
  return provePartition(parts(items), "tp", ranks, items);
}

void checkAccepted(const Parts &parts, int64_t ranks) {
  INFO(ranks << " ranks");
  CHECK(prove(parts, ranks).problem == "");
  CHECK(prove(parts, ranks).proved);
  Segments segments = parts(tokens);
  for (int64_t n = 0; n <= kMostItems; ++n)
    REQUIRE(faultByCounting(segments, ranks, n) == "");
}

/// Refused with the smallest count there is, in the very words of counting.
void checkRefused(const Parts &parts, int64_t ranks) {
  std::string expected = problemByCounting(parts, ranks, kMostItems);
  REQUIRE(expected != "");
  Proof proof = prove(parts, ranks);
  CHECK(proof.problem == expected);
  CHECK(!proof.proved);
  // The counterexample is one by itself, and the counts below it are none.
  int64_t smallest = std::stoll(expected.substr(5));
  CHECK(prove(parts, ranks, smallest).problem == expected);
  for (int64_t n = 0; n < smallest; ++n)
    REQUIRE(prove(parts, ranks, n).proved);
}

} // namespace

TEST_CASE("blocks of any number of tokens are a partition") {
  for (int64_t ranks = 1; ranks <= 64; ++ranks)
    checkAccepted(blocks(ranks), ranks);
}

TEST_CASE("blocks of a known number of items are a partition") {
  for (int64_t ranks : {1, 2, 3, 4, 7, 8, 16, 61, 64})
    for (int64_t items : {0, 1, 2, 3, 8, 9, 63, 64, 65, 128, 151936})
      CHECK(prove(blocks(ranks), ranks, items).problem == "");
}

TEST_CASE("right partitions of another kind are accepted") {
  for (int64_t ranks : {1, 2, 3, 5, 8, 16, 64}) {
    // As many items as the largest part needs, until there are no more.
    checkAccepted(
        [=](const Expr &n) -> Segments {
          Expr most = ceilDiv(n, ranks);
          Expr begin = min(rank * most, n);
          return {{begin, min((rank + 1) * most, n) - begin}};
        },
        ranks);
    // The remainder is the last rank's.
    checkAccepted(
        [=](const Expr &n) -> Segments {
          Expr quotient = floorDiv(n, ranks);
          return {
              {rank * quotient, quotient + isRank(ranks - 1) * mod(n, ranks)}};
        },
        ranks);
    // All of them are the first rank's.
    checkAccepted(
        [=](const Expr &n) -> Segments {
          return {{min(rank, 1) * n, isRank(0) * n}};
        },
        ranks);
  }
}

TEST_CASE("a floor division loses the remainder") {
  for (int64_t ranks : {2, 3, 8, 64})
    checkRefused(
        [=](const Expr &n) -> Segments {
          Expr quotient = floorDiv(n, ranks);
          return {{rank * quotient, quotient}};
        },
        ranks);
}

TEST_CASE("a ceiling division runs past the end") {
  for (int64_t ranks : {2, 3, 8, 64})
    checkRefused(
        [=](const Expr &n) -> Segments {
          Expr most = ceilDiv(n, ranks);
          return {{rank * most, most}};
        },
        ranks);
}

TEST_CASE("an empty part has no place") {
  for (int64_t ranks : {1, 2, 3, 8, 64}) {
    // Past the end: with 1 item over 3 ranks, rank 2 begins at 2.
    checkAccepted(
        [=](const Expr &n) -> Segments {
          Expr most = ceilDiv(n, ranks);
          return {{rank * most, max(0, min(most, n - rank * most))}};
        },
        ranks);
    // Anywhere: a hundred items further where the size is 0.
    checkAccepted(
        [=](const Expr &n) -> Segments {
          SegmentExpr part = blocks(ranks)(n)[0];
          Expr isEmpty = Expr(1) - min(1, part.size);
          return {{part.begin + isEmpty * Expr(100), part.size}};
        },
        ranks);
  }
}

TEST_CASE("begins are off by one") {
  for (int64_t ranks : {2, 3, 8, 64}) {
    checkRefused(shifted(blocks(ranks), 1, 0), ranks);
    checkRefused(shifted(blocks(ranks), min(rank, 1), 0), ranks);
  }
}

TEST_CASE("a size is off by one") {
  for (int64_t ranks : {2, 3, 8, 64}) {
    checkRefused(shifted(blocks(ranks), 0, isRank(0)), ranks);
    checkRefused(shifted(blocks(ranks), 0, isRank(ranks - 1)), ranks);
    // One item less than none is no size.
    checkRefused(shifted(blocks(ranks), 0, Expr(0) - isRank(1)), ranks);
  }
}

TEST_CASE(
    "the remainder goes to the last rank in size, to the first in begin") {
  for (int64_t ranks : {2, 3, 8, 64})
    checkRefused(
        [=](const Expr &n) -> Segments {
          Expr quotient = floorDiv(n, ranks), remainder = mod(n, ranks);
          return {{rank * quotient + min(rank, remainder),
                   quotient + isRank(ranks - 1) * remainder}};
        },
        ranks);
}

TEST_CASE("parts overlap by an item") {
  for (int64_t ranks : {2, 3, 8, 64})
    checkRefused(shifted(blocks(ranks), 0, min(1, Expr(ranks - 1) - rank)),
                 ranks);
}

TEST_CASE("every rank holds everything") {
  for (int64_t ranks : {2, 3, 8})
    checkRefused([](const Expr &n) -> Segments { return {{0, n}}; }, ranks);
}

TEST_CASE("the ranks may be in any order") {
  for (int64_t ranks : {1, 2, 3, 8, 64})
    checkAccepted(
        [=](const Expr &n) -> Segments {
          return {getBlockExpr(n, ranks, Expr(ranks - 1) - rank)};
        },
        ranks);
  // Ranks 1 and 2 have changed places.
  checkAccepted(
      [=](const Expr &n) -> Segments {
        return {getBlockExpr(n, 4, rank + isRank(1) - isRank(2))};
      },
      4);
}

TEST_CASE("a negative size is no part, also where the sums are right") {
  checkRefused(
      [](const Expr &n) -> Segments {
        return {{rank * (n - 5), isRank(0) * (n - 5) + isRank(1) * 5}};
      },
      2);
}

TEST_CASE("a fault that few items do not show") {
  for (int64_t capacity = 0; capacity <= 5; ++capacity)
    for (int64_t ranks = 1; ranks <= 8; ++ranks)
      checkRefused(
          [=](const Expr &n) -> Segments {
            Expr begin = min(n, rank * capacity);
            return {{begin, min(n, rank * capacity + capacity) - begin}};
          },
          ranks);
  checkRefused([](const Expr &n) -> Segments { return blocks(8)(min(n, 256)); },
               8);
}

TEST_CASE("of several faults, the one with the fewest items is named") {
  checkRefused(
      [](const Expr &n) -> Segments {
        SegmentExpr part = blocks(4)(n)[0];
        Expr wrong = isRank(0) * isFrom(n, 50) + isRank(2) * isFrom(n, 7);
        return {{part.begin, part.size + wrong}};
      },
      4);
}

TEST_CASE("a fault that only very many items show") {
  // Far beyond what is counted: 2^30 + 1 items.
  Segments segments = blocks(8)(min(tokens, Expr(int64_t(1) << 30)));
  CHECK(provePartition(segments, "tp", 8, std::nullopt).problem ==
        "with 1073741825 items over 8 ranks of \"tp\", item 1073741824 is held "
        "by nobody");
}

TEST_CASE("numbers that do not fit prove nothing") {
  // 2^62 * 4 would be 0 in 64 bits: rank 1 has items far away.
  Expr big = Expr::symbol("rank.tp") * Expr(int64_t(1) << 62) * Expr(4);
  SegmentExpr part = blocks(3)(tokens)[0];
  part.begin = part.begin + big;
  CHECK(!provePartition({part}, "tp", 3, std::nullopt).proved);
  CHECK(!provePartition({part}, "tp", 3, 7).proved);
}

TEST_CASE("what is not affine is refused, not guessed") {
  const std::string problem = "the parts are not affine in the number of items";
  for (const Expr &size :
       {tokens * tokens, floorDiv(tokens, tokens), Expr::symbol("past"),
        Expr::rank("cp"), Expr::size("rows"), Expr::begin("rows")})
    for (int64_t ranks : {1, 4})
      CHECK(provePartition(Segments{{0, size}}, "tp", ranks, std::nullopt)
                .problem == problem);
  // With a known count there are no tokens to speak of.
  CHECK(provePartition(Segments{{0, tokens}}, "tp", 1, 8).problem == problem);
  CHECK(!provePartition(Segments{}, "tp", 1, std::nullopt).proved);
}

TEST_CASE("every kind is proved, with the rank as an unknown") {
  const std::vector<Partition> kinds = {
      Partition::block(), Partition::zigzag(), Partition::cyclic(1),
      Partition::cyclic(3), Partition::cyclic(64)};
  for (int64_t ranks : {1, 2, 3, 4, 5, 8, 64})
    for (const Partition &kind : kinds) {
      INFO(ranks << " ranks, kind " << int(kind.kind) << " " << kind.argument);
      checkAccepted(ofKind(kind, ranks), ranks);
      Proof proof = provePartition(kind, "tp", ranks, std::nullopt);
      CHECK((proof.method == "chain" || proof.method == "strided"));
      for (int64_t items : {0, 1, 4, 61, 64, 94, 4096, 4099}) {
        CHECK(provePartition(kind, "tp", ranks, items).problem == "");
        CHECK(faultByCounting(ofKind(kind, ranks)(items), ranks, items) == "");
      }
    }
}

TEST_CASE("owners are ranks, one for each item") {
  auto prove = [](std::vector<int64_t> owners, std::optional<int64_t> items) {
    return provePartition(Partition::owner(std::move(owners)), "cp", 4, items)
        .problem;
  };
  CHECK(prove({0, 0, 3, 1, 1}, 5) == "");
  CHECK(prove({}, 0) == "");
  CHECK(prove({0, 0, 4, 1, 1}, 5) ==
        "with 5 items over 4 ranks of \"cp\", item 2 is held by nobody: rank 4 "
        "is not there");
  CHECK(prove({0, 1}, 3) == "found 2 owners, expected one for each of 3 items");
  CHECK(prove({0, 1}, std::nullopt) ==
        "found 2 owners, expected a known number of items");
}

TEST_CASE("readers hold what their query heads read") {
  for (int64_t ranks : {1, 2, 3, 4, 5, 8, 64})
    for (int64_t heads : {1, 2, 4, 8})
      CHECK(
          provePartition(Partition::readers(64), "tp", ranks, heads).problem ==
          "");
  // 64 query heads on 8 ranks read 4 KV heads; what each rank holds, edited.
  auto edited = [](const SegmentExpr &held) {
    return proveReaders(held, 4, {getBlockExpr(64, 8, rank)}, 64, "tp", 8)
        .problem;
  };
  CHECK(edited({floorDiv(rank, 2), 1}) == "");
  CHECK(edited({mod(rank, 4), 1}) ==
        "rank 1 of \"tp\" lacks KV head 0, which its query heads 8..15 read");
  CHECK(edited({0, 4}) == "rank 0 of \"tp\" holds KV head 1, which its query "
                          "heads 0..7 do not read");
  CHECK(edited({rank, 1}) == "rank 1 of \"tp\" lacks KV head 0, which its "
                             "query heads 8..15 read");
  CHECK(provePartition(Partition::readers(62), "tp", 8, 4).problem ==
        "found 62 query heads, expected a multiple of the 4 KV heads");
  CHECK(!provePartition(Partition::readers(64), "tp", 8, std::nullopt).proved);
}

TEST_CASE("first readers keep each KV head once, of what they hold") {
  for (int64_t ranks : {1, 2, 3, 4, 5, 8, 64})
    for (int64_t heads : {1, 2, 4, 8})
      CHECK(provePartition(Partition::firstReaders(64), "tp", ranks, heads)
                .problem == "");
  // 64 query heads on 8 ranks read 4 KV heads, each on two ranks.
  auto edited = [](const SegmentExpr &kept) {
    return proveFirstReaders(kept, getReadersExpr(4, 64, 8, rank), 4, "tp", 8)
        .problem;
  };
  CHECK(edited({floorDiv(rank + 1, 2), mod(rank + 1, 2)}) == "");
  // The second of the two may as well be the one that keeps it.
  CHECK(edited({floorDiv(rank, 2), mod(rank, 2)}) == "");
  CHECK(edited({floorDiv(rank, 2), 1}) ==
        "with 4 items over 8 ranks of \"tp\", item 0 is held by ranks 0 and "
        "1");
  CHECK(edited({rank, min(1, max(0, Expr(4) - rank))}) ==
        "rank 1 of \"tp\" keeps KV head 1, which its query heads do not read");
  CHECK(provePartition(Partition::firstReaders(62), "tp", 8, 4).problem ==
        "found 62 query heads, expected a multiple of the 4 KV heads");
  CHECK(!provePartition(Partition::firstReaders(64), "tp", 8, std::nullopt)
             .proved);
}

TEST_CASE("a chain is proved link by link") {
  Link zigzag{Partition::zigzag(), "cp", 4}, block{Partition::block(), "tp", 8};
  CHECK(proveChain({zigzag, block}, std::nullopt).method == "chain");
  CHECK(proveChain({}, 5).proved);
  Link lost = block;
  Expr quotient = floorDiv(tokens, 8);
  lost.segments = {{rank * quotient, quotient}};
  CHECK(proveChain({zigzag, lost}, std::nullopt).problem ==
        "with 1 item over 8 ranks of \"tp\", item 0 is held by nobody");
  CHECK(proveChain({zigzag, zigzag}, std::nullopt).problem ==
        "axis \"cp\" splits the items twice");
}
