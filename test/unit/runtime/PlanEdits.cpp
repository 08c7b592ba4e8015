#include "PlanEdits.h"

#include "TestEngine.h"

#include <catch2/catch.hpp>

namespace layline::test {

Json goodPlan() { return llamaPlan(4, Boundaries::Fused, 6); }
Json zigzagPlan() {
  return llamaPlan(2, Boundaries::Rows, 1, {2, "zigzag", 0});
}
Json cyclicPlan() {
  return llamaPlan(2, Boundaries::Fused, 1, {2, "cyclic", 3});
}

void refuses(const std::function<Json()> &plan,
             const std::vector<Mutation> &mutations) {
  REQUIRE(findings(plan()) == "");
  for (const Mutation &mutation : mutations) {
    Json changed = plan();
    mutation.apply(changed);
    CAPTURE(mutation.what);
    CHECK_THAT(findings(changed), Catch::Contains(mutation.message));
  }
}

} // namespace layline::test
