//===- KVArguments.h - what the commands of `layline kv` share --*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_KVARGUMENTS_H
#define LAYLINE_TOOLS_LAYLINE_KVARGUMENTS_H

#include "Commands.h"
#include "layline/KV/Planner.h"
#include "layline/KV/Report.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace layline::tool {

/// What describes a migration: the model, both layouts and how it is planned.
struct KVPlanArguments {
  std::string model, from, to;
  std::string profile = "optimised";
  std::string senders = "all";
  std::string packBelow = "16KiB", slotBytes = "32MiB";
  int64_t maxDescriptors = 2048;
  int slotLanes = kv::kDefaultLanes;
};

/// What describes a request.
struct KVRequestArguments {
  int64_t tokens = 0, chunk = 0, prefix = 0, room = 0;
  std::string pages = "contiguous";
  bool omitsPrefixPages = false;
};

void addPlanOptions(CLI::App &command, KVPlanArguments &arguments);
void addRequestOptions(CLI::App &command, KVRequestArguments &arguments);
/// For commands that move bytes.
void addTableOptions(CLI::App &command, KVRequestArguments &arguments);

/// A migration that has been planned from arguments.
struct KVPlanned {
  kv::Model model;
  kv::SideSpec source, target;
  kv::PlanOptions options;
  kv::Plan plan;
};
/// On failure prints what is wrong, sets `exitCode` and gives nothing.
std::optional<KVPlanned> planKV(const KVPlanArguments &arguments,
                                int &exitCode);
/// Likewise.
std::optional<kv::TrafficOptions>
readRequest(const KVRequestArguments &arguments, int &exitCode);

/// What the commands that plan begin and end with: reads the request, plans,
/// then calls run(planned, request). Gives its exit code, or that of what
/// failed, which has been printed.
int runPlanned(const KVPlanArguments &plan, const KVRequestArguments &request,
               const std::function<int(const KVPlanned &,
                                       const kv::TrafficOptions &)> &run);

/// What times are estimated with; figures that are 0 are not known.
struct KVTimeArguments {
  int64_t lanes = 1; ///< batches of a rank in flight
  /// Of the user's own engine: microseconds and 10^9 bytes a second.
  double perDescriptor = 0, perBatch = 0, gigabytes = 0;
  /// Layers of scratch beside those that a rank owns, the bandwidth of a
  /// broadcast over cp and the time of one layer's indexer.
  int64_t scratchLayers = 1;
  double broadcastGigabytes = 0, indexer = 0;
};

/// Tables of who computes, keeps and sends what, counts, times.
void printKVReport(std::ostream &os, const KVPlanned &planned,
                   const kv::TrafficOptions &request,
                   const KVTimeArguments &times);

/// Proves the plan for all requests and prints what is proved; what is wrong
/// goes to stderr, and the answer is false.
bool proveKV(std::ostream &os, const kv::Plan &plan);

void addKVPlanCommand(CLI::App &kv, int &exitCode);
void addKVVerifyCommand(CLI::App &kv, int &exitCode);
void addKVSimulateCommand(CLI::App &kv, int &exitCode);
void addKVSendCommand(CLI::App &kv, int &exitCode);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_KVARGUMENTS_H
