//===- Trace.cpp - what a profiler saw on one device ----------------------===//
#include "layline/Trace/Trace.h"
#include <algorithm>

using namespace layline::trace;

int64_t DeviceTrace::busyTime() const {
  int64_t sum = 0;
  for (const DeviceEvent &event : events)
    sum += event.duration;
  return sum;
}

int64_t DeviceTrace::span() const {
  int64_t end = 0;
  for (const DeviceEvent &event : events)
    end = std::max(end, event.end());
  return events.empty() ? 0 : end - events.front().start;
}
