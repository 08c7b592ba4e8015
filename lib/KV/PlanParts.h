//===- PlanParts.h - what the planners of both profiles share ---*- C++ -*-===//
#ifndef LAYLINE_LIB_KV_PLANPARTS_H
#define LAYLINE_LIB_KV_PLANPARTS_H

#include "layline/KV/Planner.h"

#include <map>
#include <tuple>

namespace layline::kv {

/// Empty (begin >= end) if there is none.
HeadRange getCommonHeads(const Plan &plan, int plane, const Rank &source,
                         const Rank &target);

/// Numbers of what ranks have in common, so that it is found once for many
/// pairs.
class MoveMaker {
public:
  explicit MoveMaker(const Plan &plan);

  /// All common heads and layers, every token that both have.
  Move make(int plane, int source, int target, Grain grain);
  /// The layers of a plane that both ranks have, under their numbers.
  const std::vector<LayerRun> &getLayers(int plane, int source, int target);
  /// Ranks of one side with equal numbers have the same layers of all planes.
  int getSourceClass(int rank) const { return sourceClasses[rank]; }
  int getTargetClass(int rank) const { return targetClasses[rank]; }

private:
  const Plan &plan;
  std::vector<int> sourceClasses, targetClasses;
  std::map<std::tuple<int, int, int>, std::vector<LayerRun>> runs;
};

bool hasEqualPages(const Plan &plan, int plane);
std::vector<int> getPlanesOfBuffer(const Plan &plan, int plane);

/// Fill in profile, policy, transfers and responders. Throw with the reason if
/// the profile has no such mode.
void planCompat(Plan &plan, const Model &model, const SideSpec &source,
                const SideSpec &target, const PlanOptions &options);
void planOptimised(Plan &plan, const SideSpec &source, const SideSpec &target,
                   const PlanOptions &options);

} // namespace layline::kv

#endif // LAYLINE_LIB_KV_PLANPARTS_H
