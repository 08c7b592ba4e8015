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
// done in full. States that cannot lead to the optimum are dropped too, see
// FormDominance.h.
//
// The graph falls into segments (layers). What a segment makes of the states at
// its start depends on what kind of segment it is and on how much dearer each
// state is than the cheapest: all are written relative to its first op, and
// each such case is solved once.
//
//===----------------------------------------------------------------------===//
#include "FormSegments.h"
#include "FormStretch.h"
#include "layline/Planning/FormGraph.h"
#include <algorithm>
#include <map>
#include <memory>

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
    : FormSolver(graph, std::make_shared<Facts>(graph), labels) {}

FormSolver::FormSolver(const FormGraph &graph,
                       std::shared_ptr<const Facts> shared,
                       const std::vector<int> &labels)
    : graph(graph), facts(std::move(shared)),
      classOf(classifySegments(graph, facts->index, facts->live, labels)),
      isTooWide(countLive(graph, facts->index) > kMostLive) {
  for (int number : classOf)
    classes = std::max(classes, number + 1);
}

FormSolver FormSolver::withLabels(const std::vector<int> &labels) const {
  return FormSolver(graph, facts, labels);
}

/// What some events of a piece cost one by one.
static double sumOwnCosts(const FormGraph &graph, const FormCosts &costs,
                          int piece, int part = -1) {
  double sum = 0;
  for (const FormGraph::Event &event : graph.pieces[piece].events) {
    bool isInPart = false;
    if (part >= 0)
      for (const FormGraph::Event &other : graph.pieces[part].events)
        isInPart |= other == event;
    if (!isInPart)
      sum += getOwnCost(costs, event);
  }
  return sum;
}

/// A kernel that costs no less than what it does by itself, or than another
/// that does a part of it and the rest by itself, is never needed: a choice
/// with it stays a choice without it, at no more.
static FormCosts dropUselessPieces(const FormGraph &graph,
                                   const FormIndex &index,
                                   const FormCosts &costs) {
  FormCosts fewer = costs;
  for (int piece = 0; piece < static_cast<int>(graph.pieces.size()); ++piece) {
    double us = costs.pieces[piece];
    bool isUseful = us < sumOwnCosts(graph, costs, piece);
    for (int part : index.parts[piece]) {
      if (!isUseful)
        break;
      double instead =
          costs.pieces[part] + sumOwnCosts(graph, costs, piece, part);
      // Of two that do the same at the same price the first stays.
      bool isTwin = graph.pieces[part].events.size() ==
                        graph.pieces[piece].events.size() &&
                    part > piece;
      isUseful = isTwin ? us <= instead : us < instead;
    }
    if (!isUseful)
      fewer.pieces[piece] = kNever;
  }
  return fewer;
}

FormChoice FormSolver::solve(const FormCosts &given) const {
  const FormIndex &index = facts->index;
  const auto &live = facts->live;
  const FormProblem problem(graph, index,
                            dropUselessPieces(graph, index, given));
  auto getEnd = [&](size_t s) {
    return s + 1 < graph.segments.size() ? graph.segments[s + 1]
                                         : static_cast<int>(graph.ops.size());
  };
  std::map<std::string, std::vector<FormOutcome>> solved;
  std::vector<const std::vector<FormOutcome> *> passed; // by segment
  FormChoice choice;
  choice.modes.assign(graph.ops.size(), 0);
  choice.conversions.assign(graph.values.size(), 0);
  if (isTooWide)
    return choice;
  const std::vector<FormOutcome> atStart = {{"", 0, -1, {}}};
  const std::vector<FormOutcome> *before = &atStart;
  double us = 0;
  for (size_t s = 0; s < graph.segments.size(); ++s) {
    double least = kNever;
    for (const FormOutcome &outcome : *before)
      least = std::min(least, outcome.us);
    // What a segment does with its starts depends on their differences alone.
    std::string key;
    append(key, classOf[s]);
    for (const FormOutcome &outcome : *before) {
      double more = outcome.us - least;
      key.append(reinterpret_cast<const char *>(&more), sizeof more);
      append(key, static_cast<int>(outcome.state.size()));
      key += outcome.state;
    }
    auto [entry, isNew] = solved.try_emplace(std::move(key));
    if (isNew) {
      std::vector<FormStart> starts;
      for (const FormOutcome &outcome : *before)
        starts.push_back(
            {decode(outcome.state, live[s].size(), index, graph.segments[s]),
             outcome.us - least});
      entry->second =
          FormStretch(problem, graph.segments[s], getEnd(s), live[s])
              .run(starts);
    }
    before = &entry->second;
    if (before->empty())
      return choice;
    passed.push_back(before);
    us += least;
  }
  const FormOutcome *last = &*std::min_element(
      before->begin(), before->end(),
      [](const FormOutcome &a, const FormOutcome &b) { return a.us < b.us; });
  choice.us = us + last->us;
  for (size_t s = graph.segments.size(); s-- > 0;) {
    int begin = graph.segments[s];
    const FormSteps &steps = last->steps;
    for (size_t i = 0; i < steps.modes.size(); ++i)
      choice.modes[begin + i] = steps.modes[i];
    for (const FormSteps::Converted &converted : steps.conversions)
      choice.conversions[graph.ops[begin + converted.producer]
                             .results[converted.result]] |=
          1u << static_cast<unsigned>(converted.conversion);
    for (const FormSteps::Begun &begun : steps.pieces)
      choice.pieces.push_back(
          index.anchored[begin + begun.anchor][begun.index]);
    if (s > 0)
      last = &(*passed[s - 1])[last->from];
  }
  std::sort(choice.pieces.begin(), choice.pieces.end());
  return choice;
}
