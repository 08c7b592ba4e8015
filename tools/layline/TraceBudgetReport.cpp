//===- TraceBudgetReport.cpp - a budget for people ------------------------===//
#include "TextTable.h"
#include "TraceBudget.h"
#include <algorithm>
#include <cctype>
#include <cstdio>

using namespace layline;
using namespace layline::tool;

static std::string formatUs(double us) {
  char text[32];
  // No "-0.0".
  std::snprintf(text, sizeof text, "%.1f", us > -0.05 && us < 0.05 ? 0.0 : us);
  return text;
}

static std::string formatRange(const trace::Figure &gain) {
  auto [least, most] = std::minmax({gain.us, gain.low, gain.high});
  return formatUs(least) + " .. " + formatUs(most);
}

static std::string formatPart(double part, double whole) {
  char text[32];
  double percent = whole > 0 ? 100 * part / whole : 0.0;
  std::snprintf(text, sizeof text, "%.1f %%",
                percent > -0.05 && percent < 0.05 ? 0.0 : percent);
  return text;
}

static const char *explain(trace::BudgetLine line) {
  switch (line) {
  case trace::BudgetLine::RepeatedWork:
    return "work no longer repeated on every rank";
  case trace::BudgetLine::Copies:
    return "copies that go";
  case trace::BudgetLine::Communication:
    return "communication, new for old";
  case trace::BudgetLine::LayoutConversion:
    return "layout conversions";
  case trace::BudgetLine::Fusion:
    return "fusion alone, same sharding and transport";
  case trace::BudgetLine::Transport:
    return "another transport in the fused kernel";
  }
  return "";
}

static bool isEmpty(const trace::BudgetEntry &entry) {
  return entry.kernels == 0 && entry.sources.empty();
}

static void addRow(TextTable &table, const std::string &what,
                   const std::string &kernels, double now, double then,
                   const trace::Figure &gain, double busy,
                   const std::string &basis) {
  table.add({what, kernels, formatUs(now), formatUs(then), formatUs(gain.us),
             formatRange(gain), formatPart(gain.us, busy), basis});
}

static void printLines(std::ostream &os, const trace::PassBudget &pass) {
  TextTable table({"line", ">kernels", ">now us", ">then us", ">saves us",
                   ">range", ">of the pass", "known by"});
  trace::BudgetEntry sum;
  size_t fusion = static_cast<size_t>(trace::BudgetLine::Fusion);
  for (size_t line = 0; line < trace::kNumBudgetLines; ++line) {
    const trace::BudgetEntry &entry = pass.lines[line];
    if (line == fusion)
      addRow(table, "  today to unfused: this sharding",
             std::to_string(sum.kernels), sum.measured, sum.after.us,
             sum.gain(), pass.busy, "");
    addRow(table, explain(static_cast<trace::BudgetLine>(line)),
           std::to_string(entry.kernels), entry.measured, entry.after.us,
           entry.gain(), pass.busy, isEmpty(entry) ? "" : getName(entry.basis));
    sum.kernels += entry.kernels;
    sum.measured += entry.measured;
    sum.after += entry.after;
  }
  addRow(table, "  today to chosen: in all", std::to_string(sum.kernels),
         sum.measured, sum.after.us, sum.gain(), pass.busy, "");
  table.print(os);
}

static std::string formatTimes(double speedup) {
  char text[32];
  std::snprintf(text, sizeof text, "x%.3f", speedup);
  return text;
}

static void printBound(std::ostream &os, const trace::PassBudget &pass) {
  const trace::GainBound &bound = pass.bound;
  auto [least, most] =
      std::minmax({pass.gain().us, pass.gain().low, pass.gain().high});
  auto speedup = [&](double gain) {
    return formatTimes(pass.busy / (pass.busy - gain));
  };
  os << "  the whole pass: " << speedup(pass.gain().us) << " ("
     << speedup(least) << " .. " << speedup(most) << "); bound: "
     << (bound.ofThisPlan > 0 ? formatTimes(bound.ofThisPlan)
                              : std::string("none"))
     << " if all that changes took no time (" << formatUs(bound.unchanged)
     << " us stay, measured here)";
  if (bound.ofAnyPlan > 0)
    os << ",\n    " << formatTimes(bound.ofAnyPlan)
       << " if only products and experts (" << formatUs(bound.products)
       << " us), the core of attention (" << formatUs(bound.attention)
       << " us) and waiting (" << formatUs(pass.waiting) << " us) were left";
  os << "\n";
}

