// Which token a local row is: gathers, positions, and the keys that queries
// need. Each counterexample is the smallest, and right by hand.
#include "Parts.h"
#include "layline/Verification/VisibilityProof.h"

using namespace layline;

namespace {

const Expr tokens = Expr::symbol("tokens"), past = Expr::symbol("past");

Links one(const Partition &partition, int64_t ranks) {
  return {{partition, "cp", ranks}};
}
Links nested(int64_t outer, int64_t inner) {
  return {{Partition::zigzag(), "cp", outer},
          {Partition::block(), "tp", inner}};
}
const std::vector<Partition> kKinds = {Partition::block(), Partition::zigzag(),
                                       Partition::cyclic(1),
                                       Partition::cyclic(4)};

} // namespace

TEST_CASE("rows of a zigzag split, by hand") {
  // 4099 rows over 4 ranks: segments of 513, 513, 513, 512, ...
  Links links = one(Partition::zigzag(), 4);
  auto sizes = [&](int64_t count) {
    std::vector<size_t> sizes;
    for (int64_t k = 0; k < 4; ++k)
      sizes.push_back(getRows(links, count, {{"cp", k}})->size());
    return sizes;
  };
  using Sizes = std::vector<size_t>;
  CHECK(sizes(4096) == Sizes{1024, 1024, 1024, 1024});
  CHECK(sizes(4099) == Sizes{1025, 1025, 1025, 1024});
  CHECK(sizes(4103) == Sizes{1025, 1026, 1026, 1026});
  CHECK(sizes(9) == Sizes{3, 2, 2, 2});
  CHECK(getRows(links, 9, {{"cp", 0}}) == std::vector<int64_t>{0, 1, 8});
  // A part of a part: rank 0 of cp has 0, 1, 8; of these, tp gets 2 and 1.
  CHECK(getRows(nested(4, 2), 9, {{"cp", 0}, {"tp", 1}}) ==
        std::vector<int64_t>{8});
  CHECK(!getRows(links, 9, {{"tp", 0}}));
}

TEST_CASE("pages of a request, not of a chunk") {
  // 128 pages over 4 ranks: the first chunk of 64 is all of ranks 0 and 1.
  Links links = one(Partition::block(), 4);
  for (int64_t rank = 0; rank < 4; ++rank) {
    std::vector<int64_t> pages = *getRows(links, 128, {{"cp", rank}});
    auto inFirst = std::count_if(pages.begin(), pages.end(),
                                 [](int64_t page) { return page < 64; });
    CHECK(pages.size() == 32);
    CHECK(inFirst == (rank < 2 ? 32 : 0));
  }
}

TEST_CASE("equal splits have equal rows") {
  for (int64_t ranks : {1, 2, 3, 8, 64})
    for (const Partition &kind : kKinds) {
      Proof proof = proveSameRows(one(kind, ranks), one(kind, ranks));
      CHECK(proof.problem == "");
      CHECK(proof.method == "equal");
    }
  CHECK(proveSameRows(nested(8, 4), nested(8, 4)).proved);
  CHECK(proveSameRows({}, {}).proved);
  // A split over one rank is none.
  CHECK(proveSameRows(nested(8, 1), one(Partition::zigzag(), 8)).proved);
}

TEST_CASE("different splits differ for the smallest number of tokens") {
  auto problem = [](const Links &first, const Links &second) {
    return proveSameRows(first, second).problem;
  };
  CHECK(problem(one(Partition::zigzag(), 2), one(Partition::block(), 2)) ==
        "with T = 3 over 2 ranks of \"cp\": rank 0 has 1 local row, not 2");
  CHECK(problem(one(Partition::cyclic(1), 2), one(Partition::block(), 2)) ==
        "with T = 3 over 2 ranks of \"cp\": on rank 0, local row 1 is token 2, "
        "not 1");
  CHECK(problem(nested(2, 2), one(Partition::zigzag(), 2)) ==
        "with T = 1 over 2 ranks of \"cp\" and 2 ranks of \"tp\": rank 0 of "
        "\"cp\", 1 of \"tp\" has 0 local rows, not 1");
}

