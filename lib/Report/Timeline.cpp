//===- Timeline.cpp - the events of one pass, by layer --------------------===//
#include "RunNames.h"
#include "Sections.h"
#include <algorithm>
#include <map>

using namespace layline;
using namespace layline::report;
using trace::DeviceEvent;
using trace::Mapping;

// Some 150 bytes each: half a megabyte.
static constexpr size_t kMostEvents = 4000;

namespace {

/// The events of one pass by layer.
class TimelineWriter {
public:
  TimelineWriter(const RecordedRun &run, size_t number, int32_t pass)
      : run(run), number(number), mapping(*run.mappings[number]), pass(pass) {}

  ordered_json write(ordered_json &leftOut);

private:
  ordered_json eventJSON(size_t i);
  size_t indexOf(const std::string &name);

  const RecordedRun &run;
  size_t number;
  const Mapping &mapping;
  int32_t pass;
  std::map<std::string, size_t> indices;
  ordered_json names = ordered_json::array();
  std::map<size_t, int64_t> waits; ///< by event
  std::map<size_t, const char *> bases;
};

} // namespace

size_t TimelineWriter::indexOf(const std::string &name) {
  auto [found, isNew] = indices.try_emplace(name, names.size());
  if (isNew)
    names.push_back(name);
  return found->second;
}

ordered_json TimelineWriter::eventJSON(size_t i) {
  const DeviceEvent &event = mapping.trace->events[i];
  const trace::Assignment &own = mapping.assignments[i];
  const trace::ExpectedStep *step =
      own.isAssigned() ? mapping.mainStepOf(i) : nullptr;
  ordered_json json = {
      {"at", event.start - mapping.trace->events.front().start},
      {"ns", event.duration},
      {"stream", event.stream},
      {"name", indexOf(shortKernelName(mapping.trace->nameOf(event), 90))},
      {"family", getName(mapping.familyOf(i))}};
  json["module"] = step ? step->module : "not assigned";
  if (step) {
    json["place"] = step->place;
    if (!step->boundary.empty())
      json["boundary"] = step->boundary;
  }
  json["sure"] = getName(own.certainty);
  json["why"] = indexOf(mapping.explain(i));
  if (auto wait = waits.find(i); wait != waits.end()) {
    json["wait"] = wait->second;
    json["basis"] = bases.at(i);
  }
  return json;
}

ordered_json TimelineWriter::write(ordered_json &leftOut) {
  for (const trace::CollectiveUse &use : *run.collectives)
    if (use.trace == number) {
      waits[use.event] = use.wait;
      bases[use.event] = getName(use.basis);
    }
  // A kernel without a place goes with the one before it.
  std::map<int64_t, std::vector<size_t>> byLayer;
  const trace::ForwardPass &own = mapping.passes[pass];
  int64_t layer = -1;
  for (size_t i = own.firstEvent; i < own.endEvent; ++i) {
    if (const trace::ExpectedStep *step = mapping.mainStepOf(i);
        step && mapping.assignments[i].isAssigned())
      layer = step->layer;
    byLayer[layer].push_back(i);
  }
  // All layers if there is room, else as many as there is, evenly; the first
  // and the last always.
  size_t all = own.endEvent - own.firstEvent;
  std::vector<int64_t> layers;
  for (const auto &[number_, events] : byLayer)
    layers.push_back(number_);
  size_t stride = (all + kMostEvents - 1) / std::max<size_t>(1, kMostEvents);
  ordered_json json = {{"pass", pass},
                       {"file", fileName(mapping.trace->file)},
                       {"tokens", orNull(own.tokens)}};
  json["layers"] = ordered_json::array();
  size_t shown = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (i % stride != 0 && i + 1 != layers.size())
      continue;
    ordered_json events = ordered_json::array();
    for (size_t event : byLayer[layers[i]])
      if (events.size() < kMostEvents)
        events.push_back(eventJSON(event));
    shown += events.size();
    json["layers"].push_back({{"layer", layers[i]}, {"events", events}});
  }
  json["names"] = names;
  size_t everything = 0;
  for (const Mapping *other : run.mappings)
    everything += other->assignments.size();
  if (shown < everything)
    leftOut.push_back(
        "the timeline has " + std::to_string(shown) + " of " +
        std::to_string(everything) + " events: pass " + std::to_string(pass) +
        " of " + fileName(mapping.trace->file) +
        (stride > 1 ? ", every " + std::to_string(stride) + "th of its layers"
                    : "") +
        "; layline trace map --json has all");
  return json;
}

ordered_json layline::report::timelineJSON(const RecordedRun &run,
                                           size_t number, int32_t pass,
                                           ordered_json &leftOut) {
  return TimelineWriter(run, number, pass).write(leftOut);
}