static void printBaselines(std::ostream &os, const trace::PassBudget &pass) {
  os << "  boundaries and what else changes, by baseline:\n";
  TextTable table({"", ">(a) today us", ">(b) unfused us", ">(c) chosen us",
                   ">sharding (b)-(a)", ">fusion (c)-(b)", ">in all (c)-(a)"});
  auto add = [&](const char *what, const trace::Baselines &its) {
    table.add({what, formatUs(its.today), formatUs(its.unfused),
               formatUs(its.chosen), formatUs(its.unfused - its.today),
               formatUs(its.chosen - its.unfused),
               formatUs(its.chosen - its.today)});
  };
  add("this recording", pass.here);
  if (pass.planner)
    add("the planner alone", *pass.planner);
  table.print(os, "    ");
}

/// "layer.*.o_proj" of "layer.3.o_proj".
static std::string patternOf(const std::string &place) {
  if (place.compare(0, 6, "layer.") != 0)
    return place;
  size_t end = 6;
  while (end < place.size() &&
         std::isdigit(static_cast<unsigned char>(place[end])))
    ++end;
  return "layer.*" + place.substr(end);
}

namespace {
/// Boundaries at the same place of all layers that become the same.
struct SameBoundaries {
  std::string place, was, becomes;
  int64_t count = 0;
  double waiting = 0, measured = 0;
  trace::Figure gain;
  std::array<double, trace::kNumBudgetLines> lines{};
};
} // namespace

static void printBoundaries(std::ostream &os, const trace::PassBudget &pass) {
  std::vector<SameBoundaries> groups;
  for (const trace::BoundaryBudget &boundary : pass.boundaries) {
    std::string place = patternOf(boundary.place);
    auto same = std::find_if(
        groups.begin(), groups.end(), [&](const SameBoundaries &group) {
          return group.place == place && group.was == boundary.was &&
                 group.becomes == boundary.becomes;
        });
    if (same == groups.end()) {
      groups.push_back(
          {place, boundary.was, boundary.becomes, 0, 0, 0, {}, {}});
      same = std::prev(groups.end());
    }
    ++same->count;
    same->waiting += boundary.waiting;
    same->gain += boundary.gain();
    for (size_t line = 0; line < trace::kNumBudgetLines; ++line) {
      same->measured += boundary.lines[line].measured;
      same->lines[line] += boundary.lines[line].gain().us;
    }
  }
  os << "  us saved by boundary, negative if lost:\n";
  TextTable table({"boundary", ">count", ">now us", ">waits us", ">repeated",
                   ">copies", ">communication", ">layout", ">fusion",
                   ">transport", ">saves us", ">range", "was", "becomes"});
  for (const SameBoundaries &group : groups) {
    if (group.was.empty() && group.becomes.empty() && group.waiting <= 0)
      continue;
    std::vector<std::string> row = {group.place, std::to_string(group.count),
                                    formatUs(group.measured),
                                    formatUs(group.waiting)};
    for (double gain : group.lines)
      row.push_back(formatUs(gain));
    row.push_back(formatUs(group.gain.us));
    row.push_back(formatRange(group.gain));
    row.push_back(group.was.empty() ? "stays" : group.was);
    row.push_back(group.becomes);
    table.add(row);
  }
  table.print(os, "    ");
}

static void printSources(std::ostream &os, const trace::PassBudget &pass) {
  os << "  what the figures rest on, beside this recording:\n";
  constexpr size_t kMostShown = 6;
  for (size_t line = 0; line < trace::kNumBudgetLines; ++line) {
    const std::vector<std::string> &sources = pass.lines[line].sources;
    for (size_t i = 0; i < std::min(sources.size(), kMostShown); ++i)
      os << "    " << getName(static_cast<trace::BudgetLine>(line)) << ": "
         << sources[i] << "\n";
    if (sources.size() > kMostShown)
      os << "    and " << sources.size() - kMostShown << " more\n";
  }
  for (const std::string &note : pass.notes)
    os << "  note: " << note << "\n";
}

void layline::tool::printBudget(std::ostream &os, const trace::Budget &budget,
                                const std::string &otherPlan) {
  for (const trace::PassBudget &pass : budget.passes) {
    os << (pass.kind == trace::PassKind::Unknown ? "passes"
                                                 : getName(pass.kind))
       << " of " << pass.tokens << " tokens, mean of " << pass.passes
       << (pass.passes == 1 ? " pass" : " passes") << " of " << pass.ranks
       << (pass.ranks == 1 ? " rank" : " ranks") << ": busy "
       << formatUs(pass.busy) << " us of " << formatUs(pass.span) << " us, "
       << formatUs(pass.waiting)
       << " us of it waiting for other ranks, which no plan saves\n"
       << "  against " << otherPlan << ", " << pass.after << ", on "
       << budget.target << "\n";
    printLines(os, pass);
    printBound(os, pass);
    printBaselines(os, pass);
    printBoundaries(os, pass);
    printSources(os, pass);
  }
  if (budget.partialPasses > 0)
    os << budget.partialPasses << " passes of " << formatUs(budget.partialUs)
       << " us were not recorded from begin to end: they are in no budget\n";
}