TEST_CASE("rows that are missing make a difference") {
  Links block = one(Partition::block(), 4), shorter = block;
  SegmentExpr part = getBlockExpr(tokens, 4, Expr::rank("cp"));
  shorter[0].segments = {{part.begin, max(0, part.size - 1)}};
  CHECK(proveSameRows(shorter, block).problem ==
        "with T = 1 over 4 ranks of \"cp\": rank 0 has 0 local rows, not 1");
  CHECK(proveSameRows(block, shorter).problem ==
        "with T = 1 over 4 ranks of \"cp\": rank 0 has 1 local row, not 0");
}

TEST_CASE("a gather in the order of the tokens is the identity") {
  for (int64_t ranks : {1, 2, 3, 8, 64})
    for (const Partition &kind : kKinds)
      CHECK(proveGather(one(kind, ranks)[0], GatherOrder::Token).problem == "");
  Link zigzag = one(Partition::zigzag(), 4)[0], block = zigzag;
  block.partition = Partition::block();
  CHECK(proveGather(zigzag, zigzag).proved);
  CHECK(proveGather(zigzag, block).problem ==
        "with T = 5 over 4 ranks of \"cp\": rank 0 has 1 local row, not 2");
}

TEST_CASE("a gather in the order of the ranks is so for blocks only") {
  auto problem = [](const Partition &kind, int64_t ranks) {
    return proveGather(one(kind, ranks)[0], GatherOrder::Rank).problem;
  };
  for (int64_t ranks : {1, 2, 3, 8, 64})
    CHECK(problem(Partition::block(), ranks) == "");
  for (const Partition &kind : kKinds)
    CHECK(problem(kind, 1) == "");
  CHECK(problem(Partition::zigzag(), 2) ==
        "with 4 items over 2 ranks of \"cp\", row 1 of the result is item 3: "
        "local row 1 of rank 0");
  CHECK(problem(Partition::cyclic(1), 4) ==
        "with 5 items over 4 ranks of \"cp\", row 1 of the result is item 4: "
        "local row 1 of rank 0");
  // By counting: no smaller number shows it.
  for (int64_t ranks : {2, 3, 8})
    for (const Partition &kind : kKinds) {
      int64_t first = -1;
      for (int64_t n = 0; n < 100 && first < 0; ++n) {
        std::vector<int64_t> all;
        for (int64_t k = 0; k < ranks; ++k) {
          std::vector<int64_t> own = *getRows(one(kind, ranks), n, {{"cp", k}});
          all.insert(all.end(), own.begin(), own.end());
        }
        if (!std::is_sorted(all.begin(), all.end()))
          first = n;
      }
      std::string said = problem(kind, ranks);
      CHECK((first < 0
                 ? said.empty()
                 : said.find("with " + std::to_string(first) + " ") == 0));
    }
}

TEST_CASE("positions are past + the token") {
  auto problem = [](const Links &rows, const PositionClaim &claim) {
    return provePositions(rows, claim).problem;
  };
  for (const Partition &kind : kKinds)
    for (int64_t ranks : {1, 2, 8, 64})
      CHECK(problem(one(kind, ranks), {one(kind, ranks)}) == "");
  CHECK(problem(nested(8, 8), {nested(8, 8)}) == "");
  Links block = one(Partition::block(), 2);
  // The local row number is taken for the position.
  CHECK(
      problem(block, {getLocalRows(block)}) ==
      "with past = 0 and T = 2 over 2 ranks of \"cp\": on rank 1, local row 0 "
      "is token 1 at position 1, not 0");
  Links zigzag = one(Partition::zigzag(), 4);
  CHECK(
      problem(zigzag, {getLocalRows(zigzag)}) ==
      "with past = 0 and T = 2 over 4 ranks of \"cp\": on rank 1, local row 0 "
      "is token 1 at position 1, not 0");
  // Of one rank they are the same.
  CHECK(problem(one(Partition::block(), 1),
                {getLocalRows(one(Partition::block(), 1))}) == "");
  // The prefix is forgotten, counted twice, or off by one.
  CHECK(
      problem(block, {block, 0}) ==
      "with past = 1 and T = 1 over 2 ranks of \"cp\": on rank 0, local row 0 "
      "is token 0 at position 1, not 0");
  CHECK(
      problem(block, {block, past + past}) ==
      "with past = 1 and T = 1 over 2 ranks of \"cp\": on rank 0, local row 0 "
      "is token 0 at position 1, not 2");
  CHECK(
      problem(block, {block, past + 1}) ==
      "with past = 0 and T = 1 over 2 ranks of \"cp\": on rank 0, local row 0 "
      "is token 0 at position 0, not 1");
  CHECK(problem(block, {block, Expr::symbol("offset")}) != "");
  // Positions of another split.
  CHECK(
      problem(one(Partition::cyclic(1), 2), {block}) ==
      "with past = 0 and T = 3 over 2 ranks of \"cp\": on rank 0, local row 1 "
      "is token 2 at position 2, not 1");
}

