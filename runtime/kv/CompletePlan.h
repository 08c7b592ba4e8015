// What follows from a plan's transfers: readiness, lifetimes, slots and digests
// of its layouts. The planner writes them down; of a file of version 1.0, which
// has none, the reader finds them.
#ifndef LAYLINE_RUNTIME_KV_COMPLETEPLAN_H
#define LAYLINE_RUNTIME_KV_COMPLETEPLAN_H

#include "kv/Plan.h"

namespace layline::kv {

/// Lanes of a rank: the fewest threads that SGLang's transfer pool has
/// (mooncake/conn.py: min(max(4, 0.5 cpus / 8), 12)).
inline constexpr int kDefaultLanes = 4;
inline constexpr int kMostLanes = 1 << 12;

/// Fills in what follows from sides, policy, transfers and responders, all of
/// which are sound (checkSides, checkMoves).
void completePlan(Plan &plan, int lanes);

/// "pp0.dp0.cp1.tp2": no two ranks of a side have the same coordinates.
std::string getSenderKey(const Rank &rank);

/// What a move of this plane is a report of.
Report getReport(const Plane &plane);

/// Layers have owners: ranks of a stage that differ in cp keep different ones.
/// The others read a copy that is broadcast.
bool ownsLayers(const Side &side);

bool packsAtSource(Packing packing);
bool packsAtTarget(Packing packing);

/// Bytes of a block of a move that is packed: heads of one token, or those of a
/// run of tokens that one side deals out together. Where tokens are contiguous
/// on both sides, a block has no bound but the request: those of a page.
std::int64_t getLargestBlock(const Plan &plan, const Rank &from, const Rank &to,
                             const Move &move);

/// The slot of a transfer at one end; null if there is none.
const RelaySlot *findSlot(const Plan &plan, int transfer, bool isAtSource);

/// What a round of a transfer may have: the smaller limits of its slots.
struct SlotLimits {
  std::int64_t bytes = 0, maxDescriptors = 0;
  int lane = 0;
};
SlotLimits getSlotLimits(const Plan &plan, int transfer);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_COMPLETEPLAN_H
