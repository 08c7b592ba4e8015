//===- KVSendCommand.cpp - layline kv send --------------------------------===//
#include "KVArguments.h"
#include "KVLoopback.h"
#include "TextTable.h"
#include "WholeFiles.h"
#include "kv/ParsePlan.h"
#include "layline/KV/PlanJSON.h"
#include "plan/Error.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>

using namespace layline;
using namespace layline::tool;

// runtime/python
namespace layline::runtime {
extern const char kLaylineKV[], kLaylineKVEngines[], kLaylineKVSend[],
    kLaylineLibrary[];
} // namespace layline::runtime

namespace {
struct Arguments {
  KVPlanArguments plan;
  KVRequestArguments request;
  std::string planFile, engine, library, pair = "first", python = "python3";
  int seconds = 120, repeats = 1;
};

struct RankPair {
  int source = 0, target = 0;
};
} // namespace

/// liblayline_kv.so: where the environment says, or as it is built and
/// installed with the tool.
static std::string findKVLibrary() {
  if (const char *path = std::getenv("LAYLINE_KV_LIBRARY"))
    return path;
  namespace fs = std::filesystem;
  constexpr const char *kName = "liblayline_kv.so";
  std::error_code failed;
  fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (const fs::path &path : {folder / kName, folder / "../lib" / kName})
    if (fs::exists(path, failed))
      return path.lexically_normal().string();
  throw PeerError(std::string(kName) + ": not in " + folder.string() +
                      " nor in lib beside it; LAYLINE_KV_LIBRARY can name it",
                  Unusable);
}

static std::optional<kv::Plan> getPlan(const Arguments &arguments,
                                       int &exitCode) {
  const KVPlanArguments &planned = arguments.plan;
  bool isDescribed =
      !planned.model.empty() && !planned.from.empty() && !planned.to.empty();
  if (arguments.planFile.empty()) {
    if (isDescribed) {
      std::optional<KVPlanned> made = planKV(planned, exitCode);
      return made ? std::optional<kv::Plan>(std::move(made->plan))
                  : std::nullopt;
    }
    std::cerr << "layline kv send: found no --plan; expected one, or --model, "
                 "--from and --to\n";
    exitCode = Unusable;
    return std::nullopt;
  }
  try {
    return kv::readPlan(arguments.planFile);
  } catch (const runtime::Error &failed) {
    std::cerr << failed.what() << "\n";
    exitCode = failed.status() == LAYLINE_UNREADABLE_FILE ? Unusable : Refused;
    return std::nullopt;
  }
}

/// Those that are asked for, by target, then source. What a pair sends does not
/// depend on where pages lie, so counts of other page tables tell which send.
static std::vector<RankPair> choosePairs(const std::string &text,
                                         const kv::Plan &plan,
                                         const kv::TrafficOptions &request) {
  std::vector<RankPair> sending;
  for (const kv::PairTraffic &pair : kv::measureTraffic(plan, request).pairs)
    sending.push_back({pair.source, pair.target});
  if (sending.empty())
    throw PeerError("no pair of ranks has anything to send for this request",
                    Refused);
  if (text == "all")
    return sending;
  if (text == "first")
    return {sending.front()};
  RankPair asked;
  int end = 0;
  if (std::sscanf(text.c_str(), "%d:%d%n", &asked.source, &asked.target,
                  &end) != 2 ||
      end != static_cast<int>(text.size()))
    throw PeerError("--pair: found '" + text +
                        "', expected SOURCE:TARGET, first or all",
                    Unusable);
  for (const RankPair &pair : sending)
    if (pair.source == asked.source && pair.target == asked.target)
      return {asked};
  throw PeerError("--pair: source rank " + std::to_string(asked.source) +
                      " sends nothing to target rank " +
                      std::to_string(asked.target) + " for this request; " +
                      std::to_string(sending.size()) +
                      " pairs send, the first is " +
                      std::to_string(sending.front().source) + ":" +
                      std::to_string(sending.front().target),
                  Unusable);
}

static std::string toText(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

static LoopbackRun getMedian(std::vector<LoopbackRun> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const LoopbackRun &a, const LoopbackRun &b) {
              return a.getSeconds() < b.getSeconds();
            });
  return runs[runs.size() / 2];
}

static void printRuns(const std::vector<RankPair> &pairs,
                      const std::vector<LoopbackRun> &runs) {
  TextTable table({"pair", ">batches", ">calls", ">descriptors", ">bytes",
                   ">seconds", ">prepare", ">pack", ">engine", ">descriptors/s",
                   ">largest call"});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const LoopbackRun &run = runs[i];
    table.add({std::to_string(pairs[i].source) + ":" +
                   std::to_string(pairs[i].target),
               std::to_string(run.batches), std::to_string(run.calls),
               std::to_string(run.descriptors), std::to_string(run.bytes),
               toText("%.6f", run.getSeconds()), toText("%.6f", run.preparing),
               toText("%.6f", run.packing), toText("%.6f", run.sending),
               toText("%.0f", static_cast<double>(run.descriptors) /
                                  std::max(run.getSeconds(), 1e-9)),
               std::to_string(run.largestCall)});
  }
  table.print(std::cout);
}

