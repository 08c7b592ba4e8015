//===- FormGraph.cpp - building, checking and pricing form graphs ---------===//
#include "layline/Planning/FormGraph.h"
#include <algorithm>

using namespace layline;

int FormGraph::addValue(int costClass) {
  values.push_back({-1, {}, costClass});
  return static_cast<int>(values.size()) - 1;
}

int FormGraph::addOp(Op op) {
  int number = static_cast<int>(ops.size());
  for (int value : op.operands)
    if (values[value].readers.empty() || values[value].readers.back() != number)
      values[value].readers.push_back(number);
  for (int value : op.results)
    values[value].producer = number;
  ops.push_back(std::move(op));
  return number;
}

double layline::getCost(const FormGraph &graph, const FormCosts &costs,
                        const FormChoice &choice) {
  std::vector<bool> runIsCovered(graph.ops.size());
  std::vector<uint8_t> convertIsCovered(graph.values.size());
  double sum = 0;
  for (int piece : choice.pieces) {
    sum += costs.pieces[piece];
    for (const FormGraph::Event &event : graph.pieces[piece].events) {
      if (event.isConversion)
        convertIsCovered[event.subject] |= 1u << event.choice;
      else
        runIsCovered[event.subject] = true;
    }
  }
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (!runIsCovered[op])
      sum += costs.modes[op][choice.modes[op]];
  for (size_t value = 0; value < graph.values.size(); ++value)
    for (unsigned c = 0; c < kConversions; ++c)
      if ((choice.conversions[value] & ~convertIsCovered[value]) >> c & 1)
        sum += costs.conversions[value][c];
  return sum;
}

bool layline::isValid(const FormGraph &graph, const FormChoice &choice) {
  if (choice.modes.size() != graph.ops.size() ||
      choice.conversions.size() != graph.values.size())
    return false;
  auto has = [&](int value, Conversion c) { return choice.converts(value, c); };
  // Forms that are taken, by value.
  std::vector<std::array<bool, 3>> taken(graph.values.size());
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (choice.modes[op] < 0 ||
        choice.modes[op] >= static_cast<int>(graph.ops[op].modes.size()))
      return false;
    const FormGraph::Mode &mode = graph.ops[op].modes[choice.modes[op]];
    for (size_t i = 0; i < mode.operands.size(); ++i)
      taken[graph.ops[op].operands[i]][static_cast<int>(mode.operands[i])] =
          true;
  }
  auto isTaken = [&](int value, Form form) {
    return taken[value][static_cast<int>(form)];
  };
  // Forms that are there, by value.
  std::vector<std::array<bool, 3>> there(graph.values.size());
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const FormGraph::Mode &mode = graph.ops[op].modes[choice.modes[op]];
    for (size_t i = 0; i < mode.results.size(); ++i) {
      int value = graph.ops[op].results[i];
      Form made = mode.results[i];
      bool scatters = has(value, Conversion::ReduceScatter),
           reduces = has(value, Conversion::AllReduce),
           gathers = has(value, Conversion::AllGather);
      if ((scatters || reduces) && made != Form::Owed)
        return false;
      if (scatters && reduces)
        return false;
      if (gathers && !(made == Form::Rows || scatters))
        return false;
      bool wantsWhole = isTaken(value, Form::Whole);
      if ((gathers && !wantsWhole) ||
          ((scatters || reduces) && !wantsWhole && !isTaken(value, Form::Rows)))
        return false;
      bool whole = made == Form::Whole || reduces || gathers;
      there[value] = {made == Form::Owed,
                      made == Form::Rows || scatters || whole, whole};
    }
  }
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const FormGraph::Mode &mode = graph.ops[op].modes[choice.modes[op]];
    for (size_t i = 0; i < mode.operands.size(); ++i)
      if (!there[graph.ops[op].operands[i]][static_cast<int>(mode.operands[i])])
        return false;
  }
  std::vector<FormGraph::Event> covered;
  for (int piece : choice.pieces) {
    for (const FormGraph::Event &need : graph.pieces[piece].needs)
      if (!choice.does(need))
        return false;
    for (const FormGraph::Event &event : graph.pieces[piece].events) {
      if (!choice.does(event) ||
          std::find(covered.begin(), covered.end(), event) != covered.end())
        return false;
      covered.push_back(event);
    }
  }
  return true;
}
