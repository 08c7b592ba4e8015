//===- Planner.h - who sends what to whom -----------------------*- C++ -*-===//
#ifndef LAYLINE_KV_PLANNER_H
#define LAYLINE_KV_PLANNER_H

#include "kv/CompletePlan.h"
#include "kv/Plan.h"
#include "layline/KV/Model.h"
#include "layline/KV/SideSpec.h"

namespace layline::kv {

enum class Profile {
  /// What SGLang 0.5.23 sends with Mooncake: the same batches and descriptors,
  /// duplicates included. Refuses what it refuses.
  SGLangCompat,
  /// The same bytes from fewer descriptors: each is sent once, replicas of the
  /// source share the work, what is contiguous is joined, small blocks are
  /// packed.
  Optimised,
};

/// Which of the ranks that hold the same bytes send them.
enum class SenderRule {
  First,   ///< cp rank 0, and of tp ranks the first that a target falls to
  All,     ///< all, by pages of the request
  ByChunk, ///< all, by pages of each chunk
  Room,    ///< cp rank room mod cp
};

struct PlanOptions {
  Profile profile = Profile::Optimised;
  SenderRule senders = SenderRule::All;
  /// Descriptors of a batch that the engine takes: 2048 for Mooncake's TCP
  /// transport as it is delivered (1024 queued and 1024 pending, measured:
  /// docs/kv.md). 0: no limit. Compat: none.
  std::int64_t maxDescriptors = 2048;
  /// Optimised: blocks below this many bytes are packed; 0: never.
  std::int64_t packBelow = 16384;
  std::int64_t slotBytes = 32 << 20; ///< of a relay slot, when packing
  /// That the slots of a rank are spread over (kv/CompletePlan.h).
  int lanes = kDefaultLanes;
};

/// The bytes that a side keeps, without any request. Throws runtime::Error.
/// `planes` are those of both sides.
Side makeSide(const Model &model, const SideSpec &spec,
              const std::vector<Plane> &planes);

/// The planes of a model's cache in an element type ("" is the model's).
std::vector<Plane> makePlanes(const Model &model, const std::string &dtype);

/// Throws runtime::Error (LAYLINE_REFUSED_FEATURE) with the reason if a mode is
/// not one that the profile has or that can be right.
Plan planMigration(const Model &model, const SideSpec &source,
                   const SideSpec &target, const PlanOptions &options);

} // namespace layline::kv

#endif // LAYLINE_KV_PLANNER_H
