//===- CompileCommand.cpp - layline compile -------------------------------===//
#include "Commands.h"
#include "TextTable.h"
#include "WholeFiles.h"
#include "layline/Cost/Targets.h"
#include "layline/Driver/Compiler.h"
#include "layline/Import/Activations.h"
#include "layline/Support/PlaceName.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>

using namespace layline;
using namespace layline::tool;

namespace {

struct Arguments {
  CompileRequest request;
  std::string tokens;
  bool hasTokens = false; ///< an empty text is not the same as none
  std::string phase;
  std::string memoryLimit;
  std::string output;
  std::string dumpDir;
  bool noFuse = false;
  bool timing = false;
};

/// Boundaries of one kind: the same sub-layer of every layer.
struct SiteGroup {
  const SiteReport *first = nullptr;
  int64_t count = 0;
  std::string name;
};

} // namespace

static bool parseTokens(const std::string &text, CompileRequest &request) {
  // One number is a range of one.
  char rest = 0;
  long long min = 0, max = 0;
  if (std::sscanf(text.c_str(), "%lld:%lld%c", &min, &max, &rest) == 2) {
    request.minTokens = min;
    request.maxTokens = max;
    return true;
  }
  if (std::sscanf(text.c_str(), "%lld%c", &min, &rest) == 1) {
    request.minTokens = request.maxTokens = min;
    return true;
  }
  return false;
}

