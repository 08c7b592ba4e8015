//===- CostAccuracy.cpp - how well the cost model knows its tables --------===//
//
// Prints docs/generated/cost-accuracy.md: errors with rows left out, decisions
// on measured alternatives with rows held out, closed forms beside the tables.
// With
// --update writes the page, otherwise compares it. Fails too where a bar is
// missed: the best alternative in 95 % of the points of every set of decisions
// about forms, none above 2 % where all rows are fitted.
//
//===----------------------------------------------------------------------===//
#include "Decisions.h"
#include "Tables.h"
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

using namespace layline;
using namespace layline::test;

namespace {

constexpr double kLeastBest = 0.95, kMostRegret = 0.02;

std::string format(const char *form, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, form);
  std::vsnprintf(text, sizeof text, form, arguments);
  va_end(arguments);
  return text;
}

std::string percent(double share) { return format("%.1f", 100 * share); }

class Page {
public:
  std::string write();
  const std::vector<std::string> &missedBars() const { return missed; }

private:
  void writeLeaveOneOut();
  void writeDecisions();
  void writeAlgorithms();
  void writeClosedForms();
  void writeRoofline();
  void writeMisses(const std::string &title, const Tally &tally);
  void addTally(const std::string &name, const Tally &tally, bool hasBar,
                bool fitted);

  std::ostringstream out;
  std::vector<std::string> missed;
};

} // namespace

void Page::writeLeaveOneOut() {
  out << "## What lies between two rows\n\n"
         "Every interior row of every deployed curve left out in turn, which "
         "leaves a gap of 4 between its neighbours; in use the gap is 2. "
         "Relative errors in %: median / 90th percentile / largest.\n\n"
         "| card | op | rows | latency and bandwidth (used) | log-log |\n"
         "|---|---|---:|---:|---:|\n";
  std::set<std::pair<std::string, std::string>> kinds;
  for (const LatencyRow &row : getLatencies())
    kinds.insert({row.card, row.op});
  size_t better = 0, worse = 0;
  for (const auto &[card, op] : kinds) {
    Errors line = leaveOneOut(card, op, Curve::Axes::Linear);
    Errors logs = leaveOneOut(card, op, Curve::Axes::LogLog);
    if (line.relative.empty())
      continue;
    auto text = [](const Errors &errors) {
      return percent(errors.quantile(0.5)) + " / " +
             percent(errors.quantile(0.9)) + " / " +
             percent(errors.relative.back());
    };
    better += line.quantile(0.5) < logs.quantile(0.5);
    worse += line.quantile(0.5) > logs.quantile(0.5);
    out << "| " << card << " | " << op << " | " << line.relative.size() << " | "
        << text(line) << " | " << text(logs) << " |\n";
  }
  out << "\nThe median is smaller with a latency and a bandwidth in " << better
      << " of these tables, on log-log axes in " << worse << ".\n\n";
}

void Page::addTally(const std::string &name, const Tally &tally, bool hasBar,
                    bool fitted) {
  out << "| " << name << " | " << tally.count() << " | "
      << percent(double(tally.numBest()) / double(tally.count())) << " | "
      << percent(double(tally.numWithin(kMostRegret)) / double(tally.count()))
      << " | " << percent(tally.worst()) << " |\n";
  if (!hasBar)
    return;
  if (double(tally.numBest()) < kLeastBest * double(tally.count()))
    missed.push_back(name + ": the best alternative in " +
                     std::to_string(tally.numBest()) + " of " +
                     std::to_string(tally.count()) + " points");
  if (fitted && tally.worst() > kMostRegret)
    missed.push_back(name + ": a regret of " + percent(tally.worst()) + " %");
}

void Page::writeMisses(const std::string &title, const Tally &tally) {
  std::vector<Decision> misses;
  for (const Decision &decision : tally.decisions)
    if (decision.regret > kMostRegret)
      misses.push_back(decision);
  out << "\n" << title << ": ";
  if (misses.empty()) {
    out << "none.\n";
    return;
  }
  std::sort(
      misses.begin(), misses.end(),
      [](const Decision &a, const Decision &b) { return a.regret > b.regret; });
  out << misses.size() << ".\n\n";
  for (const Decision &decision : misses)
    out << "* " << decision.place << ": " << decision.chosen << ", "
        << percent(decision.regret) << " % above " << decision.best << "\n";
}

