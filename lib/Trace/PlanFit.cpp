//===- PlanFit.cpp - whether a plan can be that of a run ------------------===//
#include "layline/Trace/PlanFit.h"
#include <algorithm>

using namespace layline::trace;

namespace {

/// Steps beside whole layers that may be missing where those are absent by
/// themselves, in steps that surely have a kernel.
constexpr double kStray = 3;

/// What lies around the kernels of one pass.
class PassBounds {
public:
  PassBounds(const Mapping &mapping, int32_t number)
      : mapping(mapping), pass(mapping.passes[number]), number(number),
        first(mapping.assignments.size()) {
    size_t run = 0;
    for (size_t i = pass.firstEvent; i < pass.endEvent; ++i) {
      if (!isOfSteps(i)) {
        ++run;
        continue;
      }
      if (first < i)
        longestInside = std::max(longestInside, run);
      first = std::min(first, i);
      last = i;
      run = 0;
    }
  }

  /// The recording has what comes before a pass, or another pass.
  bool beginsInside() const {
    return pass.hasBegin || number > 0 || isNoLayers(0, first);
  }
  bool endsInside() const {
    return pass.hasEnd ||
           number + 1 < static_cast<int32_t>(mapping.passes.size()) ||
           isNoLayers(last + 1, mapping.assignments.size());
  }

private:
  bool isOfSteps(size_t i) const {
    Role role = mapping.assignments[i].role;
    return mapping.assignments[i].pass == number &&
           (role == Role::Does || role == Role::GoesOn);
  }

  /// Events that no layer has, or more in a row that do no step than there are
  /// anywhere inside the pass.
  bool isNoLayers(size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i) {
      Family family = mapping.familyOf(i);
      if (family == Family::Gather || family == Family::StepInputs ||
          family == Family::Sampling)
        return true;
    }
    return end > begin && end - begin > longestInside + 1;
  }

  const Mapping &mapping;
  const ForwardPass &pass;
  int32_t number;
  size_t first, last = 0;
  size_t longestInside = 0;
};

} // namespace

std::vector<LayerConflict>
layline::trace::compareLayerCounts(const Mapping &mapping) {
  std::vector<LayerConflict> conflicts;
  for (size_t p = 0; p < mapping.passes.size(); ++p) {
    auto number = static_cast<int32_t>(p);
    const ForwardPass &pass = mapping.passes[p];
    const ExpectedProgram &program = mapping.programs[pass.program];
    std::vector<bool> isDone(program.steps.size(), false);
    for (size_t i = pass.firstEvent; i < pass.endEvent; ++i) {
      const Assignment &own = mapping.assignments[i];
      if (own.pass == number && own.role == Role::Does)
        std::fill(isDone.begin() + own.first, isDone.begin() + own.last + 1,
                  true);
    }
    std::vector<double> expected(program.layers, 0), missing = expected;
    for (size_t s = 0; s < program.steps.size(); ++s) {
      const ExpectedStep &step = program.steps[s];
      if (step.layer < 0 || step.weight < 0.3)
        continue;
      expected[step.layer] += step.weight;
      if (!isDone[s])
        missing[step.layer] += step.weight;
    }
    PassBounds bounds(mapping, number);
    // A layer that is cut or lost its last kernels is there.
    auto isAbsent = [&](int64_t layer) {
      return missing[layer] > 0.5 * expected[layer];
    };
    int64_t begin = 0, end = program.layers;
    if (!bounds.beginsInside())
      while (begin < end && isAbsent(begin))
        ++begin;
    if (!bounds.endsInside())
      while (end > begin && isAbsent(end - 1))
        --end;
    int64_t absent = 0;
    double stray = 0;
    for (int64_t layer = begin; layer < end; ++layer) {
      if (isAbsent(layer))
        ++absent;
      // Layers at a cut lost what was cut.
      else if (layer > begin && layer + 1 < end)
        stray += missing[layer];
    }
    if (absent > 0 && (stray < kStray || absent * 8 > program.layers))
      conflicts.push_back({number, absent, program.layers});
  }
  return conflicts;
}

CollectiveCounts layline::trace::countCollectives(const Mapping &mapping) {
  CollectiveCounts counts;
  for (size_t i = 0; i < mapping.assignments.size(); ++i) {
    const Assignment &own = mapping.assignments[i];
    if (own.role == Role::Unknown)
      ++counts.unknown;
    else if (own.role == Role::Extra)
      counts.unplaced += isCommunication(mapping.familyOf(i));
    else if (own.role == Role::Does)
      for (int32_t s = own.first; s <= own.last; ++s)
        counts.done += isCollective(
            mapping.programs[mapping.passes[own.pass].program].steps[s].work);
  }
  for (const ForwardPass &pass : mapping.passes)
    for (int32_t s : pass.missing)
      counts.missing +=
          isCollective(mapping.programs[pass.program].steps[s].work);
  return counts;
}

std::vector<std::string>
layline::trace::explainConflicts(const Mapping &mapping) {
  std::vector<std::string> reasons;
  for (const SizeEvidence &own : compareSizes(mapping)) {
    if (!own.contradicts())
      continue;
    std::string text = std::to_string(own.conflicts) + " of " +
                       std::to_string(own.conflicts + own.fits) +
                       " places that tell " + getName(own.fact) +
                       " contradict the plan";
    const char *before = ": ";
    for (const SizeConflict &conflict : own.first) {
      text += before + conflict.place + ": found " + conflict.found +
              ", expected " + conflict.expected;
      before = "; ";
    }
    reasons.push_back(std::move(text));
  }
  CollectiveCounts counts = countCollectives(mapping);
  if (counts.planHasOthers())
    reasons.push_back("found kernels of " + std::to_string(counts.done) +
                      " collectives of the plan, expected " +
                      std::to_string(counts.done + counts.missing));
  if (counts.runHasOthers())
    reasons.push_back("found " + std::to_string(counts.done + counts.unplaced) +
                      " collectives in the run, expected those of the plan, "
                      "which has a place for " +
                      std::to_string(counts.done));
  for (const LayerConflict &own : compareLayerCounts(mapping))
    reasons.push_back("pass " + std::to_string(own.pass) +
                      " is not cut off by the recording: found kernels of " +
                      std::to_string(own.expected - own.absent) +
                      " layers in it, expected " +
                      std::to_string(own.expected));
  return reasons;
}
