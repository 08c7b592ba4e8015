//===- KVPlanCommand.cpp - layline kv plan --------------------------------===//
#include "KVArguments.h"
#include "WholeFiles.h"
#include "kv/Binding.h"
#include "kv/PlanNames.h"
#include "layline/Driver/KVProgram.h"
#include "layline/KV/PlanJSON.h"
#include <iostream>

using namespace layline;
using namespace layline::tool;

namespace {
struct Arguments {
  KVPlanArguments plan;
  KVRequestArguments request;
  std::string output, ir;
  std::vector<int64_t> explain;
  KVTimeArguments times;
};
} // namespace

static const char *getPackingText(kv::Packing packing) {
  switch (packing) {
  case kv::Packing::None:
    return "sent from there";
  case kv::Packing::Source:
    return "packed into a slot at the source and sent from there";
  case kv::Packing::Target:
    return "sent into a slot at the target and unpacked there";
  case kv::Packing::Both:
    return "packed at the source, sent slot to slot, unpacked at the target";
  }
  return "";
}

static std::string listReports(unsigned reports) {
  std::string text;
  for (const kv::Name<kv::Report> &name : kv::kReports)
    if (reports & static_cast<unsigned>(name.value))
      text += (text.empty() ? "" : ", ") + std::string(name.text);
  return text;
}

/// By the plan's readiness: whose reports, of what, how many.
static void explainReadiness(const kv::Plan &plan, size_t target) {
  const kv::Readiness &readiness = plan.readiness;
  const std::vector<kv::Responder> &responders = readiness.targets[target];
  int64_t completions = 0;
  for (const kv::Responder &responder : responders)
    completions += responder.completions;
  std::cout << "  ready, with the rest of the request, when "
            << kv::getName(kv::kReadyWhen, readiness.when) << " " << completions
            << " reports of " << responders.size()
            << " responders have come (counted by "
            << kv::getName(kv::kCountings, readiness.counting)
            << ", naming the " << kv::getName(kv::kNamings, readiness.naming)
            << ", sent when "
            << kv::getName(kv::kReportings, readiness.reporting) << "; failure "
            << kv::getName(kv::kFailures, readiness.failure) << "):\n";
  for (const kv::Responder &responder : responders)
    std::cout << "    source rank " << responder.source << " as "
              << readiness.keys[static_cast<size_t>(responder.source)] << ": "
              << responder.completions << " of "
              << listReports(responder.reports) << "\n";
}

static int explain(const Arguments &arguments, const KVPlanned &planned,
                   const kv::TrafficOptions &request) {
  const kv::Plan &plan = planned.plan;
  int64_t rank = arguments.explain[0], layer = arguments.explain[1];
  int64_t token = arguments.explain[2], head = arguments.explain[3];
  int64_t heads = 1;
  for (const kv::Plane &plane : plan.planes)
    heads = std::max(heads, plane.heads);
  for (auto [what, value, most] :
       {std::tuple<const char *, int64_t, int64_t>(
            "rank", rank, static_cast<int64_t>(plan.target.ranks.size())),
        {"layer", layer, planned.model.layers},
        {"token", token, request.tokens},
        {"head", head, heads}})
    if (value < 0 || value >= most) {
      std::cerr << "--explain: found " << what << " " << value
                << ", expected 0 to " << most - 1 << "\n";
      return Unusable;
    }
  std::vector<kv::Origin> origins = kv::explainElement(
      plan, request, static_cast<int>(rank), layer, token, head);
  std::cout << "\nTarget rank " << rank << ", layer " << layer << ", token "
            << token << ", head " << head << ":\n";
  if (origins.empty())
    std::cout << "  nothing writes it: "
              << (token < request.prefix
                      ? "the target has the token already"
                      : "the rank does not keep it, or no later token needs it")
              << "\n";
  for (const kv::Origin &origin : origins) {
    std::cout << "  " << origin.plane << ": from source rank " << origin.source
              << ", page " << origin.sourcePage << " slot " << origin.sourceSlot
              << " (byte " << origin.sourceByte << " of the page), to page "
              << origin.targetPage << " slot " << origin.targetSlot << " (byte "
              << origin.targetByte << ")\n    by block " << origin.descriptor
              << " of " << origin.bytes << " bytes, batch " << origin.batch
              << " of chunk " << origin.chunk << ", "
              << getPackingText(origin.packing) << "\n";
  }
  explainReadiness(plan, static_cast<size_t>(rank));
  return Good;
}

