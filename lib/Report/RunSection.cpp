//===- RunSection.cpp - a run that was mapped onto a plan -----------------===//
//
// The page must stay small however long a recording is: sums over all of it,
// and events of one pass only, of as many of its layers as there is room for.
//
//===----------------------------------------------------------------------===//
#include "Sections.h"
#include "layline/Support/PlaceName.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

using namespace layline;
using namespace layline::report;
using trace::DeviceEvent;
using trace::Mapping;

// Some 150 bytes each: half a megabyte.
static constexpr size_t kMostEvents = 4000;
static constexpr size_t kMostDeviations = 100;
static constexpr size_t kMostUnknown = 20;
static constexpr size_t kMostPasses = 50;

std::string layline::report::shortKernelName(const std::string &name,
                                             size_t longest) {
  std::string normal = trace::normaliseName(name), text;
  int depth = 0;
  for (size_t i = 0; i < normal.size(); ++i) {
    if (normal.compare(i, 21, "(anonymous namespace)") == 0) {
      i += 20;
      text += depth ? "" : "(anon)";
      continue;
    }
    depth += normal[i] == '<';
    // Arguments behind the name; a copy's direction is in brackets too.
    if (depth == 0 && normal[i] == '(' && !text.empty() &&
        normal.compare(0, 6, "Memcpy") != 0)
      break;
    if (depth == 0)
      text += normal[i];
    depth -= normal[i] == '>' && depth > 0;
  }
  return text.size() > longest ? text.substr(0, longest - 3) + "..." : text;
}

static ordered_json orNull(int64_t number) {
  return number < 0 ? ordered_json() : ordered_json(number);
}

/// "layer.*.o_proj": the same place of all layers.
static std::string anyLayer(const std::string &place) {
  PlaceName name = parsePlaceName(place);
  return name.layer < 0 ? place : "layer.*." + std::string(name.name);
}

static std::string fileName(const std::string &path) {
  return std::filesystem::path(path).filename().string();
}

namespace {
struct Sum {
  int64_t events = 0, time = 0;
  size_t first = 0; ///< in order of which it stands
};
} // namespace

template <typename Key>
static std::vector<std::pair<Key, Sum>>
inOrder(const std::map<Key, Sum> &sums) {
  std::vector<std::pair<Key, Sum>> sorted(sums.begin(), sums.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return a.second.first < b.second.first;
  });
  return sorted;
}

static ordered_json deviceJSON(const Mapping &mapping) {
  const trace::DeviceTrace &device = *mapping.trace;
  ordered_json own = {{"file", fileName(device.file)},
                      {"rank", orNull(device.rank)},
                      {"device", device.device},
                      {"name", device.deviceName},
                      {"events", device.events.size()},
                      {"busy", device.busyTime()},
                      {"span", device.span()},
                      {"misfit", std::round(mapping.misfit() * 1e4) / 1e4}};
  own["roles"] = ordered_json::object();
  for (trace::Role role :
       {trace::Role::Does, trace::Role::GoesOn, trace::Role::Beside,
        trace::Role::Extra, trace::Role::Unknown})
    own["roles"][getName(role)] = mapping.timeOf(role);
  own["certainty"] = ordered_json::object();
  for (trace::Certainty certainty :
       {trace::Certainty::High, trace::Certainty::Medium,
        trace::Certainty::Low}) {
    int64_t time = 0;
    for (size_t i = 0; i < mapping.assignments.size(); ++i)
      if (mapping.assignments[i].isAssigned() &&
          mapping.assignments[i].certainty == certainty)
        time += device.events[i].duration;
    own["certainty"][getName(certainty)] = time;
  }
  own["period"] = {mapping.period.events, mapping.period.repeats};
  return own;
}

