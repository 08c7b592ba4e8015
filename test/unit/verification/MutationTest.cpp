// Verdicts of the proofs against enumeration, over right expressions and small
// changes to them: no true statement is refused, no false one accepted.
#include "Parts.h"
#include "layline/Verification/RowMap.h"
#include <iostream>

using namespace layline;
using namespace parts;

namespace {

struct Mutant {
  std::string name;
  int64_t ranks;
  Parts original, parts;
};

Parts withRank(const Parts &parts, const std::function<Expr(Expr)> &to) {
  // Another rank's part: the expressions are functions of `rank`.
  return [=](const Expr &items) {
    std::function<Expr(const Expr &)> put = [&](const Expr &expr) -> Expr {
      if (expr.op() == Expr::Op::Symbol)
        return expr.name() == rank.name() ? to(rank) : expr;
      if (expr.operands().empty())
        return expr;
      return Expr::binary(expr.op(), put(expr.operands()[0]),
                          put(expr.operands()[1]));
    };
    Segments segments = parts(items);
    for (SegmentExpr &segment : segments)
      segment = {put(segment.begin), put(segment.size), segment.block,
                 segment.stride};
    return segments;
  };
}

/// Changes one segment.
Parts edited(const Parts &parts, size_t segment,
             const std::function<void(SegmentExpr &)> &edit) {
  return [=](const Expr &items) {
    Segments segments = parts(items);
    edit(segments[segment]);
    return segments;
  };
}

void addSegmentMutants(std::vector<Mutant> &mutants, const std::string &name,
                       int64_t ranks, const Parts &parts, size_t i) {
  std::string prefix = name + " segment " + std::to_string(i) + ": ";
  auto add = [&](const std::string &what, Parts mutant) {
    mutants.push_back({prefix + what, ranks, parts, std::move(mutant)});
  };
  int64_t last = ranks - 1;
  for (int64_t by : {-1, 1}) {
    std::string sign = by > 0 ? "+1" : "-1";
    add("begin" + sign, shifted(parts, by, 0, i));
    add("size" + sign, shifted(parts, 0, by, i));
    add("last begin" + sign, shifted(parts, Expr(by) * isRank(last), 0, i));
    add("last size" + sign, shifted(parts, 0, Expr(by) * isRank(last), i));
    add("begin behind the first" + sign,
        shifted(parts, Expr(by) * min(rank, 1), 0, i));
    add("begin, end stays" + sign, shifted(parts, by, -by, i));
  }
  add("size from 7 tokens on", shifted(parts, 0, isFrom(tokens, 7), i));
  add("begin of rank 1 from 9 tokens on",
      shifted(parts, isRank(1) * isFrom(tokens, 9), 0, i));
  add("size not below 0",
      edited(shifted(parts, 0, -1, i), i,
             [](SegmentExpr &s) { s.size = max(0, s.size); }));
  add("empty parts moved", edited(parts, i, [](SegmentExpr &s) {
        s.begin = s.begin + (Expr(1) - min(1, s.size)) * Expr(50);
      }));
  add("size in other words", edited(parts, i, [](SegmentExpr &s) {
        s.size = floorDiv(s.size * Expr(2) + Expr(1), 2);
      }));
  add("no more than 12 items", edited(parts, i, [](SegmentExpr &s) {
        s.size = min(s.size, max(0, Expr(12) - s.begin));
      }));
  if (parts(tokens)[i].stride == 0)
    return;
  add("stride+1", edited(parts, i, [](SegmentExpr &s) { ++s.stride; }));
  add("stride of one block less",
      edited(parts, i, [](SegmentExpr &s) { s.stride -= s.block; }));
  add("block+1", edited(parts, i, [](SegmentExpr &s) { ++s.block; }));
}

void addMutants(std::vector<Mutant> &mutants, const std::string &name,
                int64_t ranks, const Partition &kind) {
  Parts parts = ofKind(kind, ranks);
  auto add = [&](const std::string &what, Parts mutant) {
    mutants.push_back({name + ": " + what, ranks, parts, std::move(mutant)});
  };
  add("none", parts);
  add("remainder lost",
      [=](const Expr &n) { return parts(n - mod(n, Expr(ranks))); });
  add("count rounded up",
      [=](const Expr &n) { return parts(ceilDiv(n, ranks) * Expr(ranks)); });
  add("one token less", [=](const Expr &n) { return parts(max(0, n - 1)); });
  add("ranks reversed",
      withRank(parts, [=](Expr r) { return Expr(ranks - 1) - r; }));
  add("two ranks swapped",
      withRank(parts, [](Expr r) { return r + isRank(0) - isRank(1); }));
  add("everyone is rank 0", withRank(parts, [](Expr) { return Expr(0); }));
  add("rank 1 taken for rank 0",
      withRank(parts, [](Expr r) { return r - isRank(1); }));
  size_t numSegments = parts(tokens).size();
  if (numSegments == 2) {
    add("segments swapped", [=](const Expr &n) {
      Segments segments = parts(n);
      return Segments{segments[1], segments[0]};
    });
    add("first segment twice", [=](const Expr &n) {
      return Segments{parts(n)[0], parts(n)[0]};
    });
    add("second segment lost",
        [=](const Expr &n) { return Segments{parts(n)[0]}; });
    add("sizes swapped", [=](const Expr &n) {
      Segments segments = parts(n);
      std::swap(segments[0].size, segments[1].size);
      return segments;
    });
  }
  for (size_t i = 0; i < numSegments; ++i)
    addSegmentMutants(mutants, name, ranks, parts, i);
}

std::vector<Mutant> getMutants() {
  std::vector<Mutant> mutants;
  for (int64_t ranks : {2, 3, 4, 5, 8})
    for (const auto &[name, kind] :
         std::initializer_list<std::pair<const char *, Partition>>{
             {"block", Partition::block()},
             {"zigzag", Partition::zigzag()},
             {"cyclic(1)", Partition::cyclic(1)},
             {"cyclic(3)", Partition::cyclic(3)}})
      addMutants(mutants, std::string(name) + " on " + std::to_string(ranks),
                 ranks, kind);
  return mutants;
}

constexpr int64_t kMostItems = 100;

/// Both give each rank the same items in the same order.
int64_t firstCountThatDiffers(const Mutant &mutant) {
  Segments a = mutant.parts(tokens), b = mutant.original(tokens);
  for (int64_t n = 0; n <= kMostItems; ++n)
    for (int64_t k = 0; k < mutant.ranks; ++k)
      if (itemsOf(a, k, n) != itemsOf(b, k, n))
        return n;
  return -1;
}

} // namespace

