//===- PlanParts.h - what the planners of both profiles share ---*- C++ -*-===//
#ifndef LAYLINE_LIB_KV_PLANPARTS_H
#define LAYLINE_LIB_KV_PLANPARTS_H

#include "layline/KV/Planner.h"

namespace layline::kv {

/// The layers of a plane that both ranks have.
std::vector<LayerRun> pairLayers(const Plan &plan, int plane,
                                 const Rank &source, const Rank &target);
/// Empty (begin >= end) if there is none.
HeadRange getCommonHeads(const Plan &plan, int plane, const Rank &source,
                         const Rank &target);
/// All common heads and layers, every token that both have.
Move makeMove(const Plan &plan, int plane, const Rank &source,
              const Rank &target, Grain grain);
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