static ordered_json passesJSON(const Mapping &mapping, ordered_json &leftOut) {
  ordered_json passes = ordered_json::array();
  for (size_t i = 0; i < mapping.passes.size(); ++i) {
    if (i == kMostPasses) {
      leftOut.push_back(std::to_string(mapping.passes.size() - kMostPasses) +
                        " of " + std::to_string(mapping.passes.size()) +
                        " passes of " + fileName(mapping.trace->file) +
                        " are not listed");
      break;
    }
    const trace::ForwardPass &pass = mapping.passes[i];
    const trace::ExpectedProgram &program = mapping.programs[pass.program];
    ordered_json own = {{"variant", program.variant},
                        {"order", program.order},
                        {"events", pass.endEvent - pass.firstEvent},
                        {"tokens", orNull(pass.tokens)},
                        {"layers", pass.layersSeen},
                        {"expected", program.layers},
                        {"missing", pass.missing.size()},
                        {"whole", pass.hasBegin && pass.hasEnd}};
    if (pass.batch)
      own["batch"] = {pass.batch->prefillRequests, pass.batch->decodeRequests};
    passes.push_back(std::move(own));
  }
  return passes;
}

/// Time by module over all ranks and passes.
static ordered_json modulesJSON(const RecordedRun &run) {
  std::map<std::string, Sum> modules;
  size_t number = 0;
  for (const Mapping *mapping : run.mappings)
    for (size_t i = 0; i < mapping->assignments.size(); ++i, ++number) {
      const trace::ExpectedStep *step = mapping->mainStepOf(i);
      bool isAssigned = mapping->assignments[i].isAssigned() && step;
      auto [found, isNew] =
          modules.try_emplace(isAssigned ? step->module : "not assigned");
      if (isNew)
        found->second.first = isAssigned ? number : SIZE_MAX;
      ++found->second.events;
      found->second.time += mapping->trace->events[i].duration;
    }
  ordered_json list = ordered_json::array();
  for (const auto &[module, sum] : inOrder(modules))
    list.push_back(
        {{"module", module}, {"events", sum.events}, {"ns", sum.time}});
  return list;
}

static ordered_json collectivesJSON(const RecordedRun &run) {
  struct Calls {
    const trace::CollectiveUse *first = nullptr;
    int64_t count = 0, wait = 0, transfer = 0, padding = 0, modelled = 0;
    double modelUs = 0;
    std::set<std::string> bases;
  };
  std::map<std::pair<std::string, std::string>, size_t> known;
  std::vector<std::pair<std::string, Calls>> places;
  for (const trace::CollectiveUse &use : *run.collectives) {
    auto [found, isNew] = known.try_emplace(
        {anyLayer(use.place), getName(use.work)}, places.size());
    if (isNew)
      places.push_back({anyLayer(use.place), {}});
    Calls &calls = places[found->second].second;
    if (!calls.first)
      calls.first = &use;
    ++calls.count;
    calls.wait += use.wait;
    calls.transfer += use.transfer();
    calls.padding += use.paddingBytes();
    if (use.modelUs >= 0) {
      ++calls.modelled;
      calls.modelUs += use.modelUs;
    }
    calls.bases.insert(getName(use.basis));
  }
  ordered_json list = ordered_json::array();
  for (const auto &[place, calls] : places) {
    const trace::CollectiveUse &use = *calls.first;
    ordered_json own = {{"place", place},
                        {"kind", getName(use.work)},
                        {"calls", calls.count},
                        {"bytes", orNull(use.bytes())},
                        {"wait", calls.wait},
                        {"transfer", calls.transfer},
                        {"padding", calls.padding},
                        {"moved", orNull(use.movedColumns)},
                        {"needed", orNull(use.neededColumns)},
                        {"basis", calls.bases}};
    if (calls.modelled)
      own["model_us"] = std::round(calls.modelUs * 1000) / 1000;
    list.push_back(std::move(own));
  }
  return list;
}

