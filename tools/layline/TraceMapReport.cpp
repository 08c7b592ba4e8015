//===- TraceMapReport.cpp - a mapping for people --------------------------===//
#include "TraceMapReport.h"
#include "TextTable.h"
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

using namespace layline;
using namespace layline::tool;

static void printPasses(std::ostream &os, const trace::Mapping &mapping) {
  TextTable table({">pass", ">events", ">tokens", "batch", ">layers", "plan",
                   ">missing", "recorded"});
  for (size_t i = 0; i < mapping.passes.size(); ++i) {
    const trace::ForwardPass &pass = mapping.passes[i];
    const trace::ExpectedProgram &program = mapping.programs[pass.program];
    std::string batch = "-";
    if (pass.batch)
      batch = std::to_string(pass.batch->prefillRequests) + " prefill, " +
              std::to_string(pass.batch->decodeRequests) + " decode";
    table.add({std::to_string(i),
               std::to_string(pass.endEvent - pass.firstEvent),
               pass.tokens < 0 ? "-" : std::to_string(pass.tokens), batch,
               std::to_string(pass.layersSeen) + " of " +
                   std::to_string(program.layers),
               program.variant + ", order: " + program.order,
               std::to_string(pass.missing.size()),
               pass.hasBegin && pass.hasEnd ? "whole"
               : pass.hasBegin              ? "without its end"
               : pass.hasEnd                ? "without its begin"
                                            : "a part inside"});
  }
  table.print(os);
}

static void printRoles(std::ostream &os, const trace::Mapping &mapping) {
  int64_t busy = mapping.trace->busyTime();
  int64_t assigned = 0;
  std::map<trace::Certainty, int64_t> sure;
  for (size_t i = 0; i < mapping.assignments.size(); ++i)
    if (mapping.assignments[i].isAssigned()) {
      assigned += mapping.trace->events[i].duration;
      sure[mapping.assignments[i].certainty] +=
          mapping.trace->events[i].duration;
    }
  os << "  assigned: " << formatShare(assigned, busy) << " of busy time ("
     << formatShare(sure[trace::Certainty::High], busy) << " high, "
     << formatShare(sure[trace::Certainty::Medium], busy) << " medium, "
     << formatShare(sure[trace::Certainty::Low], busy)
     << " low certainty); without a place: "
     << formatShare(mapping.timeOf(trace::Role::Extra), busy)
     << "; of no known kind: "
     << formatShare(mapping.timeOf(trace::Role::Unknown), busy) << "\n";
  if (mapping.period.events)
    os << "  period: " << mapping.period.events << " events, "
       << mapping.period.repeats << " times\n";
}

static void printModules(std::ostream &os, const trace::Mapping &mapping) {
  struct Time {
    int64_t events = 0, time = 0;
    size_t firstEvent = 0;
  };
  std::map<std::string, Time> modules;
  for (size_t i = 0; i < mapping.assignments.size(); ++i) {
    if (!mapping.assignments[i].isAssigned() || !mapping.mainStepOf(i))
      continue;
    auto [found, isNew] = modules.try_emplace(mapping.mainStepOf(i)->module);
    if (isNew)
      found->second.firstEvent = i;
    ++found->second.events;
    found->second.time += mapping.trace->events[i].duration;
  }
  std::vector<std::pair<std::string, Time>> sorted(modules.begin(),
                                                   modules.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return a.second.firstEvent < b.second.firstEvent;
  });
  TextTable table({"module", ">events", ">us", ">of busy time"});
  for (const auto &[module, time] : sorted)
    table.add({module, std::to_string(time.events),
               formatMicroseconds(time.time),
               formatShare(time.time, mapping.trace->busyTime())});
  table.print(os);
}

/// One layer in the middle of the first pass, event by event.
static void printLayer(std::ostream &os, const trace::Mapping &mapping) {
  std::set<int64_t> layers;
  for (size_t i = 0; i < mapping.assignments.size(); ++i)
    if (mapping.assignments[i].pass == 0 &&
        mapping.assignments[i].isAssigned() &&
        mapping.mainStepOf(i)->layer >= 0)
      layers.insert(mapping.mainStepOf(i)->layer);
  if (layers.empty())
    return;
  int64_t layer = *std::next(layers.begin(),
                             static_cast<std::ptrdiff_t>(layers.size() / 2));
  os << "  layer " << layer << " of pass 0:\n";
  TextTable table(
      {">event", "kernel", "family", ">us", "module", "place", "certainty"});
  for (size_t i = 0; i < mapping.assignments.size(); ++i) {
    const trace::Assignment &own = mapping.assignments[i];
    if (own.pass != 0 || !own.isAssigned() ||
        mapping.mainStepOf(i)->layer != layer)
      continue;
    const trace::DeviceEvent &event = mapping.trace->events[i];
    table.add({std::to_string(i), shortenKernel(mapping.trace->nameOf(event)),
               getName(mapping.familyOf(i)), formatMicroseconds(event.duration),
               mapping.mainStepOf(i)->module, mapping.mainStepOf(i)->place,
               getName(own.certainty)});
  }
  table.print(os, "    ");
}

