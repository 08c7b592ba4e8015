//===- Passes.cpp - forward passes of a recording -------------------------===//
#include "Covers.h"
#include "MappingParts.h"
#include <algorithm>
#include <map>

using namespace layline::trace;

/// What an annotation says of the pass in which its kernels were launched: the
/// innermost one that states a batch, by the host's clock, else the device's.
static void findBatch(const Mapping &mapping, ForwardPass &pass) {
  const DeviceTrace &trace = *mapping.trace;
  const Annotation *best = nullptr;
  // Any event of the middle is of the pass for certain.
  const DeviceEvent &event =
      trace.events[(pass.firstEvent + pass.endEvent) / 2];
  for (const Annotation &annotation : trace.annotations) {
    int64_t time = annotation.onDevice ? event.start : event.launch;
    if (time < annotation.start ||
        time > annotation.start + annotation.duration)
      continue;
    if (parseBatch(annotation.text) &&
        (!best || annotation.duration <= best->duration))
      best = &annotation;
  }
  if (best)
    pass.batch = parseBatch(best->text);
}

/// Rows that most products of the layers were called with.
static int64_t findRows(const Mapping &mapping, const ForwardPass &pass) {
  std::map<int64_t, size_t> count;
  for (size_t i = pass.firstEvent; i < pass.endEvent; ++i) {
    const Assignment &own = mapping.assignments[i];
    const HostOperator *op =
        mapping.trace->operatorOf(mapping.trace->events[i]);
    if (own.role != Role::Does || !op || !productSizes(*op) ||
        mapping.firstStepOf(i)->work != Work::Product ||
        mapping.firstStepOf(i)->layer < 0)
      continue;
    for (const std::vector<int64_t> &dims : op->dims)
      if (dims.size() >= 2) {
        ++count[dims[0]];
        break;
      }
  }
  auto most = std::max_element(
      count.begin(), count.end(),
      [](const auto &a, const auto &b) { return a.second < b.second; });
  return most == count.end() ? -1 : most->first;
}

void layline::trace::findPasses(Mapping &mapping,
                                const std::vector<Place> &places) {
  for (size_t i = 0; i < places.size(); ++i) {
    const Place &place = places[i];
    if (place.beginsPass) {
      ForwardPass pass;
      pass.program = place.program;
      pass.firstEvent = i;
      mapping.passes.push_back(pass);
    }
    Assignment &own = mapping.assignments[i];
    Family family = mapping.familyOf(i);
    own.pass = static_cast<int32_t>(mapping.passes.size()) - 1;
    own.first = place.first;
    own.last = place.last;
    if (place.moves)
      own.role = Role::Does;
    else if (family == Family::Unknown)
      own.role = Role::Unknown;
    else if (isAuxiliary(family))
      own.role = Role::Beside;
    else if (place.program >= 0 &&
             continueCost(family,
                          mapping.programs[place.program].steps[place.last]) >=
                 0)
      own.role = Role::GoesOn;
    else
      own.role = Role::Extra;
    if (!mapping.passes.empty())
      mapping.passes.back().endEvent = i + 1;
  }
  for (ForwardPass &pass : mapping.passes) {
    findBatch(mapping, pass);
    // An engine may pad a batch: the rows that it ran are what sizes follow.
    pass.tokens = findRows(mapping, pass);
    if (pass.tokens < 0 && pass.batch)
      pass.tokens = pass.batch->tokens();
  }
}

// What is left of a pass in front of its first kernel, or behind its last, in
// steps that surely have one: fewer than a layer begins or ends with.
static constexpr double kBegun = 3, kEnded = 3;
/// Steps left out at once that are as good as a layer.
static constexpr double kLayer = 5;

void layline::trace::findMissing(Mapping &mapping,
                                 const std::vector<Place> &places) {
  for (ForwardPass &pass : mapping.passes) {
    const std::vector<ExpectedStep> &steps =
        mapping.programs[pass.program].steps;
    std::vector<bool> isDone(steps.size(), false);
    int32_t first = static_cast<int32_t>(steps.size()), last = -1;
    for (size_t i = pass.firstEvent; i < pass.endEvent; ++i) {
      if (!places[i].moves)
        continue;
      first = std::min(first, places[i].first);
      last = std::max(last, places[i].last);
      std::fill(isDone.begin() + places[i].first,
                isDone.begin() + places[i].last + 1, true);
    }
    double before = 0, behind = 0, gap = 0;
    for (int32_t s = 0; s < static_cast<int32_t>(steps.size()); ++s)
      (s < first ? before : s > last ? behind : gap) += steps[s].weight;
    pass.hasBegin = before < kBegun;
    pass.hasEnd = behind < kEnded;
    // Without its begin or end only what lies inside can be missing.
    int32_t begin = pass.hasBegin ? 0 : first;
    int32_t end = pass.hasEnd ? static_cast<int32_t>(steps.size()) : last + 1;
    pass.layersUnsure = !pass.hasBegin && !pass.hasEnd;
    gap = 0;
    for (int32_t s = begin; s < end; ++s) {
      gap = isDone[s] ? 0 : gap + steps[s].weight;
      pass.layersUnsure |= gap >= kLayer;
      // Steps on elements and stores that a neighbour's kernel may do are not
      // missed.
      if (!isDone[s] && steps[s].weight >= 0.3)
        pass.missing.push_back(s);
    }
    std::vector<bool> isSeen(mapping.programs[pass.program].layers, false);
    for (size_t s = 0; s < steps.size(); ++s)
      if (isDone[s] && steps[s].layer >= 0)
        isSeen[steps[s].layer] = true;
    pass.layersSeen = std::count(isSeen.begin(), isSeen.end(), true);
  }
}
