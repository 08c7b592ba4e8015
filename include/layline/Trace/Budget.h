//===- Budget.h - another plan for a recorded run ---------------*- C++ -*-===//
//
// A recorded run on the plan that it executed, and another plan of the same
// model on the same cards: where every measured microsecond of a pass goes, and
// what takes its place. The account has five steps, which are never mixed:
//
//   today     what was recorded
//             + repeated work      every rank did all rows, now its own
//             + copies             of values to and from a collective's memory
//             + communication      measured transfers against other collectives
//             + layout conversion  slices, joins, gathers of a second value
//   unfused   the other plan's sharding, a kernel for each thing
//             + fusion             the same sharding, the same transport
//             + transport          the fused kernel moves data another way
//   chosen    the other plan
//
// today, unfused and chosen are the planner's baselines (docs/cost-model.md).
// A line's gain is measured time less what takes its place; it may be negative.
//
// `layline trace budget --json` writes it under the names of the members in
// snake_case ("gain": {"us", "low", "high"}), schema "layline.trace_budget".
//
// Units: microseconds of device time of one pass of one rank, the mean of the
// passes that were recorded. Time in which the device does nothing is in none
// of the lines.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_TRACE_BUDGET_H
#define LAYLINE_TRACE_BUDGET_H

#include "layline/Trace/Communication.h"
#include <array>

namespace layline::trace {

/// A run that cannot be budgeted: its batch is not known, or the other plan is
/// not of this model or has no program for its tokens. The text begins with the
/// file.
class BudgetError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a figure rests on, from best to worst.
enum class FigureBasis : uint8_t {
  Measured, ///< durations of this recording
  Table,    ///< a row of the cost model's tables, or between two
  Formula   ///< a closed form, or a measured time scaled by one
};
const char *getName(FigureBasis basis); ///< "measured", "table", "formula"

/// Microseconds under three assumptions: as expected, and if every figure that
/// was not measured here is off by its usual error, all to the same side. Sums
/// hold in each of the three.
struct Figure {
  double us = 0;  ///< as expected
  double low = 0; ///< if costs are as low as they may be
  double high = 0;

  Figure &operator+=(const Figure &other) {
    us += other.us;
    low += other.low;
    high += other.high;
    return *this;
  }
  Figure &operator-=(const Figure &other) {
    us -= other.us;
    low -= other.low;
    high -= other.high;
    return *this;
  }
};

enum class BudgetLine : uint8_t {
  RepeatedWork,
  Copies,
  Communication,
  LayoutConversion,
  Fusion,
  Transport
};
constexpr size_t kNumBudgetLines = 6;
/// "repeated_work", "copies", "communication", "layout_conversion", "fusion",
/// "transport".
const char *getName(BudgetLine line);

/// One line, of a boundary or of all.
struct BudgetEntry {
  /// Kernels whose time is in this line, of all passes.
  int64_t kernels = 0;
  /// Of these kernels, without the time in which they waited for other ranks.
  double measured = 0;
  /// What takes their place, less what fusing it saves.
  Figure after;
  FigureBasis basis = FigureBasis::Measured; ///< of the worst part of `after`
  std::vector<std::string> sources;          ///< of `after`, each once

  /// Measured less after. `low` is with the least costs, so the largest gain of
  /// the three in all, though not in each line.
  Figure gain() const {
    return {measured - after.us, measured - after.low, measured - after.high};
  }
};
using BudgetEntries = std::array<BudgetEntry, kNumBudgetLines>;

/// A place where the run pays a sum, with all that follows up to the next.
struct BoundaryBudget {
  std::string place; ///< "layer.3.o_proj"; "begin": before the first sum
  /// Kinds of steps that change here: "all_reduce + norm"; empty if none does.
  std::string was, becomes;
  BudgetEntries lines;
  double waiting = 0; ///< us of its collectives; in no line
  /// Steps without kernels: it is left as it is, and nothing is gained.
  bool isIncomplete = false;

  Figure gain() const;
};

/// us of a pass's collectives, copies at them and row-wise work up to the next
/// product, and of all else that changes, under the planner's baselines.
struct Baselines {
  double today = 0, unfused = 0, chosen = 0;
};

/// No gain is larger than what can change at all.
struct GainBound {
  /// Kernels that do in both plans the same, and waiting.
  double unchanged = 0;
  /// Kernels that some line has.
  double changing = 0;
  /// Of the unchanged: large products, experts and the core of attention, which
  /// no plan of the same sharding changes.
  double products = 0, attention = 0;
  /// How many times faster a pass could be if all that this plan changes took
  /// no time; and if all did but products, attention and waiting.
  double ofThisPlan = 1, ofAnyPlan = 1;
};

enum class PassKind : uint8_t { Prefill, Decode, Mixed, Unknown };
const char *getName(PassKind kind); ///< "prefill", ...

/// All passes of one kind over as many tokens.
struct PassBudget {
  PassKind kind = PassKind::Unknown;
  int64_t tokens = 0;
  int64_t passes = 0;        ///< of all ranks that were recorded
  int64_t ranks = 0;         ///< that were recorded
  std::string before, after; ///< variants of the two plans: "v0"
  double busy = 0;           ///< sum of all kernels
  double span = 0;           ///< from the first kernel to the end of the last
  double waiting = 0;        ///< of busy: collectives that waited for ranks
  BudgetEntries lines;       ///< sums of those of the boundaries
  std::vector<BoundaryBudget> boundaries; ///< in order of the run
  GainBound bound;
  /// today: measured here; the others: less the gains as expected.
  Baselines here;
  /// By the planner alone, which has not seen the recording; nothing if it has
  /// not priced this plan at this token count.
  std::optional<Baselines> planner;
  /// Copies that stay, since the collective that they serve stays.
  double copiesLeft = 0;
  /// What somebody who relies on the figures must know.
  std::vector<std::string> notes;

  Figure gain() const;
};

/// Where a kernel's time went. Each event is in one posting at most; those in
/// none are unchanged.
struct Posting {
  size_t trace = 0, event = 0; ///< whose mapping, which event
  int32_t pass = -1;
  BudgetLine line = BudgetLine::RepeatedWork;
  std::string boundary;
  int64_t time = 0; ///< ns, without waiting
  int64_t wait = 0; ///< ns
};

struct Budget {
  std::string target;
  std::vector<PassBudget> passes; ///< by kind, then tokens
  std::vector<Posting> postings;  ///< in order of trace and event
  /// Passes that were not recorded from begin to end, and their time.
  int64_t partialPasses = 0;
  double partialUs = 0;
};

/// A plan.json and what messages call it.
struct PlanText {
  std::string text, name;
};

class StepCosts;

/// Token counts of the passes that were recorded whole, ascending, each once:
/// what another plan must have programs for. Throws BudgetError if there is no
/// such pass or the batch of one is not known.
std::vector<int64_t>
listTokenCounts(const std::vector<const Mapping *> &mappings);

/// Of mappings of one run, one for each rank that was recorded, with their
/// collectives (findCollectives). `before` is the plan that they are mapped on.
/// Throws BudgetError as described there, TraceError if a plan is refused by
/// the loader.
Budget makeBudget(const std::vector<const Mapping *> &mappings,
                  const std::vector<CollectiveUse> &uses,
                  const PlanText &before, const PlanText &after,
                  const StepCosts &costs);

} // namespace layline::trace

#endif // LAYLINE_TRACE_BUDGET_H