namespace {
/// Calls at the same place of all layers.
struct Calls {
  size_t first = 0; ///< index of the first
  int64_t count = 0, wait = 0, transfer = 0, padding = 0;
  double modelUs = 0;
  bool hasModel = false;
};
} // namespace

static std::string withoutLayer(const std::string &place) {
  if (place.rfind("layer.", 0) != 0)
    return place;
  size_t dot = place.find('.', 6);
  return dot == std::string::npos ? place : "layer.*" + place.substr(dot);
}

static void printCollectives(std::ostream &os, const MappedRun &run,
                             size_t number) {
  std::map<std::pair<std::string, std::string>, Calls> byPlace;
  for (size_t i = 0; i < run.collectives.size(); ++i) {
    const trace::CollectiveUse &use = run.collectives[i];
    if (use.trace != number)
      continue;
    auto [found, isNew] =
        byPlace.try_emplace({withoutLayer(use.place), getName(use.work)});
    Calls &calls = found->second;
    if (isNew)
      calls.first = i;
    ++calls.count;
    calls.wait += use.wait;
    calls.transfer += use.transfer();
    calls.padding += use.paddingBytes();
    calls.hasModel |= use.modelUs >= 0;
    calls.modelUs += std::max(use.modelUs, 0.0);
  }
  if (byPlace.empty())
    return;
  std::vector<std::pair<std::pair<std::string, std::string>, Calls>> sorted(
      byPlace.begin(), byPlace.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return a.second.first < b.second.first;
  });
  os << "  collectives:\n";
  TextTable table({"place", "kind", ">calls", ">bytes a call", ">wait us",
                   ">transfer us", ">model us", "told apart by"});
  for (const auto &[key, calls] : sorted) {
    const trace::CollectiveUse &use = run.collectives[calls.first];
    char model[32] = "-";
    if (calls.hasModel)
      std::snprintf(model, sizeof model, "%.1f", calls.modelUs);
    table.add({key.first, key.second, std::to_string(calls.count),
               use.bytes() < 0 ? "-" : std::to_string(use.bytes()),
               formatMicroseconds(calls.wait),
               formatMicroseconds(calls.transfer), model, getName(use.basis)});
  }
  table.print(os, "    ");
  for (const auto &[key, calls] : sorted)
    if (calls.padding > 0) {
      const trace::CollectiveUse &use = run.collectives[calls.first];
      os << "    " << key.first << " moves " << use.movedColumns
         << " columns of each row, the model has " << use.neededColumns << ": "
         << formatBytes(calls.padding) << " of "
         << formatBytes(calls.count * use.bytes()) << " in all is padding\n";
    }
}

/// Ranks that wait for the others, and those that they wait for.
static void printSkew(std::ostream &os, const MappedRun &run) {
  if (run.mappings.size() < 2)
    return;
  os << "waiting by rank:\n";
  TextTable table({"file", ">rank", ">wait us", ">transfer us",
                   ">calls in which it came last"});
  std::map<std::pair<int32_t, int32_t>, std::pair<int64_t, size_t>> last;
  for (const trace::CollectiveUse &use : run.collectives) {
    auto [found, isNew] = last.try_emplace({use.pass, use.step},
                                           std::pair(use.duration, use.trace));
    if (!isNew && use.duration < found->second.first)
      found->second = {use.duration, use.trace};
  }
  for (size_t number = 0; number < run.mappings.size(); ++number) {
    int64_t wait = 0, transfer = 0, cameLast = 0;
    for (const trace::CollectiveUse &use : run.collectives)
      if (use.trace == number) {
        wait += use.wait;
        transfer += use.transfer();
        cameLast += last[{use.pass, use.step}].second == number;
      }
    const trace::DeviceTrace &device = *run.mappings[number].trace;
    table.add({device.file, device.rank < 0 ? "-" : std::to_string(device.rank),
               formatMicroseconds(wait), formatMicroseconds(transfer),
               std::to_string(cameLast)});
  }
  table.print(os);
}

static void printDeviations(std::ostream &os, const trace::Mapping &mapping) {
  if (mapping.deviations.empty())
    return;
  os << "  not as expected:\n";
  constexpr size_t kMostShown = 30;
  for (size_t i = 0; i < std::min(mapping.deviations.size(), kMostShown); ++i) {
    const trace::Deviation &deviation = mapping.deviations[i];
    os << "    ";
    if (deviation.pass >= 0)
      os << "pass " << deviation.pass << ": ";
    os << deviation.text << "\n";
  }
  if (mapping.deviations.size() > kMostShown)
    os << "    and " << mapping.deviations.size() - kMostShown << " more\n";
}

void layline::tool::printMappedRun(std::ostream &os, const MappedRun &run) {
  for (size_t number = 0; number < run.mappings.size(); ++number) {
    const trace::Mapping &mapping = run.mappings[number];
    os << describeDevice(*mapping.trace);
    printPasses(os, mapping);
    printRoles(os, mapping);
    printModules(os, mapping);
    printLayer(os, mapping);
    printCollectives(os, run, number);
    printDeviations(os, mapping);
    printUnknown(os, *mapping.trace, mapping.names);
  }
  printSkew(os, run);
}
