//===- TraceBudget.h - parts of layline trace budget ------------*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_TRACEBUDGET_H
#define LAYLINE_TOOLS_LAYLINE_TRACEBUDGET_H

#include "TraceArguments.h"
#include "layline/Trace/Budget.h"
#include <map>

namespace layline::tool {

/// What the budget compares the run with.
struct OtherPlan {
  trace::PlanText plan;
  /// The planner's prices by token count, as far as there are any.
  std::map<int64_t, trace::Baselines> prices;
};

struct TraceBudgetArguments {
  TraceInputArguments input;
  TracePlanArguments plan;
  std::string whatIf;               ///< folder of a plan, or empty
  std::string calibration, kernels; ///< of the cost model, or empty
};

/// The plan of --what-if, or what the planner chooses for these token counts.
/// On failure prints what is wrong, sets `exitCode` and gives nothing.
std::optional<OtherPlan> findOtherPlan(const TraceBudgetArguments &arguments,
                                       const std::vector<int64_t> &tokens,
                                       int &exitCode);

void printBudget(std::ostream &os, const trace::Budget &budget,
                 const std::string &otherPlan);
nlohmann::ordered_json budgetJSON(const trace::Budget &budget,
                                  const std::string &otherPlan);
/// A line for each line of each boundary.
std::string budgetCsv(const trace::Budget &budget);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_TRACEBUDGET_H
