//===- Planner.cpp - what is legal, and what both profiles share ----------===//
#include "layline/KV/Planner.h"
#include "PlanParts.h"

#include "kv/CompletePlan.h"
#include "plan/Error.h"

#include <algorithm>

using namespace layline::kv;
using layline::runtime::fail;

/// Both sides have the layer under numbers of their own.
static std::vector<LayerRun> pairLayers(const Plan &plan, int plane,
                                        const Rank &source,
                                        const Rank &target) {
  std::vector<LayerRun> runs;
  int from = plan.source.planes[plane].buffer;
  int to = plan.target.planes[plane].buffer;
  for (std::int64_t layer : plan.planes[plane].layers) {
    std::int64_t a = source.getOrdinal(from, layer);
    std::int64_t b = target.getOrdinal(to, layer);
    if (a < 0 || b < 0)
      continue;
    if (!runs.empty() && runs.back().source + runs.back().count == a &&
        runs.back().target + runs.back().count == b)
      ++runs.back().count;
    else
      runs.push_back({a, b, 1});
  }
  return runs;
}

MoveMaker::MoveMaker(const Plan &plan) : plan(plan) {
  auto classify = [](const Side &side, std::vector<int> &classes) {
    std::map<std::vector<std::vector<std::int64_t>>, int> known;
    for (const Rank &rank : side.ranks)
      classes.push_back(
          known.try_emplace(rank.layers, static_cast<int>(known.size()))
              .first->second);
  };
  classify(plan.source, sourceClasses);
  classify(plan.target, targetClasses);
}

const std::vector<LayerRun> &MoveMaker::getLayers(int plane, int source,
                                                  int target) {
  auto [entry, isNew] =
      runs.try_emplace({plane, sourceClasses[source], targetClasses[target]});
  if (isNew)
    entry->second = pairLayers(plan, plane, plan.source.ranks[source],
                               plan.target.ranks[target]);
  return entry->second;
}

HeadRange layline::kv::getCommonHeads(const Plan &plan, int plane,
                                      const Rank &source, const Rank &target) {
  HeadRange a = getHeads(plan.planes[plane], plan.source, source);
  HeadRange b = getHeads(plan.planes[plane], plan.target, target);
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

Move MoveMaker::make(int plane, int source, int target, Grain grain) {
  const Rank &from = plan.source.ranks[source];
  const Rank &to = plan.target.ranks[target];
  Move move;
  move.planes = {plane};
  move.grain = grain;
  HeadRange common = getCommonHeads(plan, plane, from, to);
  move.sourceHead =
      common.begin - getHeads(plan.planes[plane], plan.source, from).begin;
  move.targetHead =
      common.begin - getHeads(plan.planes[plane], plan.target, to).begin;
  move.heads = common.end - common.begin;
  move.layers = getLayers(plane, source, target);
  return move;
}

/// Pages of a buffer are the same bytes on both sides.
bool layline::kv::hasEqualPages(const Plan &plan, int plane) {
  const Placement &a = plan.source.planes[plane];
  const Placement &b = plan.target.planes[plane];
  return plan.source.pageTokens == plan.target.pageTokens &&
         a.pageBytes == b.pageBytes && a.offset == b.offset &&
         a.tokenStride == b.tokenStride && a.headStride == b.headStride &&
         a.heads == b.heads;
}

std::vector<int> layline::kv::getPlanesOfBuffer(const Plan &plan, int plane) {
  std::vector<int> planes;
  for (int i = 0; i < static_cast<int>(plan.planes.size()); ++i)
    if (plan.source.planes[i].buffer == plan.source.planes[plane].buffer)
      planes.push_back(i);
  return planes;
}

static void checkTypes(const Model &model, const SideSpec &source,
                       const SideSpec &target) {
  std::string from = source.dtype.empty() ? model.dtype : source.dtype;
  std::string to = target.dtype.empty() ? model.dtype : target.dtype;
  if (from != to)
    fail(LAYLINE_REFUSED_FEATURE, "the source keeps ", from, " and the target ",
         to,
         ": bytes are moved, never converted; equal element types are "
         "expected");
}

Plan layline::kv::planMigration(const Model &model, const SideSpec &source,
                                const SideSpec &target,
                                const PlanOptions &options) {
  checkTypes(model, source, target);
  if (options.lanes < 1 || options.lanes > kMostLanes)
    fail(LAYLINE_BAD_ARGUMENT, "lanes of relay slots: found ", options.lanes,
         "; 1 to ", kMostLanes, " are expected");
  Plan plan;
  plan.model = model.name;
  plan.planes = makePlanes(model, source.dtype);
  if (plan.planes.empty())
    fail(LAYLINE_REFUSED_FEATURE, "model '", model.name,
         "' keeps nothing of its tokens: there is nothing to move");
  plan.source = makeSide(model, source, plan.planes);
  plan.target = makeSide(model, target, plan.planes);
  plan.responders.resize(plan.target.ranks.size());
  if (options.profile == Profile::SGLangCompat)
    planCompat(plan, model, source, target, options);
  else
    planOptimised(plan, source, target, options);
  completePlan(plan, options.lanes);
  return plan;
}
