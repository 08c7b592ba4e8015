//===- PlanChanges.cpp - what another plan does differently ---------------===//
#include "PlanChanges.h"
#include <deque>

using namespace layline::trace;

static void matchSteps(PlanChanges &changes) {
  // Of equal steps at one place the first is the first's counterpart.
  std::map<std::pair<std::string, std::string>, std::deque<int>> places;
  const std::vector<SizedStep> &before = changes.before->steps,
                               &after = changes.after->steps;
  for (size_t i = 0; i < after.size(); ++i)
    places[{after[i].place, after[i].kind}].push_back(static_cast<int>(i));
  changes.origin.assign(after.size(), -1);
  for (size_t i = 0; i < before.size(); ++i) {
    std::deque<int> &same = places[{before[i].place, before[i].kind}];
    int found = -1;
    if (!same.empty()) {
      found = same.front();
      same.pop_front();
      changes.origin[static_cast<size_t>(found)] = static_cast<int>(i);
    }
    changes.counterpart.push_back(found);
    changes.isSame.push_back(found >= 0 &&
                             after[static_cast<size_t>(found)].signature ==
                                 before[i].signature);
  }
}

static void findBoundaries(PlanChanges &changes) {
  std::map<std::string, size_t> numbers;
  changes.boundaries = {"begin"};
  for (const SizedStep &step : changes.before->steps) {
    if (step.paysSum) {
      numbers.emplace(step.place, changes.boundaries.size());
      changes.boundaries.push_back(step.place);
    }
    changes.boundaryBefore.push_back(changes.boundaries.size() - 1);
  }
  // What the other plan adds belongs to what stands in front of it, and a sum
  // to the sum that it takes the place of.
  size_t current = 0;
  for (size_t i = 0; i < changes.after->steps.size(); ++i) {
    const SizedStep &step = changes.after->steps[i];
    auto sum = numbers.find(step.place);
    if (changes.origin[i] >= 0)
      current = changes.boundaryBefore[static_cast<size_t>(changes.origin[i])];
    else if (step.paysSum && sum != numbers.end())
      current = sum->second;
    changes.boundaryAfter.push_back(current);
  }
}

PlanChanges layline::trace::comparePlans(const SizedVariant &before,
                                         const SizedVariant &after) {
  PlanChanges changes;
  changes.before = &before;
  changes.after = &after;
  matchSteps(changes);
  findBoundaries(changes);
  return changes;
}

bool PlanChanges::isSecondGather(size_t stepAfter) const {
  const std::vector<SizedStep> &steps = after->steps;
  if (!steps[stepAfter].gathersResidual)
    return false;
  for (size_t i = 0; i < steps.size(); ++i)
    if (i != stepAfter && steps[i].work == Work::AllGather &&
        boundaryAfter[i] == boundaryAfter[stepAfter] &&
        !steps[i].gathersResidual)
      return true;
  return false;
}
