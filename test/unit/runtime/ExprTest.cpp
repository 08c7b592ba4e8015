#include "plan/Expr.h"
#include "plan/Error.h"
#include "plan/Reshape.h"

#include <catch2/catch.hpp>

#include <limits>

using namespace layline::runtime;
using Op = Expr::Op;

namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

std::int64_t apply(Op op, std::int64_t a, std::int64_t b) {
  return evaluate({op, 0, {Expr::constant(a), Expr::constant(b)}}, {});
}

} // namespace

TEST_CASE("division rounds as its name says, for both signs", "[expr]") {
  CHECK(apply(Op::FloorDiv, 7, 3) == 2);
  CHECK(apply(Op::FloorDiv, -7, 3) == -3);
  CHECK(apply(Op::FloorDiv, -6, 3) == -2);
  CHECK(apply(Op::CeilDiv, 7, 3) == 3);
  CHECK(apply(Op::CeilDiv, -7, 3) == -2);
  CHECK(apply(Op::CeilDiv, 6, 3) == 2);
  CHECK(apply(Op::Mod, 7, 3) == 1);
  CHECK(apply(Op::Mod, -7, 3) == 2);
  CHECK(apply(Op::FloorDiv, kMin, 1) == kMin);
  CHECK(apply(Op::CeilDiv, kMax, 2) == kMax / 2 + 1);
}

TEST_CASE("what 64 bits cannot hold is an error", "[expr]") {
  CHECK_THROWS_AS(apply(Op::Add, kMax, 1), Error);
  CHECK_THROWS_AS(apply(Op::Sub, kMin, 1), Error);
  CHECK_THROWS_AS(apply(Op::Mul, kMax / 2 + 1, 2), Error);
  CHECK_THROWS_AS(apply(Op::Mul, kMin, -1), Error);
  CHECK(apply(Op::Add, kMax, 0) == kMax);
  for (Op op : {Op::FloorDiv, Op::CeilDiv, Op::Mod})
    for (std::int64_t divisor : {std::int64_t(0), std::int64_t(-1), kMin})
      CHECK_THROWS_AS(apply(op, 5, divisor), Error);
}

TEST_CASE("symbols take the run's values", "[expr]") {
  std::int64_t coordinates[] = {0, 3};
  Part parts[] = {{10, 4}};
  Environment environment{100, 7, coordinates, parts};
  Expr sum{Op::Add,
           0,
           {{Op::Tokens, 0, {}},
            {Op::Past, 0, {}},
            {Op::Coordinate, 1, {}},
            {Op::Begin, 0, {}},
            {Op::Size, 0, {}}}};
  CHECK(evaluate(sum, environment) == 100 + 7 + 3 + 10 + 4);
}

TEST_CASE("constants fold and the rest stays", "[expr]") {
  Expr expr{Op::Mul,
            0,
            {{Op::Tokens, 0, {}},
             {Op::Add, 0, {Expr::constant(2), Expr::constant(3)}}}};
  foldConstants(expr);
  CHECK(print(expr) == "[\"mul\", \"tokens\", 5]");
}

TEST_CASE("views split and merge dimensions with their unit", "[reshape]") {
  Expr tokens{Op::Tokens, 0, {}};
  auto shape = [&](std::initializer_list<std::int64_t> dims) {
    ShapeExpr result = {tokens};
    for (std::int64_t dim : dims)
      result.push_back(Expr::constant(dim));
    return result;
  };
  Layout flat{{{}, {0, 16}}, {0}};
  Layout heads = reshapeLayout(shape({128}), flat, shape({8, 16}));
  CHECK(heads == Layout{{{}, {0, 1}, {}}, {0}});
  CHECK(reshapeLayout(shape({8, 16}), heads, shape({128})) == flat);
  CHECK(reshapeLayout(shape({128}), flat, shape({8, 4, 4})) ==
        Layout{{{}, {0, 1}, {}, {}}, {0}});
  CHECK(reshapeLayout(shape({8, 16}), heads, shape({8, 1, 16})) ==
        Layout{{{}, {0, 1}, {}, {}}, {0}});
  // One head over two ranks: one of them has none.
  Layout one{{{}, {0, 2}}, {}};
  Layout head = reshapeLayout(shape({2}), one, shape({1, 2}));
  CHECK(head == Layout{{{}, {0, 1}, {}}, {}});
  CHECK(reshapeLayout(shape({1, 2}), head, shape({2})) == one);
  CHECK_THROWS_AS(reshapeLayout(shape({128}), flat, shape({4, 32, 2})), Error);
  CHECK_THROWS_AS(reshapeLayout(shape({128}), flat, shape({8, 17})), Error);
  CHECK_THROWS_AS(reshapeLayout(shape({128}), flat, shape({2, 64})), Error);
  // The last dimension's parts are not contiguous under a merge.
  Layout inner{{{}, {}, {0, 1}}, {}};
  CHECK_THROWS_AS(reshapeLayout(shape({8, 16}), inner, shape({128})), Error);
}
