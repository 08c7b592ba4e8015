//===- Compiler.cpp - a model's config to a verified launch plan ----------===//
#include "layline/Driver/Compiler.h"
#include "DiagnosticLog.h"
#include "Prover.h"
#include "Reports.h"
#include "WholeWeights.h"
#include "dialects/Decoder/Decoder.h"
#include "layline/Cost/Targets.h"
#include "layline/Driver/Pipelines.h"
#include "layline/Import/Activations.h"
#include "layline/Import/EmitDecoder.h"
#include "layline/Import/HFConfig.h"
#include "layline/Lowering/Passes.h"
#include "layline/Placement/Passes.h"
#include "layline/Planning/Explain.h"
#include "layline/Planning/Passes.h"
#include "layline/Target/PlanJSON.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include <chrono>
#include <cmath>
#include <set>

using namespace mlir;
using namespace layline;

int64_t VariantReport::applied() const {
  return llvm::count_if(sites, [](const SiteReport &s) { return s.applied; });
}

namespace {

/// Runs the phases of one compilation and times them.
class Compiler {
public:
  Compiler(const CompileRequest &request, Compilation &result)
      : request(request), result(result), prover(result.proofs) {}
  void run();
  /// For threads that a failed compilation has left.
  void wait() { prover.wait(); }

private:
  template <typename Work> bool phase(const char *name, Work work);
  bool fail(CompileStatus status, const Twine &message);
  bool checkRequest();
  bool readConfig();
  bool import();
  bool runPasses(llvm::function_ref<void(OpPassManager &)> build);
  /// None, with a message, if the request has no good one.
  std::optional<CostModel> getModel();
  /// Decides which weights every rank holds, and places the program.
  bool place();
  /// What the ranks hold, against the limit.
  bool checkWeights();
  /// What was asked to be explained, of the placed program.
  bool explain();
  bool dump(StringRef name);
  bool emit();

  const CompileRequest &request;
  Compilation &result;
  Prover prover;
  DecoderConfig config;
  ProgramSource source;
  std::unique_ptr<MLIRContext> context;
  std::unique_ptr<DiagnosticLog> log;
  OwningOpRef<ModuleOp> module;
  std::optional<WholeWeights> wholeWeights;
};

} // namespace

template <typename Work> bool Compiler::phase(const char *name, Work work) {
  auto start = std::chrono::steady_clock::now();
  bool good = work();
  std::chrono::duration<double, std::milli> spent =
      std::chrono::steady_clock::now() - start;
  result.times.push_back({name, spent.count()});
  return good;
}

bool Compiler::fail(CompileStatus status, const Twine &message) {
  result.status = status;
  result.messages += message.str() + "\n";
  return false;
}

bool Compiler::checkRequest() {
  auto bad = [&](const Twine &message) {
    return fail(CompileStatus::Malformed, message);
  };
  if (!findTarget(request.target))
    return bad("--target: found '" + request.target + "', expected one of " +
               llvm::join(knownTargets(), ", "));
  // Ranks are threads or cards; more are a slip of the keyboard.
  constexpr int64_t kMostRanks = 4096, kMostTokens = int64_t(1) << 24;
  if (request.tp < 1 || request.tp > kMostRanks)
    return bad("--tp: found " + Twine(request.tp) + ", expected 1 to " +
               Twine(kMostRanks));
  if (request.cp < 1 || request.tp * request.cp > kMostRanks)
    return bad("--cp: found " + Twine(request.cp) + " with --tp " +
               Twine(request.tp) + ", expected 1 to " +
               Twine(kMostRanks / request.tp));
  if (request.ep != 1 && request.ep != request.tp)
    return bad("--ep: found " + Twine(request.ep) + " with --tp " +
               Twine(request.tp) + ", expected 1" +
               (request.tp > 1 ? " or " + Twine(request.tp) : Twine()) +
               ": experts are shared out over all ranks of --tp or none, "
               "groups of them would need a second axis");
  bool isKnown =
      llvm::is_contained({"auto", "gathered", "dispatched"}, request.experts);
  if (!isKnown || (request.experts == "dispatched" && request.ep == 1))
    return bad("--experts: found '" + Twine(request.experts) + "'" +
               (isKnown ? " without --ep" : "") +
               ", expected auto, gathered, or with --ep dispatched");
  if (!parseContextSplit(request.cpSplit))
    return bad("--cp-split: found '" + request.cpSplit +
               "', expected zigzag, contiguous, interleave or interleave:I "
               "with I at least 1");
  if (request.minTokens < 1 || request.maxTokens < request.minTokens ||
      request.maxTokens > kMostTokens)
    return bad("--tokens: found " + Twine(request.minTokens) + ":" +
               Twine(request.maxTokens) +
               ", expected MIN:MAX with 1 <= MIN <= "
               "MAX <= " +
               Twine(kMostTokens));
  if (!findLaunchMode(request.launch))
    return bad("--launch: found '" + request.launch +
               "', expected graph or eager");
  for (int64_t tokens : request.explainTokens)
    if (tokens < 1 || tokens > kMostTokens)
      return bad("--at: found " + Twine(tokens) + ", expected 1 to " +
                 Twine(kMostTokens));
  if (!parseBoundaries(request.boundaries))
    return bad("--boundaries: found '" + request.boundaries +
               "', expected auto, rows, whole, or rules up to token counts "
               "like whole:63,rows");
  return true;
}

