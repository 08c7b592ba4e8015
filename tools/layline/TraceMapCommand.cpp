//===- TraceMapCommand.cpp - layline trace map ----------------------------===//
#include "TraceMapReport.h"
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>

using namespace layline;
using namespace layline::tool;

namespace {
struct Arguments {
  TraceInputArguments input;
  TracePlanArguments plan;
};
} // namespace

/// A plan that more than a third does not fit is that of another model.
static constexpr double kMostMisfit = 1.0 / 3;

static MappedRun mapRun(const Arguments &arguments,
                        const std::vector<trace::ExpectedProgram> &programs,
                        const trace::TransferModel &model) {
  trace::KernelFamilies families = readFamilies(arguments.input);
  MappedRun run;
  run.devices = readTraces(arguments.input);
  std::vector<const trace::Mapping *> pointers;
  run.mappings.reserve(run.devices.size());
  for (const trace::DeviceTrace &device : run.devices) {
    run.mappings.push_back(trace::mapTrace(device, families, programs));
    pointers.push_back(&run.mappings.back());
  }
  run.collectives = trace::findCollectives(pointers, model);
  return run;
}

/// Whether the plan can be that of the run; says so if it cannot.
static bool checkFit(const MappedRun &run) {
  bool fits = true;
  for (const trace::Mapping &mapping : run.mappings) {
    double misfit = mapping.misfit();
    if (misfit <= kMostMisfit)
      continue;
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.0f", 100 * misfit);
    std::cerr << mapping.trace->file << ": device " << mapping.trace->device
              << ": " << percent
              << " % of what the plan expects or the run did has no "
                 "counterpart, expected no more than a third: this is another "
                 "model's or layout's run\n";
    fits = false;
  }
  return fits;
}

static int runMap(const Arguments &arguments) {
  try {
    int exitCode = Good;
    trace::TransferModel model = readTransferModel(arguments.plan);
    std::optional<std::vector<trace::ExpectedProgram>> programs =
        readPrograms(arguments.plan, exitCode);
    if (!programs)
      return exitCode;
    MappedRun run = mapRun(arguments, *programs, model);
    if (!checkFit(run))
      return Refused;
    std::ostringstream text;
    printMappedRun(text, run);
    return writeTraceOutputs(arguments.input, text.str(),
                             arguments.input.json.empty() ? "" : toJSON(run),
                             arguments.input.csv.empty() ? "" : toCsv(run));
  } catch (const trace::TraceError &failed) {
    std::cerr << failed.what() << "\n";
    return Unusable;
  }
}

void layline::tool::addTraceMapCommand(CLI::App &trace, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = trace.add_subcommand(
      "map", "Which kernel is which step of the plan, and why");
  addInputOptions(*command, arguments->input);
  addPlanOptions(*command, arguments->plan);
  command->footer("Example:\n  layline trace map run.pt.trace.json.gz --model "
                  "config.json --tp 8 --target b200x8 --csv kernels.csv");
  command->callback([arguments, &exitCode] { exitCode = runMap(*arguments); });
}
