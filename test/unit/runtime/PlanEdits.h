// Places of a plan to change one thing at, for tests that expect a refusal.
#ifndef LAYLINE_TEST_UNIT_RUNTIME_PLANEDITS_H
#define LAYLINE_TEST_UNIT_RUNTIME_PLANEDITS_H

#include "LlamaPlan.h"

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace layline::test {

inline Json &large(Json &plan) { return plan["variants"][1]; }
inline Json &small(Json &plan) { return plan["variants"][0]; }

/// The n-th step of a kind, also inside fused steps.
inline Json &step(Json &variant, const std::string &kind, int n = 0) {
  for (Json &one : variant["steps"]) {
    if (one["kind"] == kind && n-- == 0)
      return one;
    if (one.contains("body"))
      for (Json &inner : one["body"])
        if (inner["kind"] == kind && n-- == 0)
          return inner;
  }
  throw std::out_of_range(kind);
}

inline Json &buffer(Json &variant, const Json &id) {
  for (Json &one : variant["buffers"])
    if (one["id"] == id)
      return one;
  throw std::out_of_range(id.dump());
}

inline Json &entry(Json &list, const std::string &id) {
  for (Json &one : list)
    if (one["id"] == id)
      return one;
  throw std::out_of_range(id);
}

struct Mutation {
  const char *what;
  std::function<void(Json &)> apply;
  const char *message;
};

/// Of two variants, the first whole and the other by rows in fused steps.
Json goodPlan();
/// Two ranks of "tp" by two of "cp".
Json zigzagPlan();
Json cyclicPlan();
/// Their ranges.
constexpr const char *kZigzag = "tokens/cp:zigzag";
constexpr const char *kNested = "tokens/cp:zigzag/tp";
constexpr const char *kCyclic = "tokens/cp:cyclic3";

/// Every mutation of the plan, which is good, is refused with its message.
void refuses(const std::function<Json()> &plan,
             const std::vector<Mutation> &mutations);

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_RUNTIME_PLANEDITS_H
