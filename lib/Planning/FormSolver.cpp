//===- FormSolver.cpp - the dynamic program over the frontier -------------===//
//
// Ops are taken in program order. A state says which forms of each live value
// are there and which pieces have begun, with the events that they still owe.
// Of two ways to one state the cheaper stays: what follows depends on the state
// alone, so the least cost at the end is the least of all.
//
// A piece is paid for when its first event happens; its other events are then
// free, and must happen before they can no more (an op is passed, a value is
// dead), or the state is dropped. So no state is ever kept whose pieces are not
// done in full.
//
// The graph falls into segments (layers). A segment's outcome depends on the
// state at its start only, and on what kind of segment it is: both are written
// relative to its first op, and each pair is solved once.
//
//===----------------------------------------------------------------------===//
#include "FormSegments.h"
#include "FormStretch.h"
#include "layline/Planning/FormGraph.h"
#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

using namespace layline;

struct FormSolver::Facts {
  explicit Facts(const FormGraph &graph)
      : index(graph), live(findLive(graph, index)) {}

  FormIndex index;
  std::vector<std::vector<int>> live; ///< at the start of each segment
};

/// The most values that are live at once.
static size_t countLive(const FormGraph &graph, const FormIndex &index) {
  size_t most = 0, now = 0;
  std::vector<int> dying(graph.ops.size());
  for (int last : index.lastReader)
    ++dying[last];
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    now += graph.ops[op].results.size();
    most = std::max(most, now);
    now -= dying[op];
  }
  return most;
}

FormSolver::FormSolver(const FormGraph &graph, const std::vector<int> &labels)
    : graph(graph), facts(std::make_shared<Facts>(graph)),
      classOf(classifySegments(graph, facts->index, facts->live, labels)),
      isTooWide(countLive(graph, facts->index) > kMostLive) {
  for (int number : classOf)
    classes = std::max(classes, number + 1);
}

/// A kernel that costs no less than what it does by itself is never needed: a
/// choice with it stays a choice without it, at no more.
static FormCosts dropUselessPieces(const FormGraph &graph, FormCosts costs) {
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece) {
    double alone = 0;
    for (const FormGraph::Event &event : graph.pieces[piece].events)
      alone += event.isConversion
                   ? costs.conversions[event.subject][event.choice]
                   : costs.modes[event.subject][event.choice];
    if (costs.pieces[piece] >= alone)
      costs.pieces[piece] = kNever;
  }
  return costs;
}

FormChoice FormSolver::solve(const FormCosts &given) const {
  const FormCosts costs = dropUselessPieces(graph, given);
  const FormIndex &index = facts->index;
  const auto &live = facts->live;
  struct Way {
    std::string state;
    double us;
    int from;                   ///< the way of the segment before
    const FormOutcome *outcome; ///< how this segment was passed
  };
  std::map<std::pair<int, std::string>,
           std::unique_ptr<std::vector<FormOutcome>>>
      solved;
  std::vector<std::vector<Way>> ways;
  ways.push_back({{"", 0, -1, nullptr}});
  for (size_t s = 0; s < graph.segments.size(); ++s) {
    int begin = graph.segments[s];
    int end = s + 1 < graph.segments.size()
                  ? graph.segments[s + 1]
                  : static_cast<int>(graph.ops.size());
    std::vector<Way> reached;
    std::unordered_map<std::string, size_t> found;
    for (size_t w = 0; w < ways.back().size(); ++w) {
      const Way &way = ways.back()[w];
      auto &outcomes = solved[{classOf[s], way.state}];
      if (!outcomes) {
        FormStretch stretch(graph, index, costs, begin, end, live[s]);
        outcomes = std::make_unique<std::vector<FormOutcome>>(
            stretch.run(decode(way.state, live[s].size(), index, begin)));
      }
      for (const FormOutcome &outcome : *outcomes) {
        double us = way.us + outcome.us;
        auto [place, isNew] = found.try_emplace(outcome.state, reached.size());
        Way made{outcome.state, us, static_cast<int>(w), &outcome};
        if (isNew)
          reached.push_back(std::move(made));
        else if (us < reached[place->second].us)
          reached[place->second] = std::move(made);
      }
    }
    ways.push_back(std::move(reached));
  }

  FormChoice choice;
  choice.modes.assign(graph.ops.size(), 0);
  choice.conversions.assign(graph.values.size(), 0);
  if (isTooWide)
    return choice;
  int best = -1;
  for (size_t w = 0; w < ways.back().size(); ++w)
    if (best < 0 || ways.back()[w].us < ways.back()[best].us)
      best = static_cast<int>(w);
  if (best < 0)
    return choice;
  choice.us = ways.back()[best].us;
  for (size_t s = graph.segments.size(); s-- > 0;) {
    const Way &way = ways[s + 1][best];
    int begin = graph.segments[s];
    const FormSteps &steps = way.outcome->steps;
    for (size_t i = 0; i < steps.modes.size(); ++i)
      choice.modes[begin + i] = steps.modes[i];
    for (const FormSteps::Converted &converted : steps.conversions)
      choice.conversions[graph.ops[begin + converted.producer]
                             .results[converted.result]] |=
          1u << static_cast<unsigned>(converted.conversion);
    for (const FormSteps::Begun &begun : steps.pieces)
      choice.pieces.push_back(
          index.anchored[begin + begun.anchor][begun.index]);
    best = way.from;
  }
  std::sort(choice.pieces.begin(), choice.pieces.end());
  return choice;
}
