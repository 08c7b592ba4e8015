//===- TraceBudgetJSON.cpp - a budget for programs ------------------------===//
#include "TextTable.h"
#include "TraceBudget.h"
#include <cmath>
#include <sstream>

using namespace layline;
using namespace layline::tool;
using nlohmann::ordered_json;

/// Nanoseconds are what recordings resolve.
static double rounded(double us) { return std::round(us * 1000) / 1000; }

static ordered_json toJSON(const trace::Figure &figure) {
  return {{"us", rounded(figure.us)},
          {"low", rounded(figure.low)},
          {"high", rounded(figure.high)}};
}

static ordered_json toJSON(const trace::BudgetEntries &lines) {
  ordered_json json = ordered_json::object();
  for (size_t line = 0; line < trace::kNumBudgetLines; ++line) {
    const trace::BudgetEntry &entry = lines[line];
    json[getName(static_cast<trace::BudgetLine>(line))] = {
        {"kernels", entry.kernels},      {"measured", rounded(entry.measured)},
        {"after", toJSON(entry.after)},  {"gain", toJSON(entry.gain())},
        {"basis", getName(entry.basis)}, {"sources", entry.sources}};
  }
  return json;
}

static ordered_json toJSON(const trace::Baselines &baselines) {
  return {{"today", rounded(baselines.today)},
          {"unfused", rounded(baselines.unfused)},
          {"chosen", rounded(baselines.chosen)}};
}

static ordered_json toJSON(const trace::PassBudget &pass) {
  ordered_json json = {{"kind", getName(pass.kind)},
                       {"tokens", pass.tokens},
                       {"passes", pass.passes},
                       {"ranks", pass.ranks},
                       {"before", pass.before},
                       {"after", pass.after},
                       {"busy", rounded(pass.busy)},
                       {"span", rounded(pass.span)},
                       {"waiting", rounded(pass.waiting)},
                       {"gain", toJSON(pass.gain())},
                       {"lines", toJSON(pass.lines)}};
  json["bound"] = {{"unchanged", rounded(pass.bound.unchanged)},
                   {"changing", rounded(pass.bound.changing)},
                   {"products", rounded(pass.bound.products)},
                   {"attention", rounded(pass.bound.attention)},
                   {"of_this_plan", pass.bound.ofThisPlan},
                   {"of_any_plan", pass.bound.ofAnyPlan}};
  json["here"] = toJSON(pass.here);
  json["planner"] = pass.planner ? toJSON(*pass.planner) : ordered_json();
  json["copies_left"] = rounded(pass.copiesLeft);
  json["notes"] = pass.notes;
  json["boundaries"] = ordered_json::array();
  for (const trace::BoundaryBudget &boundary : pass.boundaries)
    json["boundaries"].push_back({{"place", boundary.place},
                                  {"was", boundary.was},
                                  {"becomes", boundary.becomes},
                                  {"waiting", rounded(boundary.waiting)},
                                  {"is_incomplete", boundary.isIncomplete},
                                  {"gain", toJSON(boundary.gain())},
                                  {"lines", toJSON(boundary.lines)}});
  return json;
}

ordered_json layline::tool::budgetJSON(const trace::Budget &budget,
                                       const std::string &otherPlan) {
  ordered_json json = {{"schema", "layline.trace_budget"},
                       {"version", 1},
                       {"target", budget.target},
                       {"other_plan", otherPlan},
                       {"passes", ordered_json::array()},
                       {"partial_passes", budget.partialPasses},
                       {"partial_us", rounded(budget.partialUs)},
                       {"postings", ordered_json::array()}};
  for (const trace::PassBudget &pass : budget.passes)
    json["passes"].push_back(toJSON(pass));
  for (const trace::Posting &posting : budget.postings)
    json["postings"].push_back({{"trace", posting.trace},
                                {"event", posting.event},
                                {"pass", posting.pass},
                                {"line", getName(posting.line)},
                                {"boundary", posting.boundary},
                                {"ns", posting.time},
                                {"wait_ns", posting.wait}});
  return json;
}

std::string layline::tool::budgetCsv(const trace::Budget &budget) {
  std::ostringstream os;
  os << "kind,tokens,boundary,line,kernels,measured_us,after_us,gain_us,"
        "gain_at_low_costs_us,gain_at_high_costs_us,basis,sources\n";
  for (const trace::PassBudget &pass : budget.passes)
    for (const trace::BoundaryBudget &boundary : pass.boundaries)
      for (size_t line = 0; line < trace::kNumBudgetLines; ++line) {
        const trace::BudgetEntry &entry = boundary.lines[line];
        if (entry.kernels == 0 && entry.sources.empty())
          continue;
        std::string sources;
        for (const std::string &source : entry.sources)
          sources += (sources.empty() ? "" : "; ") + source;
        trace::Figure gain = entry.gain();
        os << getName(pass.kind) << ',' << pass.tokens << ','
           << quoteCsv(boundary.place) << ','
           << getName(static_cast<trace::BudgetLine>(line)) << ','
           << entry.kernels << ',' << rounded(entry.measured) << ','
           << rounded(entry.after.us) << ',' << rounded(gain.us) << ','
           << rounded(gain.low) << ',' << rounded(gain.high) << ','
           << getName(entry.basis) << ',' << quoteCsv(sources) << "\n";
      }
  return os.str();
}
