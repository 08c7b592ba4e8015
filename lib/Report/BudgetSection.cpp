//===- BudgetSection.cpp - what the other plan would save -----------------===//
#include "Sections.h"
#include "layline/Support/PlaceName.h"
#include <cmath>
#include <map>

using namespace layline;
using namespace layline::report;

static double rounded(double us) { return std::round(us * 1000) / 1000; }

static ordered_json figureJSON(const trace::Figure &figure) {
  return {rounded(figure.us), rounded(figure.low), rounded(figure.high)};
}

static ordered_json baselinesJSON(const trace::Baselines &baselines) {
  return {rounded(baselines.today), rounded(baselines.unfused),
          rounded(baselines.chosen)};
}

static ordered_json linesJSON(const trace::BudgetEntries &lines) {
  ordered_json list = ordered_json::array();
  for (size_t line = 0; line < trace::kNumBudgetLines; ++line) {
    const trace::BudgetEntry &entry = lines[line];
    list.push_back({{"line", getName(static_cast<trace::BudgetLine>(line))},
                    {"kernels", entry.kernels},
                    {"measured", rounded(entry.measured)},
                    {"after", figureJSON(entry.after)},
                    {"gain", figureJSON(entry.gain())},
                    {"basis", getName(entry.basis)},
                    {"sources", entry.sources}});
  }
  return list;
}

/// Boundaries at the same place of all layers that become the same, together.
static ordered_json boundariesJSON(const trace::PassBudget &pass) {
  struct Group {
    const trace::BoundaryBudget *first = nullptr;
    int64_t count = 0, incomplete = 0;
    trace::Figure gain;
    double waiting = 0, measured = 0;
  };
  std::map<std::string, size_t> known;
  std::vector<std::pair<std::string, Group>> groups;
  for (const trace::BoundaryBudget &boundary : pass.boundaries) {
    PlaceName name = parsePlaceName(boundary.place);
    std::string place =
        name.layer < 0 ? boundary.place : "layer.*." + std::string(name.name);
    auto [found, isNew] = known.try_emplace(
        place + "|" + boundary.was + "|" + boundary.becomes, groups.size());
    if (isNew)
      groups.push_back({place, {}});
    Group &group = groups[found->second].second;
    if (!group.first)
      group.first = &boundary;
    ++group.count;
    group.incomplete += boundary.isIncomplete;
    group.gain += boundary.gain();
    group.waiting += boundary.waiting;
    for (const trace::BudgetEntry &entry : boundary.lines)
      group.measured += entry.measured;
  }
  ordered_json list = ordered_json::array();
  for (const auto &[place, group] : groups)
    list.push_back({{"place", place},
                    {"count", group.count},
                    {"was", group.first->was},
                    {"becomes", group.first->becomes},
                    {"measured", rounded(group.measured)},
                    {"gain", figureJSON(group.gain)},
                    {"waiting", rounded(group.waiting)},
                    {"incomplete", group.incomplete}});
  return list;
}

ordered_json layline::report::budgetJSON(const trace::Budget &budget) {
  ordered_json own = {{"target", budget.target},
                      {"partial_passes", budget.partialPasses},
                      {"partial_us", rounded(budget.partialUs)},
                      {"passes", ordered_json::array()}};
  for (const trace::PassBudget &pass : budget.passes) {
    ordered_json entry = {{"kind", getName(pass.kind)},
                          {"tokens", pass.tokens},
                          {"passes", pass.passes},
                          {"ranks", pass.ranks},
                          {"before", pass.before},
                          {"after", pass.after},
                          {"busy", rounded(pass.busy)},
                          {"span", rounded(pass.span)},
                          {"waiting", rounded(pass.waiting)},
                          {"gain", figureJSON(pass.gain())},
                          {"lines", linesJSON(pass.lines)},
                          {"boundaries", boundariesJSON(pass)}};
    entry["bound"] = {{"unchanged", rounded(pass.bound.unchanged)},
                      {"changing", rounded(pass.bound.changing)},
                      {"products", rounded(pass.bound.products)},
                      {"attention", rounded(pass.bound.attention)},
                      {"this_plan", pass.bound.ofThisPlan},
                      {"any_plan", pass.bound.ofAnyPlan}};
    entry["here"] = baselinesJSON(pass.here);
    if (pass.planner)
      entry["planner"] = baselinesJSON(*pass.planner);
    entry["copies_left"] = rounded(pass.copiesLeft);
    entry["notes"] = pass.notes;
    own["passes"].push_back(std::move(entry));
  }
  return own;
}