bool Compiler::readConfig() {
  std::string text;
  llvm::Expected<DecoderConfig> parsed = readHFConfig(request.config, &text);
  if (!parsed) {
    llvm::handleAllErrors(parsed.takeError(), [&](const HFConfigError &error) {
      std::string message;
      llvm::raw_string_ostream os(message);
      error.log(os);
      fail(error.kind() == HFConfigError::Kind::Refused
               ? CompileStatus::Refused
               : CompileStatus::Malformed,
           message);
    });
    return false;
  }
  config = std::move(*parsed);
  source.config = llvm::sys::path::filename(request.config).str();
  auto bytes = llvm::SHA256::hash(
      ArrayRef(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  source.digest = "sha256:" + llvm::toHex(bytes, /*LowerCase=*/true);

  if (llvm::Error error = quantizeActivations(config, request.activations)) {
    fail(CompileStatus::Refused, request.config + ": --activations: " +
                                     llvm::toString(std::move(error)));
    return false;
  }
  result.assumptions = config.assumptions;
  result.modelType = config.modelType;
  result.blockTemplate = blockStructureName(config.block).str();
  result.layers = config.layers;
  result.hidden = config.hidden;
  result.heads = config.heads;
  result.kvHeads = config.kvHeads;
  result.experts = config.moe.experts;
  result.dtype = elementTypeName(config.dtype).str();
  return true;
}

bool Compiler::import() {
  DialectRegistry registry;
  registerAllDialects(registry);
  context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  log = std::make_unique<DiagnosticLog>(
      *context, llvm::sys::path::filename(request.config).str(),
      result.messages);
  module = emitDecoder(config, source, *context);
  (*module)->setAttr("grid.target",
                     StringAttr::get(context.get(), request.target));
  return succeeded(mlir::verify(*module));
}

/// Runs passes, then the verifiers of all ops: once a phase, not once a pass.
bool Compiler::runPasses(llvm::function_ref<void(OpPassManager &)> build) {
  PassManager manager(context.get());
  manager.enableVerifier(false);
  build(manager);
  if (succeeded(manager.run(*module)) && succeeded(mlir::verify(*module)))
    return true;
  result.status = CompileStatus::Refused;
  return false;
}

static func::FuncOp findPlaced(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function->hasAttr(kVariantTokens) &&
        !function->hasAttr(decoder::DecoderDialect::kReference))
      return function;
  return {};
}

bool Compiler::checkWeights() {
  int64_t total = 0;
  std::string replicated;
  for (const WeightShare &share : listWeights(findPlaced(*module))) {
    total += share.bytes;
    bool isReplicated = share.isReplicated && request.tp > 1;
    result.weights.push_back(
        {share.name, share.count, share.bytes, isReplicated});
    if (isReplicated)
      replicated += (replicated.empty() ? "" : ", ") + share.name + " " +
                    std::to_string(share.bytes);
  }
  if (!request.memoryLimit || total <= request.memoryLimit)
    return true;
  int64_t spared = wholeWeights->getSparedBytes();
  return fail(CompileStatus::Refused,
              "--memory-limit: found weights of " + Twine(total) +
                  " bytes on one rank, expected at most " +
                  Twine(request.memoryLimit) +
                  (spared ? "; with weights split that need not be whole it "
                            "would be " +
                                std::to_string(total - spared)
                          : std::string()) +
                  "; every rank holds all of: " +
                  (replicated.empty() ? "nothing" : replicated));
}

std::optional<CostModel> Compiler::getModel() {
  CostModelOptions options;
  options.target = request.target;
  options.calibrationFile = request.calibration;
  options.capabilityFile = request.kernels;
  options.launch = *findLaunchMode(request.launch);
  std::string error;
  std::optional<CostModel> model = CostModel::create(options, error);
  if (!model)
    fail(CompileStatus::Malformed, error);
  return model;
}

bool Compiler::place() {
  PlacementOptions placement;
  placement.tp = request.tp;
  placement.cp = request.cp;
  placement.cpSplit = request.cpSplit;
  placement.ep = request.ep;
  placement.even = request.even;
  wholeWeights.emplace(*module, request);
  if (std::optional<std::string> error = wholeWeights->checkNames())
    return fail(CompileStatus::Malformed, *error);
  if (wholeWeights->needsPrices()) {
    std::optional<CostModel> model = getModel();
    if (!model || !wholeWeights->weigh(placement, *model))
      return false;
  }
  placement.replicate = wholeWeights->getChosen();
  if (!runPasses([&](OpPassManager &manager) {
        buildPlacementPipeline(manager, placement);
      }))
    return false;
  if (request.tp > 1) {
    wholeWeights->measure();
    result.replication = wholeWeights->getReports();
  }
  return true;
}

bool Compiler::explain() {
  std::optional<CostModel> model = getModel();
  if (!model)
    return false;
  std::string error;
  std::vector<int64_t> tokens = request.explainTokens;
  if (tokens.empty()) {
    std::set<int64_t> all;
    for (auto function : module->getOps<func::FuncOp>())
      if (auto range =
              function->getAttrOfType<DenseI64ArrayAttr>(kVariantTokens))
        all.insert(
            {range[0],
             std::llround(std::sqrt(double(range[0]) * double(range[1]))),
             range[1]});
    tokens.assign(all.begin(), all.end());
  }
  for (const std::string &name : request.explain) {
    std::optional<std::string> text =
        layline::explain(findPlaced(*module), *model, request.fuse,
                         request.experts, name, tokens, error);
    if (!text)
      return fail(CompileStatus::Malformed, "--explain: " + error);
    result.explanation += *text + wholeWeights->explain(name);
  }
  return true;
}

bool Compiler::dump(StringRef name) {
  if (!request.dumpDir)
    return true;
  SmallString<128> path(*request.dumpDir);
  if (std::error_code error = llvm::sys::fs::create_directories(path))
    return fail(CompileStatus::Malformed,
                "--dump-ir: " + path + ": " + error.message());
  llvm::sys::path::append(path, name + ".mlir");
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (error)
    return fail(CompileStatus::Malformed,
                "--dump-ir: " + path + ": " + error.message());
  OpPrintingFlags flags;
  flags.enableDebugInfo(true, /*prettyForm=*/false);
  module->print(os, flags);
  return true;
}

bool Compiler::emit() {
  auto plans = module->getOps<launch::PlanOp>();
  if (plans.empty())
    return fail(CompileStatus::Refused, "lowering gave no plan");
  launch::PlanOp plan = *plans.begin();
  auto variants = plan.getBody().getOps<launch::VariantOp>();
  plan.setProof(prover.getFinalDigest(
      static_cast<size_t>(std::distance(variants.begin(), variants.end()))));
  llvm::raw_string_ostream os(result.plan);
  if (failed(printPlan(plan, os)))
    return fail(CompileStatus::Refused, "the plan cannot be printed");
  return true;
}

void Compiler::run() {
  if (!checkRequest() || !phase("config", [&] { return readConfig(); }))
    return;
  // From here on a failure is one of the model under this request.
  result.status = CompileStatus::Refused;
  if (!phase("import", [&] { return import(); }) || !dump("1-decoder"))
    return;
  if (!phase("placement", [&] { return place(); }) || !dump("2-placed"))
    return;

  if (!checkWeights())
    return;
  PlanningOptions planning;
  planning.minTokens = request.minTokens;
  planning.maxTokens = request.maxTokens;
  planning.boundaries = request.boundaries;
  planning.experts = request.experts;
  planning.launch = request.launch;
  planning.calibration = request.calibration;
  planning.kernels = request.kernels;
  planning.fuse = request.fuse;
  if (!phase("planning",
             [&] {
               return runPasses([&](OpPassManager &manager) {
                 buildPlanningPipeline(manager, planning);
               });
             }) ||
      !dump("3-planned"))
    return;
  if (!request.explain.empty() && !phase("explain", [&] { return explain(); }))
    return;
  PlannedProgram planned;
  if (!phase("proofs", [&] {
        return prover.proveStatic(*module, /*all=*/false, [&] {
          return succeeded(planned.collect(*module));
        }) && prover.addPrograms(*module);
      }))
    return;
  if (!phase("lowering",
             [&] {
               return runPasses([&](OpPassManager &manager) {
                 buildLoweringPipeline(manager);
               });
             }) ||
      !dump("4-launch"))
    return;
  if (!phase("emission", [&] {
        if (!emit() || failed(reportPlan(*module, result)))
          return false;
        for (size_t i = 0; i < result.variants.size(); ++i) {
          if (i >= planned.variants.size())
            break;
          result.variants[i].prices = planned.variants[i].prices;
          result.variants[i].gathers = planned.variants[i].gathers;
        }
        result.decisions = printDecisions(request, result, planned);
        return true;
      }))
    return;
  auto report = [&](const std::string &message) {
    result.messages += message + "\n";
  };
  if (!phase("exact", [&] {
        prover.addPlan(result.plan, "plan.json");
        return prover.proveTaken(report);
      }))
    return;
  prover.emitRemarks(*module);
  result.proof = printProofs(result.proofs);
  result.status = CompileStatus::Good;
}

Compilation layline::compile(const CompileRequest &request) {
  Compilation result;
  auto compiler = std::make_unique<Compiler>(request, result);
  compiler->run();
  compiler->wait();
  if (request.endsProcess) {
    // Reachable, so that no tool takes it for a leak.
    static Compiler *kept = nullptr;
    kept = compiler.release();
    (void)kept;
  }
  return result;
}
