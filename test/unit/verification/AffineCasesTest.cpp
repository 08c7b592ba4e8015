// AffineCases proves nothing that a point contradicts, over random expressions
// in a count and a rank.
#include "lib/Verification/AffineCases.h"
#include "Parts.h"
#include <iostream>
#include <random>

using namespace layline;
using namespace parts;

namespace {

using Answer = AffineCases::Answer;
using Relation = AffineCases::Relation;

class RandomExprs {
public:
  Expr get(int depth) {
    if (depth == 0 || pick(5) == 0) {
      switch (pick(3)) {
      case 0:
        return Expr(pick(9) - 4);
      case 1:
        return tokens;
      default:
        return rank;
      }
    }
    Expr left = get(depth - 1);
    switch (pick(8)) {
    case 0:
      return floorDiv(left, pick(5) + 1);
    case 1:
      return ceilDiv(left, pick(5) + 1);
    case 2:
      return mod(left, pick(5) + 1);
    case 3:
      return left * get(depth - 1);
    case 4:
      return left - get(depth - 1);
    case 5:
      return min(left, get(depth - 1));
    case 6:
      return max(left, get(depth - 1));
    default:
      return left + get(depth - 1);
    }
  }

private:
  int64_t pick(int64_t count) { return static_cast<int64_t>(random() % count); }
  std::mt19937_64 random{7};
};

} // namespace

TEST_CASE("what a point contradicts is not proved") {
  constexpr int64_t kRanks = 4, kMostItems = 40;
  RandomExprs exprs;
  int64_t asked = 0, tight = 0, equal = 0;
  for (int i = 0; i < 3000; ++i) {
    Expr expr = exprs.get(4);
    AffineCases cases(
        {{"tokens", 0, std::nullopt, false}, {"rank.tp", 0, kRanks - 1, true}});
    if (!cases.hasAffineForm(expr))
      continue;
    ++asked;
    int64_t least = at(expr, 0, 0), most = least;
    for (int64_t n = 0; n <= kMostItems; ++n)
      for (int64_t k = 0; k < kRanks; ++k) {
        least = std::min(least, at(expr, k, n));
        most = std::max(most, at(expr, k, n));
      }
    INFO("expression " << i << ", " << least << " to " << most);
    CHECK(cases.prove(expr, Relation::AtLeast, least + 1) == Answer::Open);
    CHECK(cases.prove(most - 1, Relation::AtLeast, expr) == Answer::Open);
    bool isConstant =
        cases.prove(expr, Relation::Equal, least) == Answer::Holds;
    CHECK((!isConstant || least == most));
    // Under a condition, the points that meet it count.
    bool isAbove = cases.prove(expr, Relation::AtLeast, least + 1,
                               {tokens - 3, rank - 1}) == Answer::Holds;
    for (int64_t n = 3; isAbove && n <= kMostItems; ++n)
      for (int64_t k = 1; k < kRanks; ++k)
        CHECK(at(expr, k, n) > least);
    tight += cases.prove(expr, Relation::AtLeast, least) == Answer::Holds;
    equal += isConstant;
  }
  CHECK(asked > 1000);
  CHECK(tight > 200);
  CHECK(equal > 50);
  std::cout << asked << " random expressions: " << tight
            << " with their least value proved, " << equal << " constant\n";
}