TEST_CASE("a partition is proved if and only if enumeration finds no fault") {
  std::vector<Mutant> mutants = getMutants();
  REQUIRE(mutants.size() >= 300);
  int64_t accepted = 0, refused = 0, queries = 0;
  double seconds = 0;
  for (const Mutant &mutant : mutants) {
    INFO(mutant.name);
    std::string expected =
        problemByCounting(mutant.parts, mutant.ranks, kMostItems);
    Proof proof =
        provePartition(mutant.parts(tokens), "tp", mutant.ranks, std::nullopt);
    CHECK(proof.problem == expected);
    CHECK(proof.proved == expected.empty());
    ++(proof.proved ? accepted : refused);
    seconds += proof.seconds;
    queries += proof.queries;
  }
  std::cout << mutants.size() << " partitions: " << accepted << " proved, "
            << refused << " refused, as by enumeration; " << queries
            << " queries, " << seconds << " s\n";
}

TEST_CASE(
    "row maps are proved equal if and only if enumeration finds them so") {
  int64_t equal = 0, different = 0;
  for (const Mutant &mutant : getMutants()) {
    if (!problemByCounting(mutant.parts, mutant.ranks, kMostItems).empty())
      continue;
    INFO(mutant.name);
    int64_t first = firstCountThatDiffers(mutant);
    auto link = [&](const Parts &parts) {
      return Links{{Partition::block(), "tp", mutant.ranks, parts(tokens)}};
    };
    Proof proof = proveSameRows(link(mutant.parts), link(mutant.original));
    CHECK(proof.proved == (first < 0));
    if (first >= 0)
      CHECK(proof.problem.find("with T = " + std::to_string(first) +
                               " over ") == 0);
    else
      CHECK(proof.problem == "");
    ++(first < 0 ? equal : different);
  }
  CHECK(equal > 20);
  CHECK(different > 20);
  std::cout << equal + different << " row maps of partitions: " << equal
            << " proved equal, " << different << " refused\n";
}
