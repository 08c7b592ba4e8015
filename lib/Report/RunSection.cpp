//===- RunSection.cpp - a run that was mapped onto a plan -----------------===//
//
// The page must stay small however long a recording is: sums over all of it,
// and events of one pass only, of as many of its layers as there is room for.
//
//===----------------------------------------------------------------------===//
#include "RunNames.h"
#include "Sections.h"
#include "layline/Support/PlaceName.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace layline;
using namespace layline::report;
using trace::DeviceEvent;
using trace::Mapping;

static constexpr size_t kMostDeviations = 100;
static constexpr size_t kMostUnknown = 20;
static constexpr size_t kMostPasses = 50;

/// "layer.*.o_proj": the same place of all layers.
static std::string anyLayer(const std::string &place) {
  PlaceName name = parsePlaceName(place);
  return name.layer < 0 ? place : "layer.*." + std::string(name.name);
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
            timelineJSON(run, number, static_cast<int32_t>(i), leftOut);
      }
  return own;
}