static const char *const kCards[] = {"h100_sxm", "h200_sxm", "b200_sxm"};
static const char *const kTableHead =
    "| | points | best chosen, % | within 2 %, % | worst regret, % |\n"
    "|---|---:|---:|---:|---:|\n";

void Page::writeDecisions() {
  out << "## Which form a boundary takes\n\n"
         "Alternatives whose parts are all measured at the same bytes. Regret "
         "is the measured time of the chosen one by that of the best, less 1. "
         "Held out: even and odd powers of two in turn, ends of a curve "
         "kept.\n";
  for (Split split : {Split::Fitted, Split::Versions, Split::Sizes}) {
    bool fitted = split == Split::Fitted;
    out << "\n### " << char(std::toupper(getName(split)[0]))
        << getName(split) + 1 << "\n\n"
        << kTableHead;
    // One version was measured there: the two ways to hold out are one.
    addTally("h100_sxm, 8 ranks, with norms (TokenWeave alone)",
             decideBoundaries(split, Curve::Axes::Linear), true, fitted);
    Tally all, logs;
    for (const char *card : kCards)
      for (int64_t ranks : {4, 8}) {
        Tally tally = decideForms(card, ranks, split, Curve::Axes::Linear);
        addTally(card + std::string(", ") + std::to_string(ranks) +
                     " ranks, all_reduce or reduce_scatter and all_gather",
                 tally, true, fitted);
        all += tally;
        logs += decideForms(card, ranks, split, Curve::Axes::LogLog);
      }
    addTally("all cards", all, true, fitted);
    if (!fitted)
      addTally("all cards, log-log (not used)", logs, false, fitted);
    writeMisses("Above 2 %", all);
  }
}

void Page::writeAlgorithms() {
  out << "\n## Which algorithm an all_reduce takes\n\n"
         "The engine's choice at run time, not the plan's; a plan needs the "
         "time of the fastest only.\n";
  for (Split split : {Split::Fitted, Split::Versions, Split::Sizes}) {
    out << "\n### " << char(std::toupper(getName(split)[0]))
        << getName(split) + 1 << "\n\n"
        << kTableHead;
    Tally all;
    for (const char *card : kCards)
      for (int64_t ranks : {4, 8}) {
        Tally tally = decideAlgorithms(card, ranks, split, Curve::Axes::Linear);
        addTally(card + std::string(", ") + std::to_string(ranks) + " ranks",
                 tally, false, split == Split::Fitted);
        all += tally;
      }
    addTally("all cards", all, false, split == Split::Fitted);
    writeMisses("Above 2 %", all);
  }
}

void Page::writeClosedForms() {
  out << "\n## Closed forms beside the tables\n\n"
         "What the model would say of cards with tables if they had none, "
         "16 KiB to 512 MiB on 2, 4 and 8 ranks. Relative errors in %: median "
         "/ 90th percentile / largest.\n\n"
         "| target | all_reduce | reduce_scatter | all_gather |\n"
         "|---|---:|---:|---:|\n";
  for (const std::string &name : knownTargets()) {
    CostModel::Tables tables;
    tables.target = *findTarget(name);
    tables.hardware = *findHardware(tables.target.card);
    std::vector<LatencyRow> rows =
        selectDeployed(getLatencies(), tables.hardware.table);
    if (rows.empty())
      continue;
    out << "| " << name;
    for (Collective op : {Collective::AllReduce, Collective::ReduceScatter,
                          Collective::AllGather}) {
      Errors errors;
      for (int64_t ranks : {2, 4, 8})
        for (int64_t bytes = 16 << 10; bytes <= 512 << 20; bytes *= 2) {
          double least = 0;
          for (const LatencyRow &row : rows)
            if (row.op == layline::getName(op) && row.ranks == ranks &&
                row.curve.measured().count(bytes)) {
              double us = row.curve.measured().at(bytes);
              least = least == 0 ? us : std::min(least, us);
            }
          if (least > 0 && ranks <= tables.target.cards)
            errors.add(tables.collective(op, bytes, ranks).front().estimate.us,
                       least);
        }
      if (errors.relative.empty())
        out << " | no table";
      else
        out << " | " << percent(errors.quantile(0.5)) << " / "
            << percent(errors.quantile(0.9)) << " / "
            << percent(errors.relative.back());
    }
    out << " |\n";
  }
}

