//===- ExpectedOrder.cpp - orders that engines launch in ------------------===//
#include "ExpectedOrder.h"
#include <algorithm>
#include <map>

using namespace layline::trace;

void layline::trace::groupSiblings(std::vector<ExpectedStep> &steps) {
  std::vector<ExpectedStep> grouped;
  std::vector<bool> isTaken(steps.size(), false);
  // Where the last rotation of each layer's main attention stands.
  std::map<int64_t, size_t> lastRope;
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].work == Work::Rope && steps[i].module == "rope")
      lastRope[steps[i].layer] = i;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (isTaken[i])
      continue;
    const ExpectedStep &step = steps[i];
    bool isRope = step.work == Work::Rope && step.module == "rope";
    if (isRope && lastRope[step.layer] != i)
      continue; // stands with the last
    if (isRope)
      for (size_t j = 0; j < i; ++j)
        if (steps[j].work == Work::Rope && steps[j].module == "rope" &&
            steps[j].layer == step.layer)
          grouped.push_back(steps[j]);
    grouped.push_back(step);
    if (step.work != Work::Product || step.siblings < 0)
      continue;
    for (size_t j = i + 1; j < steps.size() && steps[j].layer == step.layer;
         ++j)
      if (steps[j].siblings == step.siblings) {
        grouped.push_back(steps[j]);
        isTaken[j] = true;
      }
  }
  steps = std::move(grouped);
}

bool layline::trace::moveSharedExpertsFirst(std::vector<ExpectedStep> &steps) {
  bool isMoved = false;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].module != "router")
      continue;
    int64_t layer = steps[i].layer;
    size_t end = i;
    while (end < steps.size() && steps[end].layer == layer &&
           (steps[end].module == "router" || steps[end].module == "experts"))
      ++end;
    size_t sharedEnd = end;
    while (sharedEnd < steps.size() && steps[sharedEnd].layer == layer &&
           steps[sharedEnd].module == "shared_experts")
      ++sharedEnd;
    if (sharedEnd > end) {
      std::rotate(steps.begin() + i, steps.begin() + end,
                  steps.begin() + sharedEnd);
      isMoved = true;
    }
    i = sharedEnd - 1;
  }
  return isMoved;
}
