//===- MappedRun.h - recordings mapped onto a plan --------------*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_MAPPEDRUN_H
#define LAYLINE_TOOLS_LAYLINE_MAPPEDRUN_H

#include "TraceArguments.h"

namespace layline::tool {

/// A run, every rank of it that was recorded, on one plan.
struct MappedRun {
  std::vector<trace::DeviceTrace> devices;
  std::vector<trace::Mapping> mappings; ///< one for each device
  std::vector<trace::CollectiveUse> collectives;

  std::vector<const trace::Mapping *> pointers() const;
};

/// Reads the recordings and maps them. Throws trace::TraceError.
MappedRun mapRun(const TraceInputArguments &arguments,
                 const std::vector<trace::ExpectedProgram> &programs,
                 const trace::TransferModel &model);

/// Whether the plan can be that of the run; says so if it cannot.
bool checkFit(const MappedRun &run);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_MAPPEDRUN_H
