//===- TraceArguments.h - what the commands of `layline trace` share ------===//
#ifndef LAYLINE_TOOLS_LAYLINE_TRACEARGUMENTS_H
#define LAYLINE_TOOLS_LAYLINE_TRACEARGUMENTS_H

#include "Commands.h"
#include "layline/Driver/Compiler.h"
#include "layline/Trace/Budget.h"
#include "layline/Trace/Readers.h"
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace layline::tool {

/// Recordings, and where what is found goes. "-" is the standard output, then
/// in place of the text.
struct TraceInputArguments {
  std::vector<std::string> files;
  std::string families;  ///< CSV of patterns before the built-in ones, or empty
  std::string json, csv; ///< or empty
};

/// The plan that a run is compared with: of a folder, or compiled of a model as
/// engines run it today.
struct TracePlanArguments {
  std::string plan;
  std::string model;
  int64_t tp = 1, cp = 1, ep = 1;
  std::string target; ///< of the cost model, or empty
};

void addInputOptions(CLI::App &command, TraceInputArguments &arguments);
/// Whether --plan and --model may be given together: what could run and what
/// did.
enum class PlanAndModel { Either, Both };
void addPlanOptions(CLI::App &command, TracePlanArguments &arguments,
                    PlanAndModel together = PlanAndModel::Either);

/// Where the recording goes with what it is in the plan.
void addPerfettoOption(CLI::App &command, std::string &file);

/// All devices of all files. Throws trace::TraceError. Long files show on a
/// terminal how far they are read.
std::vector<trace::DeviceTrace>
readTraces(const TraceInputArguments &arguments);

trace::KernelFamilies readFamilies(const TraceInputArguments &arguments);

/// The model with these boundaries: "whole" is plain tensor parallelism. On
/// failure prints what is wrong, sets `exitCode` and gives nothing.
std::optional<Compilation> compileModel(const TracePlanArguments &arguments,
                                        const std::string &boundaries,
                                        int &exitCode);

/// The plan that the run executed. On failure prints what is wrong, sets
/// `exitCode` and gives nothing.
std::optional<trace::PlanText> readPlanText(const TracePlanArguments &arguments,
                                            int &exitCode);
/// Its programs.
std::optional<std::vector<trace::ExpectedProgram>>
readPrograms(const TracePlanArguments &arguments, int &exitCode);

/// What the target's tables say of a transfer; null if there is no target.
/// Throws CLI::ValidationError for one that is not known.
trace::TransferModel readTransferModel(const TracePlanArguments &arguments);

/// Writes the files that were asked for, then prints the text, unless one of
/// them takes its place. Nothing is written before all of it is there.
int writeTraceOutputs(const TraceInputArguments &arguments,
                      const std::string &text, const std::string &json,
                      const std::string &csv);

/// "12.3": microseconds of nanoseconds.
std::string formatMicroseconds(int64_t nanoseconds);
/// "44.7 %".
std::string formatShare(int64_t part, int64_t whole);
/// A name that fits into a table, without arguments of its templates.
std::string shortenKernel(const std::string &name);

/// What both commands say of a device.
std::string describeDevice(const trace::DeviceTrace &device);
nlohmann::ordered_json deviceJSON(const trace::DeviceTrace &device);
/// Time and events by group of kernels.
void printShares(std::ostream &os, const trace::DeviceTrace &device,
                 const std::vector<trace::KernelFamilies::Match> &names);
nlohmann::ordered_json
sharesJSON(const trace::DeviceTrace &device,
           const std::vector<trace::KernelFamilies::Match> &names);
/// Kernels of no known kind, by time; nothing if there are none.
void printUnknown(std::ostream &os, const trace::DeviceTrace &device,
                  const std::vector<trace::KernelFamilies::Match> &names);

void addTraceSummaryCommand(CLI::App &app, int &exitCode);
void addTraceMapCommand(CLI::App &app, int &exitCode);
void addTraceBudgetCommand(CLI::App &app, int &exitCode);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_TRACEARGUMENTS_H
