//===- KVSimulateCommand.cpp - layline kv simulate ------------------------===//
#include "KVArguments.h"
#include "layline/KV/Simulation.h"
#include "plan/Error.h"
#include <iostream>

using namespace layline;
using namespace layline::tool;

namespace {
struct Arguments {
  KVPlanArguments plan;
  KVRequestArguments request;
  int64_t seed = 1;
};
} // namespace

static int runSimulate(const Arguments &arguments) {
  int exitCode = Good;
  std::optional<kv::TrafficOptions> request =
      readRequest(arguments.request, exitCode);
  if (!request)
    return exitCode;
  std::optional<KVPlanned> planned = planKV(arguments.plan, exitCode);
  if (!planned)
    return exitCode;
  kv::SimulationOptions options;
  options.tokens = request->tokens;
  options.prefix = request->prefix;
  options.room = request->room;
  options.chunkEnds =
      kv::getChunkEnds(*request, planned->plan.target.pageTokens);
  options.seed = static_cast<uint64_t>(arguments.seed);
  try {
    kv::SimulationResult result = kv::simulate(planned->plan, options);
    if (!result.fault.empty()) {
      std::cerr << result.fault << "\n";
      return Refused;
    }
    std::cout << "every byte of " << planned->plan.target.ranks.size()
              << " target ranks is right: " << result.bytes
              << " bytes written by " << result.descriptors
              << " descriptors in " << result.batches << " batches, "
              << result.twice << " of them more than once\n";
  } catch (const runtime::Error &failed) {
    std::cerr << failed.what() << "\n";
    return Unusable;
  }
  return Good;
}

void layline::tool::addKVSimulateCommand(CLI::App &kv, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = kv.add_subcommand(
      "simulate", "Carry a plan out in memory and compare every byte");
  addPlanOptions(*command, arguments->plan);
  addRequestOptions(*command, arguments->request);
  command
      ->add_option("--seed", arguments->seed,
                   "Of the order of pages; 0: one after the other")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 60))
      ->capture_default_str();
  command->callback(
      [arguments, &exitCode] { exitCode = runSimulate(*arguments); });
}