static std::string joinTargets() {
  std::string joined;
  for (const std::string &name : knownTargets())
    joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

/// Sites that became the same for the same reason at the same cost, together.
static std::vector<SiteGroup> groupSites(const std::vector<SiteReport> &sites) {
  std::vector<SiteGroup> groups;
  std::map<std::string, size_t> known;
  for (const SiteReport &site : sites) {
    std::string kind(parsePlaceName(site.id).name);
    std::string key = kind + "|" + site.was + "|" + site.became + "|" +
                      site.reason + "|" + std::to_string(site.before.ring) +
                      "|" + std::to_string(site.after.ring);
    auto [entry, isNew] = known.emplace(key, groups.size());
    if (isNew)
      groups.push_back({&site, 0, kind});
    ++groups[entry->second].count;
  }
  return groups;
}

static std::string formatUs(double us) {
  char text[32];
  std::snprintf(text, sizeof text, us < 1000 ? "%.1f us" : "%.3f ms",
                us < 1000 ? us : us / 1000);
  return text;
}

/// The three baselines of a variant, and what its gain can be in a whole step.
static void printPrices(std::ostream &os, const VariantReport &variant) {
  if (variant.prices.empty())
    return;
  os << "  all boundaries of a step, by baseline (a) all_reduce and separate "
        "kernels, (b) this sharding unfused, (c) this plan:\n";
  TextTable table({">tokens", ">(a)", ">(b)", ">(c)", ">sharding (b)-(a)",
                   ">fusion (c)-(b)", ">in all (c)-(a)", ">collectives",
                   ">launches", ">whole step", "known"});
  for (const PriceReport &price : variant.prices) {
    auto change = [&](double from, double to) -> std::string {
      double by = to - from;
      return std::abs(by) < 0.05
                 ? "0"
                 : (by > 0 ? "+" : "-") + formatUs(std::abs(by));
    };
    // Products at the roofline, or at half of it: the gain's share of a step.
    auto speedUp = [&](double products) {
      char text[32];
      std::snprintf(text, sizeof text, "%.3f",
                    (products + price.today) / (products + price.chosen));
      return std::string(text);
    };
    table.add(
        {std::to_string(price.tokens), formatUs(price.today),
         formatUs(price.unfused), formatUs(price.chosen),
         change(price.today, price.unfused),
         change(price.unfused, price.chosen), change(price.today, price.chosen),
         std::to_string(price.phasesToday) + " -> " +
             std::to_string(price.phases),
         std::to_string(price.launchesToday) + " -> " +
             std::to_string(price.launches),
         "x" + speedUp(2 * price.products) + " .. x" + speedUp(price.products),
         price.confidence});
  }
  table.print(os);
  os << "  (whole step: with its products at half of and at the roofline; "
        "attention is not in it, so it is less)\n";
}

/// Gathers that are narrower than the sum before them, or no narrower.
static void printGathers(std::ostream &os, const VariantReport &variant) {
  std::map<std::pair<int64_t, int64_t>, int64_t> widths;
  for (const GatherReport &gather : variant.gathers)
    ++widths[{gather.rowBytes, gather.sumRowBytes}];
  for (const auto &[width, count] : widths) {
    os << "  " << count << " gathers of " << width.first << " bytes a row";
    if (width.second == 0)
      os << ", behind no sum\n";
    else if (width.first == width.second)
      os << ", as wide as the sum before: moving them saves no bytes\n";
    else
      os << ", where the sum before has " << width.second << "\n";
  }
}

/// What a variant has besides its sites.
static void printRest(std::ostream &os, const VariantReport &variant) {
  if (variant.contextGathers.count)
    os << "  " << variant.contextGathers.count
       << " gathers over \"cp\" (keys, values, results): a rank sends "
       << formatBytes(variant.contextGathers.bytes) << " by direct exchange\n";
  os << "  " << variant.steps << " steps; memory per rank:";
  for (const ArenaReport &arena : variant.arenas)
    if (arena.id != "register")
      os << " " << arena.id << " " << formatBytes(arena.bytes)
         << " (live at once: " << formatBytes(arena.bound) << ")";
  os << "\n";
}

static void printVariant(std::ostream &os, const VariantReport &variant,
                         int64_t layers) {
  os << "\n"
     << variant.id << ": " << variant.minTokens << " to " << variant.maxTokens
     << " tokens, boundaries " << variant.boundaries << ": "
     << variant.applied() << " of " << variant.sites.size() << " sites by rows";
  if (!variant.sites.empty())
    os << " (" << variant.sites.front().reason << ")";
  os << "\n";
  if (variant.sites.empty()) {
    os << "  tensor parallelism over one rank: nothing is summed across "
          "ranks\n";
    printRest(os, variant);
    return;
  }
  os << "  bytes that one rank sends at " << variant.maxTokens
     << " tokens, by ring and by in-switch reduction:\n";
  TextTable table({"site", ">count", "was", "became", ">ring before", ">after",
                   ">switch before", ">after"});
  WireByteCount before, after;
  for (const SiteGroup &group : groupSites(variant.sites)) {
    const SiteReport &site = *group.first;
    table.add({group.name, std::to_string(group.count), site.was,
               site.became == site.was ? "unchanged" : site.became,
               formatBytes(site.before.ring), formatBytes(site.after.ring),
               formatBytes(site.before.viaSwitch),
               formatBytes(site.after.viaSwitch)});
  }
  WireByteCount layerBefore, layerAfter;
  for (const SiteReport &site : variant.sites) {
    before.ring += site.before.ring;
    before.viaSwitch += site.before.viaSwitch;
    after.ring += site.after.ring;
    after.viaSwitch += site.after.viaSwitch;
    if (parsePlaceName(site.id).layer == 0) {
      layerBefore.ring += site.before.ring;
      layerBefore.viaSwitch += site.before.viaSwitch;
      layerAfter.ring += site.after.ring;
      layerAfter.viaSwitch += site.after.viaSwitch;
    }
  }
  if (layers > 0)
    table.add({"per layer", "", "", "", formatBytes(layerBefore.ring),
               formatBytes(layerAfter.ring), formatBytes(layerBefore.viaSwitch),
               formatBytes(layerAfter.viaSwitch)});
  table.add({"in all", std::to_string(variant.sites.size()), "", "",
             formatBytes(before.ring), formatBytes(after.ring),
             formatBytes(before.viaSwitch), formatBytes(after.viaSwitch)});
  table.print(os);
  auto isSent = [](const SiteReport &site) {
    return site.became.find("dispatch") != std::string::npos;
  };
  if (std::any_of(variant.sites.begin(), variant.sites.end(), isSent))
    os << "  (which rows go to which experts is known at run time: bytes of "
          "dispatch and combine are those expected of uniform routing)\n";
  printPrices(os, variant);
  printGathers(os, variant);
  printRest(os, variant);
}

static void printReplication(std::ostream &os, const ReplicationReport &chain) {
  os << "  weights of " << chain.count << " x " << chain.name << " "
     << (chain.isTaken ? "whole" : "split") << " (" << chain.reason
     << "): every rank would hold "
     << formatBytes(chain.wholeBytes - chain.splitBytes)
     << " more of them whole";
  const ReplicationReport::Step *best = nullptr;
  for (const ReplicationReport::Step &step : chain.steps)
    if (!best || step.split - step.whole > best->split - best->whole)
      best = &step;
  if (best)
    os << ", and save " << formatUs(best->split - best->whole) << " of "
       << formatUs(best->split) << " at " << best->tokens
       << " tokens (attention not counted)";
  os << "\n";
}

static void printSummary(std::ostream &os, const Arguments &arguments,
                         const Compilation &result) {
  os << arguments.request.config << ": " << result.modelType << " ("
     << result.blockTemplate << "), " << result.layers << " layers, hidden "
     << result.hidden << ", " << result.heads << " heads, " << result.kvHeads
     << " KV heads";
  if (result.experts)
    os << ", " << result.experts << " experts";
  os << ", " << result.dtype << "\n";
  for (const std::string &assumption : result.assumptions)
    os << "  note: " << assumption << "\n";
  const CompileRequest &request = arguments.request;
  os << "tensor parallelism " << request.tp;
  if (request.cp > 1)
    os << " x context parallelism " << request.cp << " (" << request.cpSplit
       << ") = " << request.tp * request.cp
       << " cards; attention TP = " << request.tp * request.cp
       << " / DP 1 / CP " << request.cp << " = " << request.tp;
  if (request.ep > 1)
    os << ", whole experts over " << request.ep;
  os << " on " << request.target << "; weights of one rank "
     << formatBytes(result.weightBytes) << "\n";
  std::string replicated;
  for (const WeightReport &weight : result.weights)
    if (weight.isReplicated)
      replicated += (replicated.empty() ? "" : ", ") + weight.name + " " +
                    formatBytes(weight.bytes);
  if (!replicated.empty())
    os << "  of these every rank holds all of: " << replicated << "\n";
  for (const ReplicationReport &chain : result.replication)
    printReplication(os, chain);
  for (const VariantReport &variant : result.variants)
    printVariant(os, variant, result.layers);
}

static int runCompile(Arguments &arguments) {
  CompileRequest &request = arguments.request;
  // What a phase is like where nothing else is said: decode runs few tokens
  // from a CUDA graph, prefill many, kernel by kernel.
  if (!arguments.hasTokens)
    arguments.tokens = arguments.phase == "decode"    ? "1:512"
                       : arguments.phase == "prefill" ? "1:32768"
                                                      : "1:8192";
  if (request.launch.empty())
    request.launch = arguments.phase == "prefill" ? "eager" : "graph";
  if (!arguments.memoryLimit.empty()) {
    std::optional<int64_t> bytes = parseBytes(arguments.memoryLimit);
    if (!bytes) {
      std::cerr << "--memory-limit: found '" << arguments.memoryLimit
                << "', expected a size such as 80GiB or 8.5e10\n";
      return Unusable;
    }
    request.memoryLimit = *bytes;
  }
  if (!parseTokens(arguments.tokens, request)) {
    std::cerr << "--tokens: found '" << arguments.tokens
              << "', expected MIN:MAX, for example 1:8192\n";
    return Unusable;
  }
  if (request.config.empty()) {
    std::cerr << "CONFIG: found '', expected the path of a config.json\n";
    return Unusable;
  }
  if (!arguments.dumpDir.empty())
    request.dumpDir = arguments.dumpDir;
  request.fuse = !arguments.noFuse;
  request.endsProcess = true;
  Compilation result = compile(request);
  std::cerr << result.messages;
  if (result.status != CompileStatus::Good)
    return result.status == CompileStatus::Refused ? Refused : Unusable;

  auto start = std::chrono::steady_clock::now();
  if (std::optional<std::string> error =
          writeFiles(arguments.output, {{"plan.json", result.plan},
                                        {"decisions.json", result.decisions},
                                        {"proof.json", result.proof}})) {
    std::cerr << *error << "\n";
    return Unusable;
  }
  std::chrono::duration<double, std::milli> spent =
      std::chrono::steady_clock::now() - start;
  result.times.push_back({"write", spent.count()});

  printSummary(std::cout, arguments, result);
  if (!result.explanation.empty())
    std::cout << "\n" << result.explanation;
  std::cout << "\nwrote " << arguments.output << "/plan.json ("
            << formatBytes(static_cast<int64_t>(result.plan.size())) << "), "
            << arguments.output << "/decisions.json and " << arguments.output
            << "/proof.json (" << result.proofs.size()
            << " proofs, all hold)\n";
  if (arguments.timing) {
    double total = 0;
    for (const PhaseTime &time : result.times) {
      std::printf("phase %-10s %8.2f ms\n", time.phase.c_str(),
                  time.milliseconds);
      total += time.milliseconds;
    }
    std::printf("phase %-10s %8.2f ms\n", "total", total);
  }
  return Good;
}

void layline::tool::addCompileCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  // Filled in from --phase unless given.
  arguments->request.launch.clear();
  CLI::App *command = app.add_subcommand(
      "compile", "Turn a Hugging Face config.json into a verified launch plan");
  command
      ->add_option("CONFIG", arguments->request.config,
                   "The model's config.json")
      ->required();
  command
      ->add_option("--tp", arguments->request.tp,
                   "Ranks of tensor parallelism; any number, parts may be "
                   "uneven")
      ->check(wholeNumber())
      ->capture_default_str();
  command
      ->add_option("--cp", arguments->request.cp,
                   "Ranks of context parallelism: the query tokens of a step "
                   "are split over them, keys and values gathered. The mesh "
                   "has tp x cp cards")
      ->check(wholeNumber())
      ->capture_default_str();
  command
      ->add_option("--ep", arguments->request.ep,
                   "Ranks of --tp that share out whole experts: 1 (each has a "
                   "part of every expert) or as many as --tp")
      ->check(wholeNumber())
      ->capture_default_str();
  command
      ->add_option("--cp-split", arguments->request.cpSplit,
                   "How tokens are dealt out over --cp: zigzag, contiguous, "
                   "interleave or interleave:I (runs of I tokens)")
      ->capture_default_str();
  command
      ->add_option("--target", arguments->request.target,
                   "Cards: " + joinTargets())
      ->capture_default_str();
  command
      ->add_option("--tokens", arguments->tokens,
                   "Query tokens of a step, MIN:MAX (1:8192, or as --phase "
                   "says). A plan has one program (variant) per range in which "
                   "one choice is best")
      ->type_name("MIN:MAX");
  command
      ->add_option("--phase", arguments->phase,
                   "prefill: --tokens 1:32768, kernels launched one by one. "
                   "decode: --tokens 1:512, launched from a CUDA graph")
      ->check(CLI::IsMember({"prefill", "decode"}));
  command->add_option("--launch", arguments->request.launch,
                      "How kernels are launched, for their cost: graph or "
                      "eager [graph, or as --phase says]");
  command->add_option("--calibration", arguments->request.calibration,
                      "Latencies that layline calibrate wrote; they go before "
                      "the built-in ones");
  command->add_option("--kernels", arguments->request.kernels,
                      "A list of fused kernels in place of the target's (see "
                      "docs/cost-model.md)");
  command->add_option("--explain", arguments->request.explain,
                      "Print what a place (layer.0.o_proj, layer.0.input_norm) "
                      "could have become, and at what cost");
  command
      ->add_option("--at", arguments->request.explainTokens,
                   "Token counts for --explain [ends and middle of each "
                   "variant]")
      ->delimiter(',');
  command->add_option("--memory-limit", arguments->memoryLimit,
                      "Refuse more bytes of weights on a rank: 80GiB");
  command->add_option(
      "--replicate-weights", arguments->request.replicate,
      "Chains of products (dense MLP, shared experts) whose weights every rank "
      "holds, so that they run by rows and owe no sum. never; auto: where no "
      "token count of the plan costs over 1 % more, some saves over 1 %, and "
      "--memory-limit is kept; all; or names, as in decisions.json: "
      "down_proj,shared_down_proj [auto with --memory-limit, else never]");
  command
      ->add_option("--boundaries", arguments->request.boundaries,
                   "What becomes of the all-reduce before each norm. rows: "
                   "reduce-scatter, norm of own rows, all-gather. whole: it "
                   "stays. auto: what costs least on the target. Rules up to "
                   "token counts: whole:63,rows")
      ->capture_default_str();
  command
      ->add_option("--activations", arguments->request.activations,
                   "What the rows are that q, k, v, gate, up and experts "
                   "read: " +
                       kActivationChoices.str())
      ->capture_default_str();
  command
      ->add_option("--experts", arguments->request.experts,
                   "With --ep: how experts get their rows. gathered: all ranks "
                   "have all rows, a sum follows. dispatched: each row is sent "
                   "to the ranks of its experts and comes back. auto: what "
                   "costs least on the target")
      ->capture_default_str();
  command->add_flag("--even", arguments->request.even,
                    "Refuse parts of different sizes, naming the sizes of --tp "
                    "that divide");
  command->add_flag("--no-fuse", arguments->noFuse,
                    "Separate steps in place of fused ones, as a baseline");
  command->add_option("--dump-ir", arguments->dumpDir,
                      "Write the IR after each phase into this folder");
  command->add_flag("--timing", arguments->timing,
                    "Print how long each phase took");
  command
      ->add_option("-o,--output", arguments->output,
                   "Folder for plan.json and decisions.json")
      ->required();
  command->footer("Example:\n  layline compile config.json --tp 8 --target "
                  "h200x8 --tokens 1:8192 -o plan");
  command->callback([arguments, command, &exitCode] {
    arguments->hasTokens = command->count("--tokens") > 0;
    exitCode = runCompile(*arguments);
  });
}
