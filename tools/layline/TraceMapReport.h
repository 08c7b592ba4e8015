//===- TraceMapReport.h - a mapping for people and programs -----*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_TRACEMAPREPORT_H
#define LAYLINE_TOOLS_LAYLINE_TRACEMAPREPORT_H

#include "TraceArguments.h"

namespace layline::tool {

/// A run, every rank of it that was recorded, on one plan.
struct MappedRun {
  std::vector<trace::DeviceTrace> devices;
  std::vector<trace::Mapping> mappings; ///< one for each device
  std::vector<trace::CollectiveUse> collectives;
};

void printMappedRun(std::ostream &os, const MappedRun &run);
std::string toJSON(const MappedRun &run);
/// A line for each event.
std::string toCsv(const MappedRun &run);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_TRACEMAPREPORT_H