void Page::writeRoofline() {
  std::string error;
  std::optional<CostModel> h100 =
      CostModel::create({"h100x8", "", "", LaunchMode::Graph}, error);
  std::optional<CostModel> eager =
      CostModel::create({"h200x8", "", "", LaunchMode::Eager}, error);
  std::optional<CostModel> h20 =
      CostModel::create({"h20x8", "", "", LaunchMode::Graph}, error);
  double perLaunch = eager->launchOverheadUs() - h100->launchOverheadUs();
  Errors norms;
  for (const LatencyRow &row : getLatencies())
    if (row.op == "row_kernel")
      for (auto [bytes, us] : row.curve.measured())
        norms.add(h100->rowKernel(bytes / 2, bytes / 2).us + perLaunch, us);
  out << "\n## Rooflines\n\n"
      << "Norm with residual on H100, TokenWeave's " << norms.relative.size()
      << " sizes, launched one by one: median error "
      << percent(norms.quantile(0.5)) << " %, largest "
      << percent(norms.relative.back()) << " %.\n\n"
      << "sglang PR 10568 (H20, TP 8, chunks of 16,384 tokens, DeepSeek-V3): "
         "ms a pass, 61 layers, one chunk. How many chunks a measured pass has "
         "is not said there, so ratios compare and sums do not.\n\n"
         "| | all rows | an eighth | ratio | measured | ratio |\n"
         "|---|---:|---:|---:|---:|---:|\n";
  auto line = [&](const char *name, double whole, double part,
                  const char *measured, double ratio) {
    out << "| " << name << " | " << format("%.1f", whole * 61 / 1e3) << " | "
        << format("%.1f", part * 61 / 1e3) << " | "
        << format("%.2f", whole / part) << " | " << measured << " | "
        << format("%.2f", ratio) << " |\n";
  };
  constexpr int64_t kTokens = 16384, kHidden = 7168, kLatent = 2112;
  for (int width : {1, 2})
    line(width == 1 ? "q_a and kv_a, 8 bits" : "q_a and kv_a, 16 bits",
         h20->gemm(kTokens, kLatent, kHidden, width, width).us,
         h20->gemm(kTokens / 8, kLatent, kHidden, width, width).us,
         "205.1, 26.1", 205.1 / 26.1);
  int64_t bytes = kTokens * kHidden * 2;
  // Both boundaries of a layer, one of them with the latent behind it.
  double whole = h20->collective(Collective::AllReduce, bytes, 8).us;
  double scatter = h20->collective(Collective::ReduceScatter, bytes, 8).us;
  double gather =
      h20->collective(Collective::AllGather, kTokens * kLatent * 2, 8).us;
  line("communication of two boundaries, one by the latent", 2 * whole,
       whole + scatter + gather, "267.1, 249.6", 267.1 / 249.6);
}

std::string Page::write() {
  out << "# How well the cost model knows its tables\n\n"
         "Written by `layline-cost-accuracy --update` (test/unit/cost); the "
         "test `cost-accuracy` compares it. What the numbers rest on: "
         "[cost-model.md](../cost-model.md).\n\n";
  writeLeaveOneOut();
  writeDecisions();
  writeAlgorithms();
  writeClosedForms();
  writeRoofline();
  return out.str();
}

int main(int argc, char **argv) {
  bool update = argc == 2 && argv[1] == std::string("--update");
  if (argc > 1 && !update) {
    std::cerr << "found '" << argv[1] << "', expected nothing or --update\n";
    return 2;
  }
  Page page;
  std::string text = page.write();
  std::string path =
      std::string(LAYLINE_SOURCE_DIR) + "/docs/generated/cost-accuracy.md";
  for (const std::string &bar : page.missedBars())
    std::cerr << "bar missed: " << bar << "\n";
  if (update) {
    std::ofstream(path) << text;
  } else {
    std::ifstream in(path);
    std::ostringstream committed;
    committed << in.rdbuf();
    if (committed.str() != text) {
      std::cerr << path << " is not current; run layline-cost-accuracy "
                << "--update\n";
      return 1;
    }
  }
  return page.missedBars().empty() ? 0 : 1;
}
