//===- MappedRun.cpp - recordings mapped onto a plan ----------------------===//
#include "MappedRun.h"
#include "layline/Trace/PlanFit.h"
#include <cstdio>
#include <iostream>

using namespace layline;
using namespace layline::tool;

/// A plan that more than a third does not fit is that of another model.
static constexpr double kMostMisfit = 1.0 / 3;

std::vector<const trace::Mapping *> MappedRun::pointers() const {
  std::vector<const trace::Mapping *> all;
  for (const trace::Mapping &mapping : mappings)
    all.push_back(&mapping);
  return all;
}

MappedRun
layline::tool::mapRun(const TraceInputArguments &arguments,
                      const std::vector<trace::ExpectedProgram> &programs,
                      const trace::TransferModel &model) {
  trace::KernelFamilies families = readFamilies(arguments);
  MappedRun run;
  run.devices = readTraces(arguments);
  run.mappings.reserve(run.devices.size());
  for (const trace::DeviceTrace &device : run.devices)
    run.mappings.push_back(trace::mapTrace(device, families, programs));
  run.collectives = trace::findCollectives(run.pointers(), model);
  return run;
}

bool layline::tool::checkFit(const MappedRun &run) {
  bool fits = true;
  for (const trace::Mapping &mapping : run.mappings) {
    std::vector<std::string> reasons = trace::explainConflicts(mapping);
    if (double misfit = mapping.misfit(); misfit > kMostMisfit) {
      char percent[16];
      std::snprintf(percent, sizeof percent, "%.0f", 100 * misfit);
      reasons.push_back(percent + std::string(" % of what the plan expects or "
                                              "the run did has no counterpart, "
                                              "expected no more than a third"));
    }
    if (reasons.empty())
      continue;
    std::string where = mapping.trace->file + ": device " +
                        std::to_string(mapping.trace->device) + ": ";
    for (const std::string &reason : reasons)
      std::cerr << where << reason << "\n";
    std::cerr << where << "this is another model's or layout's run\n";
    fits = false;
  }
  return fits;
}
