#include "layline/Cost/Routing.h"
#include "layline/Support/Partition.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace layline;

namespace {

int countBits(unsigned set) {
  int count = 0;
  for (; set; set &= set - 1)
    ++count;
  return count;
}

/// By trying every set of groups and of experts in these.
double tryAll(const RoutingShape &shape, int64_t ranks, int64_t rank) {
  int64_t groups = std::max<int64_t>(1, shape.groups),
          chosen = shape.groups ? shape.chosenGroups : 1,
          size = shape.experts / groups;
  Segment own = getBlock(shape.experts, ranks, rank);
  double sum = 0, sets = 0;
  for (unsigned of = 0; of < 1u << groups; ++of) {
    if (countBits(of) != chosen)
      continue;
    double hits = 0, all = 0;
    for (unsigned experts = 0; experts < 1u << shape.experts; ++experts) {
      bool isInside = countBits(experts) == shape.chosen, isHit = false;
      for (int64_t e = 0; e < shape.experts; ++e)
        if (experts >> e & 1) {
          isInside = isInside && (of >> (e / size) & 1);
          isHit = isHit || (e >= own.begin && e < own.end());
        }
      all += isInside;
      hits += isInside && isHit;
    }
    sum += hits / all;
    ++sets;
  }
  return sum / sets;
}

} // namespace

TEST_CASE("the ranks that a row's experts are on, by trying all choices") {
  for (RoutingShape shape :
       {RoutingShape{8, 2, 0, 0}, RoutingShape{8, 3, 4, 2},
        RoutingShape{12, 4, 4, 3}, RoutingShape{9, 1, 3, 1},
        RoutingShape{6, 6, 2, 2}})
    for (int64_t ranks : {1, 2, 3, 5, 8, 14}) {
      double hits = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        double expected = tryAll(shape, ranks, rank);
        CHECK(std::abs(getHitProbability(shape, ranks, rank) - expected) <
              1e-12);
        hits += expected;
      }
      CHECK(std::abs(getExpectedHits(shape, ranks) - hits) < 1e-12);
    }
}

TEST_CASE("a row is on as many ranks as it has experts at most") {
  // Each expert on a rank of its own.
  CHECK(std::abs(getExpectedHits({8, 2, 0, 0}, 8) - 2) < 1e-12);
  CHECK(std::abs(getExpectedHits({8, 2, 0, 0}, 12) - 2) < 1e-12);
  CHECK(getExpectedHits({8, 2, 0, 0}, 1) == 1);
  // DeepSeek-V3 on 8 ranks: a rank is a group, of which 4 are chosen.
  double grouped = getExpectedHits({256, 8, 8, 4}, 8);
  CHECK(grouped < 4);
  CHECK(grouped > 3.6);
  CHECK(getExpectedHits({256, 8, 0, 0}, 8) > 5.2);
}
