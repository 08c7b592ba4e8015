//===- CompareLayers.cpp - copies and the like as other layers have them --===//
#include "MappingParts.h"
#include <algorithm>
#include <map>

using namespace layline::trace;

namespace {

/// A step as every layer has it, and how many layers it is ahead.
struct RelativeStep {
  std::string step; ///< work and place in the layer
  int64_t ahead = 0;
  bool operator<(const RelativeStep &other) const {
    return std::tie(step, ahead) < std::tie(other.step, other.ahead);
  }
};

/// What stands before or behind an event, and what the event is.
struct Context {
  bool isBefore;
  int32_t name;
  std::string step;
  bool operator<(const Context &other) const {
    return std::tie(isBefore, name, step) <
           std::tie(other.isBefore, other.name, other.step);
  }
};

using Votes = std::map<RelativeStep, int>;

/// One event between two that have places of their own, in one layer or at its
/// end.
struct Between {
  size_t event;
  int32_t before, behind; ///< steps
};

class LayerComparer {
public:
  LayerComparer(Mapping &mapping, int32_t number)
      : mapping(mapping), pass(mapping.passes[number]), number(number),
        steps(mapping.programs[pass.program].steps) {}

  void run() {
    collect();
    std::map<Context, Votes> votes;
    for (const Between &own : events)
      for (bool isBefore : {true, false}) {
        ++votes[contextOf(own, isBefore)][targetOf(own, isBefore)];
        ++byName[mapping.trace->events[own.event].name]
                [targetOf(own, isBefore)];
      }
    for (const Between &own : events)
      decide(own, votes);
  }

private:
  void collect() {
    int32_t before = -1;
    std::vector<size_t> waiting;
    for (size_t i = pass.firstEvent; i < pass.endEvent; ++i) {
      const Assignment &own = mapping.assignments[i];
      if (own.pass != number)
        continue;
      if (own.role == Role::Beside) {
        waiting.push_back(i);
      } else if (own.role == Role::Does || own.role == Role::GoesOn) {
        if (before >= 0 && steps[before].layer >= 0)
          for (size_t event : waiting)
            events.push_back({event, before, own.first});
        waiting.clear();
        before = own.last;
      }
    }
  }

  static std::string nameOf(const ExpectedStep &step) {
    return std::string(getName(step.work)) + " " + placeInLayer(step);
  }

  Context contextOf(const Between &own, bool isBefore) const {
    return {isBefore, mapping.trace->events[own.event].name,
            nameOf(steps[isBefore ? own.before : own.behind])};
  }

  RelativeStep targetOf(const Between &own, bool isBefore) const {
    const ExpectedStep &target = steps[mapping.assignments[own.event].last];
    const ExpectedStep &anchor = steps[isBefore ? own.before : own.behind];
    return {nameOf(target), target.layer < 0 || anchor.layer < 0
                                ? 0
                                : target.layer - anchor.layer};
  }

  void decide(const Between &own, const std::map<Context, Votes> &votes) {
    // The neighbour that more layers have there says more: one that is there
    // only because the right one was lost stands alone.
    bool isBefore = true;
    int most = 0, all = 0;
    const RelativeStep *usual = nullptr;
    for (bool side : {true, false}) {
      const Votes &here = votes.at(contextOf(own, side));
      int sum = 0;
      for (const auto &[target, count] : here)
        sum += count;
      auto best = std::max_element(
          here.begin(), here.end(),
          [](const auto &a, const auto &b) { return a.second < b.second; });
      if (best->second > most) {
        most = best->second;
        all = sum;
        usual = &best->first;
        isBefore = side;
      }
    }
    constexpr int kEnoughLayers = 4;
    if (most < kEnoughLayers) {
      decideByName(own);
      return;
    }
    if (most * 5 < all * 4 || usual->step == targetOf(own, isBefore).step)
      return;
    int64_t layer = steps[isBefore ? own.before : own.behind].layer;
    for (int32_t s = own.before; s <= own.behind; ++s)
      if (nameOf(steps[s]) == usual->step &&
          (steps[s].layer < 0 || layer < 0 ||
           steps[s].layer == layer + usual->ahead)) {
        put(own, s, Certainty::Medium, most, all);
        return;
      }
  }

  /// Both neighbours were lost: of what events of its name belong to in other
  /// layers, the one step that is between the neighbours that are left.
  void decideByName(const Between &own) {
    const Votes &named = byName.at(mapping.trace->events[own.event].name);
    int most = 0, all = 0;
    int32_t target = -1;
    for (int32_t s = own.before; s <= own.behind; ++s) {
      int count = 0;
      for (const auto &[step, votes] : named)
        if (step.step == nameOf(steps[s]))
          count += votes;
      all += count;
      if (count > most) {
        most = count;
        target = s;
      }
    }
    if (target >= 0 && most * 5 >= all * 4)
      put(own, target, Certainty::Low, most / 2, all / 2);
  }

  void put(const Between &own, int32_t step, Certainty certainty,
           int32_t agrees, int32_t layers) {
    Assignment &assigned = mapping.assignments[own.event];
    assigned.first = assigned.last = step;
    assigned.reason = Reason::Period;
    assigned.certainty = certainty;
    assigned.agrees = agrees;
    assigned.layers = layers;
  }

  Mapping &mapping;
  const ForwardPass &pass;
  int32_t number;
  const std::vector<ExpectedStep> &steps;
  std::vector<Between> events;
  std::map<int32_t, Votes> byName; ///< each event counted for both neighbours
};

} // namespace

void layline::trace::compareLayers(Mapping &mapping) {
  for (size_t i = 0; i < mapping.passes.size(); ++i)
    LayerComparer(mapping, static_cast<int32_t>(i)).run();
}