static void printLimit(const std::string &engineName,
                       const LoopbackEngine &engine,
                       const std::vector<LoopbackRun> &runs) {
  int64_t largest = 0, split = 0;
  for (const LoopbackRun &run : runs) {
    largest = std::max(largest, run.largestCall);
    split += run.calls - run.batches;
  }
  std::cout << "largest call: " << largest << " descriptors; ";
  if (engine.queueLimit == 0) {
    std::cout << engineName << " has no queue limit that is known\n";
    return;
  }
  std::cout << "the queue limit of " << engineName << " over TCP, "
            << engine.queueLimit << ", was "
            << (largest > engine.queueLimit ? "exceeded" : "never exceeded");
  if (split > 0)
    std::cout << ": larger batches were split, which made " << split
              << " more calls";
  std::cout << "\n";
}

static int sendPairs(const Arguments &arguments, const kv::Plan &plan,
                     const kv::TrafficOptions &request) {
  std::vector<RankPair> pairs = choosePairs(arguments.pair, plan, request);
  TemporaryFolder folder;
  LoopbackEngine engine;
  engine.setup = {arguments.python, arguments.engine, folder.getPath(),
                  findKVLibrary(), arguments.seconds};
  engine.library = arguments.library;
  engine.planPath = folder.getPath() + "/kv.json";
  if (std::optional<std::string> failed =
          writeFiles(folder.getPath(),
                     {{"kv.json", kv::toJSON(plan)},
                      {"layline_kv.py", runtime::kLaylineKV},
                      {"layline_kv_engines.py", runtime::kLaylineKVEngines},
                      {"layline_kv_send.py", runtime::kLaylineKVSend},
                      {"layline_library.py", runtime::kLaylineLibrary}}))
    throw PeerError(*failed, Unusable);

  std::vector<LoopbackRun> medians;
  int64_t compared = 0;
  for (std::size_t i = 0; i < pairs.size();) {
    LoopbackTarget target(plan, pairs[i].target, request);
    for (; i < pairs.size() && pairs[i].target == target.getRank(); ++i)
      medians.push_back(getMedian(sendPair(
          plan, request, engine, pairs[i].source, target, arguments.repeats)));
    if (arguments.pair == "all" &&
        target.countArrived() != target.countNeeded())
      throw PeerError("target rank " + std::to_string(target.getRank()) +
                          ": has " + std::to_string(target.countArrived()) +
                          " of the " + std::to_string(target.countNeeded()) +
                          " bytes that it needs",
                      Refused);
    compared += static_cast<int64_t>(target.getPool().memory.countBytes());
  }
  std::cout << plan.model << ": " << plan.source.spec << " -> "
            << plan.target.spec << ", profile " << plan.profile << ", over "
            << arguments.engine << " " << engine.version << " on loopback";
  if (arguments.repeats > 1)
    std::cout << ", medians of " << arguments.repeats;
  std::cout << "\n";
  printRuns(pairs, medians);
  printLimit(arguments.engine, engine, medians);
  std::cout << "every byte of the target is right: " << compared
            << " bytes compared, those that were not to be written too\n";
  return Good;
}

static int runSend(const Arguments &arguments) {
  int exitCode = Good;
  // A side that ends is found where its answer is missed.
  std::signal(SIGPIPE, SIG_IGN);
  std::optional<kv::TrafficOptions> request =
      readRequest(arguments.request, exitCode);
  if (!request)
    return exitCode;
  std::optional<kv::Plan> plan = getPlan(arguments, exitCode);
  if (!plan)
    return exitCode;
  try {
    return sendPairs(arguments, *plan, *request);
  } catch (const PeerError &failed) {
    std::cerr << "layline kv send: " << failed.what() << "\n";
    return failed.exitCode;
  } catch (const runtime::Error &failed) {
    std::cerr << failed.what() << "\n";
    return Unusable;
  }
}

void layline::tool::addKVSendCommand(CLI::App &kv, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = kv.add_subcommand(
      "send", "Move real bytes between two processes with a real engine, and "
              "compare every one");
  command
      ->add_option("--engine", arguments->engine,
                   "mooncake (its Python package) or nixl (its C library)")
      ->check(CLI::IsMember({"mooncake", "nixl"}))
      ->required();
  addPlanOptions(*command, arguments->plan);
  CLI::Option *plan = command->add_option(
      "--plan", arguments->planFile, "kv.json, instead of what describes one");
  for (const char *name : {"--model", "--from", "--to"})
    plan->excludes(command->get_option(name)->required(false));
  addRequestOptions(*command, arguments->request);
  addTableOptions(*command, arguments->request);
  command
      ->add_option("--pair", arguments->pair,
                   "SOURCE:TARGET; first: the first pair that sends; all: one "
                   "after the other")
      ->capture_default_str();
  command
      ->add_option("--python", arguments->python,
                   "A Python with numpy and the engine's package")
      ->capture_default_str();
  command->add_option("--engine-library", arguments->library,
                      "libnixl_capi.so; else that of the package is taken");
  command
      ->add_option("--timeout", arguments->seconds,
                   "Seconds that a side may take for a step")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  command->add_option("--repeat", arguments->repeats, "Transfers of each pair")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->footer("Example:\n  layline kv send --engine mooncake --model "
                  "config.json --from tp1,cp4 --to tp4 --tokens 4096 --pair "
                  "0:2");
  command->callback([arguments, &exitCode] { exitCode = runSend(*arguments); });
}
