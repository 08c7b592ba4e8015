//===- KVSimulateCommand.cpp - layline kv simulate ------------------------===//
#include "KVArguments.h"
#include "layline/KV/Protocol.h"
#include "layline/KV/Simulation.h"
#include <iostream>

using namespace layline;
using namespace layline::tool;

namespace {
struct Arguments {
  KVPlanArguments plan;
  KVRequestArguments request;
  int64_t seed = 1;
  std::vector<std::string> faults;
  int64_t requests = 200;
};
} // namespace

/// "drop:0.05": a name and a chance.
static bool readFault(const std::string &text, kv::ProtocolFaults &faults) {
  const std::pair<const char *, double kv::ProtocolFaults::*> names[] = {
      {"drop", &kv::ProtocolFaults::drop},
      {"repeat", &kv::ProtocolFaults::repeat},
      {"delay", &kv::ProtocolFaults::delay},
      {"fail-write", &kv::ProtocolFaults::failWrite},
      {"abort", &kv::ProtocolFaults::abort},
      {"free-early", &kv::ProtocolFaults::freeEarly}};
  size_t colon = text.find(':');
  double value = 0.1;
  bool isGood = colon == std::string::npos ||
                (CLI::detail::lexical_cast(text.substr(colon + 1), value) &&
                 value >= 0 && value <= 1);
  std::string known, name = text.substr(0, colon);
  bool isAll = name == "all";
  bool isKnown = isAll;
  for (const auto &[own, member] : names) {
    known += std::string(own) + ", ";
    if (!isAll && name != own)
      continue;
    isKnown = true;
    faults.*member = value;
  }
  if (isKnown && isGood)
    return true;
  std::cerr << "--faults: found '" << text << "', expected " << known
            << "or all, with a chance from 0 to 1 as in drop:0.05\n";
  return false;
}

/// Requests share pools and rooms while messages are lost, doubled and late.
static int runFaults(const Arguments &arguments, const KVPlanned &planned,
                     const kv::TrafficOptions &request) {
  kv::ProtocolOptions options;
  options.requests = arguments.requests;
  options.tokens = request.tokens;
  options.seed = static_cast<uint64_t>(arguments.seed);
  for (const std::string &text : arguments.faults)
    if (!readFault(text, options.faults))
      return Unusable;
  kv::ProtocolResult result = kv::simulateProtocol(planned.plan, options);
  std::cout << options.requests << " requests over " << options.rooms
            << " rooms: " << result.ready << " ready, " << result.failed
            << " failed, " << result.stuck << " neither\n  " << result.dropped
            << " reports lost, " << result.repeated << " came twice, "
            << result.late << " writes and reports late, "
            << result.failedWrites << " writes failed, " << result.aborted
            << " requests given up, " << result.freedEarly
            << " freed before they were ready\n  " << result.heldPages
            << " pages waited for their writers before they were used again\n";
  if (!result.fault.empty() || result.stuck) {
    std::cerr << (result.fault.empty()
                      ? std::to_string(result.stuck) +
                            " requests neither became ready nor failed"
                      : result.fault)
              << "\n";
    return Refused;
  }
  std::cout << "no request was ready with a byte missing or another's\n";
  return Good;
}

static int runSimulate(const Arguments &arguments, const KVPlanned &planned,
                       const kv::TrafficOptions &request) {
  if (!arguments.faults.empty())
    return runFaults(arguments, planned, request);
  kv::SimulationOptions options;
  options.tokens = request.tokens;
  options.prefix = request.prefix;
  options.omitsPrefixPages = request.omitsPrefixPages;
  options.room = request.room;
  options.chunkEnds = kv::getChunkEnds(request, planned.plan.target.pageTokens);
  options.seed = static_cast<uint64_t>(arguments.seed);
  kv::SimulationResult result = kv::simulate(planned.plan, options);
  if (!result.fault.empty()) {
    std::cerr << result.fault << "\n";
    return Refused;
  }
  std::cout << "every byte of " << planned.plan.target.ranks.size()
            << " target ranks is right: " << result.bytes
            << " bytes written by " << result.descriptors << " descriptors in "
            << result.batches << " batches, " << result.twice
            << " of them more than once\n";
  return Good;
}

void layline::tool::addKVSimulateCommand(CLI::App &kv, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = kv.add_subcommand(
      "simulate", "Carry a plan out in memory and compare every byte");
  addPlanOptions(*command, arguments->plan);
  addRequestOptions(*command, arguments->request);
  addTableOptions(*command, arguments->request);
  command
      ->add_option("--seed", arguments->seed,
                   "Of the order of pages; 0: one after the other")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 60))
      ->capture_default_str();
  command
      ->add_option("--faults", arguments->faults,
                   "Simulate many requests with these faults in place of the "
                   "bytes of one: drop, repeat, delay, fail-write, abort, "
                   "free-early or all, each with its chance (0.1): "
                   "drop:0.05,abort")
      ->delimiter(',');
  command
      ->add_option("--requests", arguments->requests, "How many, with --faults")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20))
      ->capture_default_str();
  command->footer("Examples:\n  layline kv simulate --model config.json --from "
                  "tp1,cp4 --to tp4 --tokens 300 --chunk 128\n  layline kv "
                  "simulate ... --tokens 300 --faults all");
  command->callback([arguments, &exitCode] {
    exitCode = runPlanned(
        arguments->plan, arguments->request,
        [&](const KVPlanned &planned, const kv::TrafficOptions &request) {
          return runSimulate(*arguments, planned, request);
        });
  });
}