TEST_CASE("keys that are whole are visible") {
  for (const Partition &kind : kKinds)
    for (int64_t ranks : {1, 2, 8, 64}) {
      CHECK(proveVisible({one(kind, ranks), {}, {}, {}}).proved);
      CHECK(proveVisible({one(kind, ranks), one(kind, 1), {}, {}}).proved);
    }
}

TEST_CASE("keys that are split like the queries are not") {
  for (const Partition &kind : {Partition::block(), Partition::zigzag()})
    for (int64_t ranks : {2, 8, 64})
      CHECK(
          proveVisible({one(kind, ranks), one(kind, ranks), {}, {}}).problem ==
          "with T = 2: query token 1 on rank 1 of \"cp\" needs key 0, which "
          "only rank 0 holds");
  CHECK(
      proveVisible(
          {one(Partition::cyclic(4), 2), one(Partition::cyclic(4), 2), {}, {}})
          .problem == "with T = 5: query token 4 on rank 1 of \"cp\" needs "
                      "key 0, which only rank 0 holds");
  // Over another axis: the first query already.
  CHECK(
      proveVisible(
          {one(Partition::block(), 2), {{Partition::block(), "tp", 2}}, {}, {}})
          .problem == "with T = 1: query token 0 on rank 0 of \"cp\", 1 of "
                      "\"tp\" needs key 0, which only rank 0 holds");
}

TEST_CASE("a window reaches back as far as it says") {
  Links block = one(Partition::block(), 4);
  // Its own key only.
  for (const Partition &kind : kKinds)
    CHECK(proveVisible({one(kind, 8), one(kind, 8), {}, 1}).proved);
  CHECK(proveVisible({block, block, {}, 2}).problem ==
        "with T = 2: query token 1 on rank 1 of \"cp\" needs key 0, which only "
        "rank 0 holds");
  // A part and so many keys before it.
  auto withHalo = [&](int64_t halo) {
    SegmentExpr part = getBlockExpr(tokens, 4, Expr::rank("cp"));
    Links keys = block;
    Expr begin = max(0, part.begin - Expr(halo));
    keys[0].segments = {{begin, part.begin + part.size - begin}};
    return keys;
  };
  CHECK(proveVisible({block, withHalo(7), {}, 8}).proved);
  CHECK(proveVisible({block, withHalo(9), {}, 8}).proved);
  // Of 9 tokens rank 3 has 7 and 8: it holds keys from 7 - 6 on. Of fewer,
  // it begins earlier.
  CHECK(proveVisible({block, withHalo(6), {}, 8}).problem ==
        "with T = 9: query token 7 on rank 3 of \"cp\" needs key 0, which "
        "only 3 "
        "other ranks hold");
  // All keys up to the last query of the rank.
  SegmentExpr part = getBlockExpr(tokens, 4, Expr::rank("cp"));
  Links prefix = block;
  prefix[0].segments = {{0, part.begin + part.size}};
  CHECK(proveVisible({block, prefix, {}, {}}).proved);
}

TEST_CASE("cached keys are visible as well") {
  Links block = one(Partition::block(), 2);
  CHECK(proveVisible({block, {}, block, {}}).problem ==
        "with past = 1 and T = 2: query token 1 on rank 1 of \"cp\" needs "
        "cached key 0, which only rank 0 holds");
  CHECK(proveVisible({block, {}, block, 1}).proved);
  CHECK(!proveVisible({block, {}, block, 2}).proved);
}
