//===- TraceMapReport.h - a mapping for people and programs -----*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_TRACEMAPREPORT_H
#define LAYLINE_TOOLS_LAYLINE_TRACEMAPREPORT_H

#include "MappedRun.h"

namespace layline::tool {

void printMappedRun(std::ostream &os, const MappedRun &run);
std::string toJSON(const MappedRun &run);
/// A line for each event.
std::string toCsv(const MappedRun &run);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_TRACEMAPREPORT_H
