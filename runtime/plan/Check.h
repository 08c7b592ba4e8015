// The load-time checks beyond the schema (docs/plan-format.md, last section).
// Each adds what it finds; none stops at its first finding.
#ifndef LAYLINE_RUNTIME_PLAN_CHECK_H
#define LAYLINE_RUNTIME_PLAN_CHECK_H

#include "plan/Error.h"
#include "plan/Plan.h"

#include <string>
#include <vector>

namespace layline::runtime {

/// What is wrong with a plan, one line each.
class Findings {
public:
  /// Runs a check that throws at its first finding; more after the limit are
  /// not looked for.
  template <typename Check> void of(const Check &check) {
    if (lines_.size() >= kLimit)
      return;
    try {
      check();
    } catch (const Error &error) {
      lines_.emplace_back(error.what());
    }
  }
  bool empty() const { return lines_.empty(); }
  const std::vector<std::string> &lines() const { return lines_; }

private:
  static constexpr std::size_t kLimit = 20;
  std::vector<std::string> lines_;
};

/// What needs a feature is only there if the plan requires it.
void checkFeatures(const Plan &plan, Findings &findings);
/// Ranges are what their kind says at several token counts; variants are
/// disjoint and cover the tokens.
void checkRanges(const Plan &plan, Findings &findings);
void checkVariants(const Plan &plan, Findings &findings);
/// Every instance of a group has flags of its own.
void checkFlagKeys(const Plan &plan, Findings &findings);
/// Layouts of weights, caches, buffers; sizes in memory.
void checkStorage(const Plan &plan, Findings &findings);
/// Every step's operands against the contract of its kind.
void checkContracts(const Plan &plan, Findings &findings);
/// Rows that were dispatched to their experts are read by these alone, and come
/// back by the ids that they went by.
void checkRouting(const Plan &plan, Findings &findings);
/// Events, order of streams, `after`; collectives one behind the other.
void checkOrder(const Plan &plan, Findings &findings);
/// Written before read, used inside `live`, no two live buffers in one place.
void checkLifetimes(const Plan &plan, Findings &findings);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_CHECK_H