static int writePlan(const Arguments &arguments, const kv::Plan &plan) {
  auto write = [](const std::string &path, const std::string &text) {
    std::optional<std::string> failed = writeFile(path, text);
    if (failed)
      std::cerr << *failed << "\n";
    return failed ? Unusable : Good;
  };
  std::string error;
  std::optional<std::string> ir;
  if (!arguments.ir.empty() && !(ir = printMigration(plan, error))) {
    std::cerr << "--emit-ir: " << error << "\n";
    return Refused;
  }
  int exitCode = Good;
  if (!arguments.output.empty())
    exitCode = write(arguments.output, kv::toJSON(plan));
  if (exitCode == Good && ir)
    exitCode = write(arguments.ir, *ir);
  return exitCode;
}

static int runPlan(const Arguments &arguments, const KVPlanned &planned,
                   const kv::TrafficOptions &request) {
  // A plan that is not proved is not written, nor one that cannot be counted.
  if (!proveKV(std::cout, planned.plan))
    return Refused;
  printKVReport(std::cout, planned, request, arguments.times);
  int exitCode = Good;
  if (!arguments.explain.empty())
    exitCode = explain(arguments, planned, request);
  return exitCode == Good ? writePlan(arguments, planned.plan) : exitCode;
}

void layline::tool::addKVPlanCommand(CLI::App &kv, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = kv.add_subcommand(
      "plan", "Plan, prove and count what moves between two layouts");
  addPlanOptions(*command, arguments->plan);
  addRequestOptions(*command, arguments->request);
  command->add_option("-o,--output", arguments->output,
                      "Write the plan to this file");
  command->add_option("--emit-ir", arguments->ir,
                      "Write the plan in the dialect kv to this file, for "
                      "layline-opt");
  command
      ->add_option("--explain", arguments->explain,
                   "RANK LAYER TOKEN HEAD: where one element of a target comes "
                   "from")
      ->expected(4);
  command
      ->add_option("--lanes", arguments->times.lanes,
                   "Batches of a rank in flight, for the estimated time")
      ->check(CLI::Range(int64_t(1), int64_t(4096)))
      ->capture_default_str();
  command
      ->add_option("--scratch-layers", arguments->times.scratchLayers,
                   "Layers of scratch that an owner's peers keep (layersplit)")
      ->check(CLI::Range(int64_t(0), int64_t(4096)))
      ->capture_default_str();
  auto addTime = [&](const char *option, double &value, const char *help) {
    command->add_option(option, value, help)->check(CLI::Range(0.0, 1e9));
  };
  addTime("--gigabytes-per-s", arguments->times.gigabytes,
          "Bandwidth of a rank of your own engine, for an estimated time");
  addTime("--descriptor-us", arguments->times.perDescriptor,
          "What one descriptor costs there");
  addTime("--batch-us", arguments->times.perBatch, "And one batch");
  addTime("--broadcast-gigabytes-per-s", arguments->times.broadcastGigabytes,
          "Bandwidth of a broadcast over cp: what layers wait for their owners "
          "is printed (layersplit)");
  addTime("--indexer-us", arguments->times.indexer,
          "Time of one layer's indexer, behind which its main cache is "
          "broadcast");
  command->footer("Example:\n  layline kv plan --model config.json --from "
                  "tp1,cp4 --to tp4 --tokens 4096 --profile sglang-compat");
  command->callback([arguments, &exitCode] {
    exitCode = runPlanned(
        arguments->plan, arguments->request,
        [&](const KVPlanned &planned, const kv::TrafficOptions &request) {
          return runPlan(*arguments, planned, request);
        });
  });
}
