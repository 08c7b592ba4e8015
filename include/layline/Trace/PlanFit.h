//===- PlanFit.h - whether a plan can be that of a run ----------*- C++ -*-===//
//
// An alignment finds places for kernels on any plan that has their kinds of
// work. What shows another model or another layout are the sizes that operators
// were called with, and the number of layers of a pass that is there whole.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_TRACE_PLANFIT_H
#define LAYLINE_TRACE_PLANFIT_H

#include "layline/Trace/Mapping.h"

namespace layline::trace {

/// What a size is a size of. Each is judged by itself: two models may have rows
/// of one width and other experts, two layouts differ in nothing but the heads
/// of a rank.
enum class SizedFact : uint8_t {
  RowWidth,      ///< columns of the rows between layers: norms, collectives
  Attention,     ///< a rank's features and heads of the attention
  KVHeads,       ///< a rank's KV heads as they are stored, and their width
  Mlp,           ///< a rank's features of the dense MLP
  SharedExperts, ///< and of the shared experts
  NumExperts,    ///< columns of the router's product
  Vocabulary,    ///< a rank's columns of the logits, and all of them
  Ranks          ///< of a collective's group
};
constexpr int kNumSizedFacts = static_cast<int>(SizedFact::Ranks) + 1;
const char *getName(SizedFact fact); ///< "the width of rows", ...

/// A place where the run has another size than the plan.
struct SizeConflict {
  size_t event = 0;
  std::string place; ///< "layer.0.o_proj"
  std::string found, expected;
};

/// What the places that tell one fact say.
struct SizeEvidence {
  SizedFact fact = SizedFact::RowWidth;
  int64_t fits = 0, conflicts = 0; ///< places
  std::vector<SizeConflict> first; ///< conflicts, at most three
  /// Most places contradict the plan. A single one may be a kernel that lost
  /// neighbours have brought to the wrong place.
  bool contradicts() const { return conflicts >= 2 && conflicts > fits; }
};

/// Facts that some place tells. More columns are no conflict where they are
/// those of the plan padded to a multiple of at most 256, and by less than an
/// eighth: 3072 for 2880.
std::vector<SizeEvidence> compareSizes(const Mapping &mapping);

/// A pass that begins and ends inside of the recording with fewer layers than
/// the plan has.
struct LayerConflict {
  int32_t pass = -1;
  int64_t absent = 0, expected = 0; ///< layers
};

/// A recording that was cut begins or ends inside a pass, and has no other
/// kernels there: nothing is said of such an end. Lost kernels hardly ever are
/// whole layers and nothing else: layers that are absent count if that is all
/// that is missing, or if they are more than an eighth.
std::vector<LayerConflict> compareLayerCounts(const Mapping &mapping);

/// Collectives of the plan and of the run; what lies before or behind the
/// recording is in none.
struct CollectiveCounts {
  int64_t done = 0;     ///< of the plan, with a kernel
  int64_t missing = 0;  ///< of the plan, without one
  int64_t unplaced = 0; ///< kernels of the run that the plan has no place for
  /// Kernels whose kind is not known: each might be a collective.
  int64_t unknown = 0;
  /// Two or more, and more than have both: the run had other ranks.
  bool planHasOthers() const {
    return missing >= 2 && missing > done + unknown;
  }
  bool runHasOthers() const { return unplaced >= 2 && unplaced > done; }
};
CollectiveCounts countCollectives(const Mapping &mapping);

/// Why the plan cannot be that of the run, a sentence each for people; empty if
/// it can.
std::vector<std::string> explainConflicts(const Mapping &mapping);

} // namespace layline::trace

#endif // LAYLINE_TRACE_PLANFIT_H
