//===- RandomMigrations.cpp - random pairs of layouts, byte by byte -------===//
//
// Random models, layouts of both sides, requests and page tables. Whatever a
// profile plans must bring every byte to its place; the optimised profile
// writes each once. Both profiles plan each pair, so where both can, they bring
// the same bytes. Number and seed are rapidcheck's:
// RC_PARAMS="max_success=10000 seed=7".
//
//===----------------------------------------------------------------------===//
#include "RandomLayouts.h"

#include "layline/KV/Simulation.h"

#include "plan/Error.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

using namespace layline::kv;

namespace {

/// By profile: planned, and refused by reason.
struct Tally {
  std::int64_t planned = 0, refused = 0;
};

bool movesPages(const Plan &plan) {
  if (plan.policy.roundsToPages)
    return true;
  for (const Transfer &transfer : plan.transfers)
    for (const Move &move : transfer.moves)
      if (move.grain == Grain::Page)
        return true;
  return false;
}

} // namespace

int main() {
  setenv("RC_PARAMS", "max_success=15000 seed=22", 0);
  std::map<std::string, Tally> tally;
  std::int64_t numbered = 0, behind = 0; // of those that were moved
  bool isGood = rc::check("every byte arrives", [&] {
    const auto [model, from, to] = makeLayoutPair();
    PlanOptions options = makePlanOptions();
    SimulationOptions simulation;
    simulation.tokens = upTo(1, 70);
    simulation.seed = seldom(3) ? 0 : upTo(1, 1 << 20);
    simulation.room = upTo(0, 20);
    simulation.packs = !seldom(5);
    SideSpec source = parseSideSpec(from), target = parseSideSpec(to);
    // Inside a page only where no plan moves whole ones.
    std::int64_t unit = target.pageTokens;
    auto cut = [&] {
      return std::min(upTo(0, simulation.tokens) / unit * unit,
                      simulation.tokens);
    };
    if (seldom(3))
      simulation.prefix = cut();
    simulation.omitsPrefixPages = seldom(2);
    if (seldom(2)) {
      simulation.chunkEnds = {cut(), cut(), simulation.tokens};
      std::sort(simulation.chunkEnds.begin(), simulation.chunkEnds.end());
    }
    RC_LOG() << from << " -> " << to << ", " << simulation.tokens
             << " tokens\n";
    for (Profile profile : {Profile::Optimised, Profile::SGLangCompat}) {
      options.profile = profile;
      bool isOptimised = profile == Profile::Optimised;
      const char *name = isOptimised ? "optimised" : "compat";
      RC_LOG() << name << "\n";
      Plan plan;
      try {
        plan = planMigration(model, source, target, options);
      } catch (const layline::runtime::Error &error) {
        RC_LOG() << error.what() << "\n";
        RC_ASSERT(error.status() == LAYLINE_REFUSED_FEATURE);
        ++tally[name].refused;
        continue;
      }
      ++tally[name].planned;
      SimulationOptions request = simulation;
      request.prefix -= request.prefix % plan.policy.prefixUnit;
      SimulationResult result = simulate(plan, request);
      if (!result.fault.empty())
        RC_FAIL(result.fault);
      RC_ASSERT(!isOptimised || result.twice == 0);
      numbered += usesPageNumbers(plan);
      behind += request.omitsPrefixPages && request.prefix > 0;
      if (isOptimised && !movesPages(plan)) {
        // Any cut will do.
        SimulationOptions other = simulation;
        other.prefix = upTo(0, other.tokens);
        other.chunkEnds = {upTo(0, other.tokens), other.tokens};
        RC_LOG() << "cut anywhere\n";
        result = simulate(plan, other);
        if (!result.fault.empty())
          RC_FAIL(result.fault);
        RC_ASSERT(result.twice == 0);
      }
    }
  });
  for (const auto &[name, count] : tally)
    std::cout << name << ": " << count.planned << " planned and moved, "
              << count.refused << " refused\n";
  std::cout << numbered << " of pages by their numbers, " << behind
            << " with tables behind a prefix\n";
  // A generator that only makes what is refused would show nothing.
  for (const char *name : {"optimised", "compat"})
    if (isGood && tally[name].planned * 20 < tally[name].refused) {
      std::cerr << name << ": too few pairs are planned\n";
      isGood = false;
    }
  // More than one of 100 of those that 15,000 pairs give.
  if (isGood && tally["optimised"].planned > 1000 &&
      std::min(numbered, behind) * 100 < tally["optimised"].planned) {
    std::cerr << "too few page numbers, or tables behind a prefix\n";
    isGood = false;
  }
  return isGood ? 0 : 1;
}
