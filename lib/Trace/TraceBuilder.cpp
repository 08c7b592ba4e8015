//===- TraceBuilder.cpp - events of a file, by device ---------------------===//
#include "TraceBuilder.h"
#include <algorithm>

using namespace layline::trace;

int32_t TraceBuilder::addName(std::string_view name) {
  auto [found, isNew] = nameIndex.try_emplace(
      std::string(name), static_cast<int32_t>(names.size()));
  if (isNew)
    names.emplace_back(name);
  return found->second;
}

int32_t TraceBuilder::addOperator(const std::string &key,
                                  const HostOperator &op) {
  auto [found, isNew] =
      operatorIndex.try_emplace(key, static_cast<int32_t>(operators.size()));
  if (isNew)
    operators.push_back(op);
  return found->second;
}

void TraceBuilder::addEvent(int64_t device, DeviceEvent event,
                            int64_t operatorId, int64_t correlation) {
  pending.push_back({event, operatorId, correlation, device});
}

void TraceBuilder::linkOperator(int64_t operatorId, int32_t op) {
  operatorsById.emplace_back(operatorId, op);
}

void TraceBuilder::linkLaunch(int64_t correlation, int64_t time,
                              int64_t operatorId) {
  launches.push_back({correlation, time, operatorId});
}

void TraceBuilder::addAnnotation(Annotation annotation) {
  annotations.push_back(std::move(annotation));
}

std::vector<DeviceTrace> TraceBuilder::finish() {
  if (pending.empty())
    throw TraceError(file + ": found no kernel and no copy, expected a "
                            "profile with the activity of a device");
  std::sort(operatorsById.begin(), operatorsById.end());
  std::sort(launches.begin(), launches.end(),
            [](const Launch &a, const Launch &b) {
              return std::tie(a.correlation, a.time) <
                     std::tie(b.correlation, b.time);
            });
  auto findLaunch = [&](int64_t correlation) -> const Launch * {
    auto at = std::lower_bound(launches.begin(), launches.end(), correlation,
                               [](const Launch &launch, int64_t wanted) {
                                 return launch.correlation < wanted;
                               });
    return at != launches.end() && at->correlation == correlation ? &*at
                                                                  : nullptr;
  };
  auto findOperator = [&](int64_t id) {
    auto at = std::lower_bound(operatorsById.begin(), operatorsById.end(),
                               std::pair<int64_t, int32_t>(id, -1));
    return at != operatorsById.end() && at->first == id ? at->second : -1;
  };
  for (Pending &own : pending) {
    const Launch *launch =
        own.correlation < 0 ? nullptr : findLaunch(own.correlation);
    if (launch)
      own.event.launch = launch->time;
    if (own.operatorId < 0 && launch)
      own.operatorId = launch->operatorId;
    if (own.operatorId >= 0)
      own.event.op = findOperator(own.operatorId);
  }
  // Events that start together stay as they were: places break the tie, which
  // std::sort alone would not keep.
  std::vector<size_t> order(pending.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(pending[a].event.start, a) <
           std::tie(pending[b].event.start, b);
  });
  std::map<int64_t, DeviceTrace> devices;
  for (size_t i : order) {
    Pending &own = pending[i];
    own.event.start += clockOffset;
    if (own.event.launch >= 0)
      own.event.launch += clockOffset;
    devices[own.device].events.push_back(own.event);
  }
  std::vector<Pending>().swap(pending);
  for (Annotation &annotation : annotations)
    annotation.start += clockOffset;
  std::sort(annotations.begin(), annotations.end(),
            [](const Annotation &a, const Annotation &b) {
              return std::tie(a.start, b.duration, a.text) <
                     std::tie(b.start, a.duration, b.text);
            });
  std::vector<DeviceTrace> traces;
  for (auto &[number, trace] : devices) {
    trace.file = file;
    trace.device = number;
    trace.worldSize = worldSize;
    trace.hasAbsoluteClock = hasAbsoluteClock;
    // A process has one rank; several devices in one file have none.
    if (devices.size() == 1)
      trace.rank = rank;
    if (auto name = deviceNames.find(number); name != deviceNames.end())
      trace.deviceName = name->second;
    trace.names = names;
    trace.operators = operators;
    trace.annotations = annotations;
    traces.push_back(std::move(trace));
  }
  return traces;
}
