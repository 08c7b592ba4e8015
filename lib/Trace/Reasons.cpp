//===- Reasons.cpp - why events have their places -------------------------===//
#include "Covers.h"
#include "MappingParts.h"
#include <algorithm>
#include <map>
#include <set>

using namespace layline::trace;

namespace {

/// Work at a place within any layer, and which of its kernels.
using Spot = std::pair<std::string, int>;

class ReasonFinder {
public:
  explicit ReasonFinder(Mapping &mapping) : mapping(mapping) {}

  void run() {
    findSeveral();
    for (size_t pass = 0; pass < mapping.passes.size(); ++pass)
      explainPass(static_cast<int32_t>(pass));
    for (Assignment &own : mapping.assignments)
      if (own.role == Role::Extra)
        own.reason = Reason::NoPlace;
  }

private:
  /// Kinds of work that a layer of a program has in more than one place.
  void findSeveral() {
    for (const ExpectedProgram &program : mapping.programs) {
      std::map<std::pair<int64_t, Work>, std::set<std::string>> modules;
      for (const ExpectedStep &step : program.steps)
        if (step.layer >= 0)
          modules[{step.layer, step.work}].insert(
              isCollective(step.work) ? step.place : step.module);
      std::set<Work> several;
      for (const auto &[key, names] : modules)
        if (names.size() > 1)
          several.insert(key.second);
      severalPlaces.push_back(std::move(several));
    }
  }

  void explainPass(int32_t number) {
    const ForwardPass &pass = mapping.passes[number];
    std::vector<Spot> spots(pass.endEvent - pass.firstEvent);
    std::map<Spot, std::map<int32_t, int32_t>> names; ///< layers by name
    std::map<Spot, int32_t> layers;
    std::string place;
    int nth = 0;
    for (size_t i = pass.firstEvent; i < pass.endEvent; ++i) {
      Role role = mapping.assignments[i].role;
      if (role != Role::Does && role != Role::GoesOn)
        continue;
      const ExpectedStep &step = *mapping.firstStepOf(i);
      std::string own =
          std::string(getName(step.work)) + " " + placeInLayer(step);
      nth = role == Role::GoesOn && own == place ? nth + 1 : 0;
      place = own;
      Spot &spot = spots[i - pass.firstEvent] = {place, nth};
      if (step.layer >= 0) {
        ++names[spot][mapping.trace->events[i].name];
        ++layers[spot];
      }
    }
    int32_t behind = -1; ///< last step done
    for (size_t i = pass.firstEvent; i < pass.endEvent; ++i) {
      Assignment &own = mapping.assignments[i];
      if (own.role != Role::Does && own.role != Role::GoesOn)
        continue;
      const Spot &spot = spots[i - pass.firstEvent];
      own.agrees = names[spot][mapping.trace->events[i].name];
      own.layers = layers[spot];
      if (own.role == Role::Does) {
        own.besideGap = behind >= 0 && misses(pass, behind, own.first);
        behind = own.last;
      }
      decide(i, pass);
    }
  }

  bool misses(const ForwardPass &pass, int32_t behind, int32_t first) const {
    auto at =
        std::upper_bound(pass.missing.begin(), pass.missing.end(), behind);
    return at != pass.missing.end() && *at < first;
  }

  void decide(size_t i, const ForwardPass &pass) {
    Assignment &own = mapping.assignments[i];
    const ExpectedProgram &program = mapping.programs[pass.program];
    const ExpectedStep &step = program.steps[own.first];
    const HostOperator *op =
        mapping.trace->operatorOf(mapping.trace->events[i]);
    Fit fit = fitSizes(program, {own.first, own.last, 0}, op);
    bool repeats = own.layers >= 4 && own.agrees * 5 >= own.layers * 2;
    if (own.role == Role::GoesOn) {
      own.reason = Reason::GoesOn;
      own.certainty = repeats ? Certainty::High : Certainty::Medium;
    } else if (fit == Fit::Sizes) {
      own.reason = Reason::Sizes;
      own.certainty = Certainty::High;
    } else if (fit == Fit::Unknown && step.layer >= 0 &&
               !severalPlaces[pass.program].count(step.work)) {
      own.reason = Reason::OnlyKind;
      own.certainty = Certainty::High;
    } else if (repeats) {
      own.reason = Reason::Period;
      own.certainty = fit == Fit::Differs ? Certainty::Medium : Certainty::High;
    } else {
      own.reason = Reason::Order;
      own.certainty = fit == Fit::Differs ? Certainty::Low : Certainty::Medium;
    }
    if (own.besideGap && own.reason != Reason::Sizes &&
        own.reason != Reason::OnlyKind)
      own.certainty = Certainty::Low;
    if (pass.layersUnsure && step.layer >= 0)
      own.certainty = Certainty::Low;
  }

  Mapping &mapping;
  std::vector<std::set<Work>> severalPlaces; ///< by program
};

} // namespace

void layline::trace::findReasons(Mapping &mapping) {
  ReasonFinder(mapping).run();
}