/// Who waited for whom, if several ranks were recorded.
static ordered_json waitingJSON(const RecordedRun &run) {
  ordered_json list = ordered_json::array();
  if (run.mappings.size() < 2)
    return list;
  for (size_t number = 0; number < run.mappings.size(); ++number) {
    int64_t wait = 0, transfer = 0;
    for (const trace::CollectiveUse &use : *run.collectives)
      if (use.trace == number) {
        wait += use.wait;
        transfer += use.transfer();
      }
    list.push_back({{"file", fileName(run.mappings[number]->trace->file)},
                    {"rank", orNull(run.mappings[number]->trace->rank)},
                    {"wait", wait},
                    {"transfer", transfer}});
  }
  return list;
}

static ordered_json deviationsJSON(const RecordedRun &run,
                                   ordered_json &leftOut) {
  ordered_json list = ordered_json::array();
  size_t all = 0;
  for (const Mapping *mapping : run.mappings)
    for (const trace::Deviation &deviation : mapping->deviations)
      if (++all <= kMostDeviations)
        list.push_back({{"file", fileName(mapping->trace->file)},
                        {"kind", getName(deviation.kind)},
                        {"pass", orNull(deviation.pass)},
                        {"layer", orNull(deviation.layer)},
                        {"text", deviation.text}});
  if (all > kMostDeviations)
    leftOut.push_back(std::to_string(all - kMostDeviations) + " of " +
                      std::to_string(all) +
                      " deviations are not listed; layline trace map --json "
                      "has all");
  return list;
}

static ordered_json unknownJSON(const RecordedRun &run, ordered_json &leftOut) {
  std::map<std::string, Sum> names;
  for (const Mapping *mapping : run.mappings)
    for (size_t i = 0; i < mapping->assignments.size(); ++i)
      if (mapping->assignments[i].role == trace::Role::Unknown) {
        Sum &sum = names[mapping->trace->nameOf(mapping->trace->events[i])];
        ++sum.events;
        sum.time += mapping->trace->events[i].duration;
      }
  std::vector<std::pair<std::string, Sum>> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return a.second.time != b.second.time ? a.second.time > b.second.time
                                          : a.first < b.first;
  });
  ordered_json list = ordered_json::array();
  for (size_t i = 0; i < std::min(sorted.size(), kMostUnknown); ++i)
    list.push_back({{"name", shortKernelName(sorted[i].first, 120)},
                    {"events", sorted[i].second.events},
                    {"ns", sorted[i].second.time}});
  if (sorted.size() > kMostUnknown)
    leftOut.push_back(std::to_string(sorted.size() - kMostUnknown) + " of " +
                      std::to_string(sorted.size()) +
                      " names of unknown kernels are not listed");
  return list;
}

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

ordered_json layline::report::runJSON(const RecordedRun &run,
                                      ordered_json &leftOut) {
  ordered_json own = {{"onto", run.mappedOnto}};
  own["devices"] = ordered_json::array();
  own["passes"] = ordered_json::array();
  for (const Mapping *mapping : run.mappings) {
    own["devices"].push_back(deviceJSON(*mapping));
    own["passes"].push_back(passesJSON(*mapping, leftOut));
  }
  own["modules"] = modulesJSON(run);
  own["collectives"] = collectivesJSON(run);
  own["waiting"] = waitingJSON(run);
  own["deviations"] = deviationsJSON(run, leftOut);
  own["unknown"] = unknownJSON(run, leftOut);
  // The first pass that is there whole speaks for the others.
  for (bool whole : {true, false})
    for (size_t number = 0; number < run.mappings.size(); ++number)
      for (size_t i = 0; i < run.mappings[number]->passes.size(); ++i) {
        const trace::ForwardPass &pass = run.mappings[number]->passes[i];
        if (own.contains("timeline") ||
            (whole && !(pass.hasBegin && pass.hasEnd)))
          continue;
        own["timeline"] =
            TimelineWriter(run, number, static_cast<int32_t>(i)).write(leftOut);
      }
  return own;
}
