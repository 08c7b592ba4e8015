// Global values from the ranks' parts, and what is said when replicas differ.
#include "engine/GlobalValue.h"

#include <catch2/catch.hpp>

using namespace layline::runtime;
using Catch::Matchers::Contains;

namespace {

/// dp = 2, tp = 2; "rows/tp" splits 3 items into 2 + 1.
Plan plan() {
  Plan p;
  p.axes = {{"dp", 2}, {"tp", 2}};
  Range range;
  range.axis = 1;
  range.extent = Expr::constant(3);
  Expr rank{Expr::Op::Coordinate, 1, {}};
  range.segments = {{{Expr::Op::Mul, 0, {rank, Expr::constant(2)}},
                     {Expr::Op::Sub, 0, {Expr::constant(2), rank}}}};
  p.ranges = {range};
  return p;
}

GlobalValue assembled(const Layout &layout,
                      const std::vector<std::vector<double>> &ranks) {
  return assemble(
      plan(), constantShape({3, 2}), layout, 1, 0,
      LocalData<double>([&](std::int64_t rank) { return ranks[rank].data(); }));
}

} // namespace

TEST_CASE("parts are placed, and the other axis holds replicas", "[assemble]") {
  Layout rows{{{0, 1}, {}}, {}};
  std::vector<std::vector<double>> ranks = {
      {1, 2, 3, 4}, {5, 6}, {1, 2, 3, 4}, {5, 6}};
  GlobalValue value = assembled(rows, ranks);
  CHECK(value.floats == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(value.disagreement.empty());
  ranks[3][0] = 7;
  value = assembled(rows, ranks);
  CHECK(value.floats == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(value.disagreement == "rank 0 holds 5, rank 2 holds 7 at [2, 0]");
  // Equal numbers with other bits are a difference too.
  ranks = {{0.0, 2, 3, 4}, {5, 6}, {-0.0, 2, 3, 4}, {5, 6}};
  CHECK(assembled(rows, ranks).disagreement ==
        "rank 0 holds 0, rank 2 holds -0 at [0, 0]");
}

TEST_CASE("owed sums are summed before replicas are compared", "[assemble]") {
  Layout owed{{{}, {}}, {1}};
  std::vector<std::vector<double>> ranks = {{1, 2, 3, 4, 5, 6},
                                            {10, 20, 30, 40, 50, 60},
                                            {1, 2, 3, 4, 5, 6},
                                            {10, 20, 30, 40, 50, 60}};
  GlobalValue value = assembled(owed, ranks);
  CHECK(value.floats == std::vector<double>{11, 22, 33, 44, 55, 66});
  CHECK(value.disagreement.empty());
  ranks[2][5] = 7;
  CHECK_THAT(assembled(owed, ranks).disagreement, Contains("at [2, 1]"));
}
