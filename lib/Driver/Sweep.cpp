//===- Sweep.cpp - many models, cards and numbers of ranks priced ---------===//
#include "layline/Driver/Sweep.h"
#include "layline/Cost/CostModel.h"
#include "layline/Cost/Targets.h"
#include "layline/Driver/Pipelines.h"
#include "layline/Import/EmitDecoder.h"
#include "layline/Import/HFConfig.h"
#include "layline/Planning/Explain.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include <atomic>
#include <map>
#include <thread>

using namespace mlir;
using namespace layline;

namespace {

/// A model placed on so many ranks, priced on every target: placement does not
/// depend on the card.
struct Job {
  const DecoderConfig *config;
  size_t configIndex;
  int64_t tp;
};

class Sweeper {
public:
  explicit Sweeper(const SweepRequest &request) : request(request) {}

  std::vector<SweepRow> run(std::string &error);

private:
  void runJob(const Job &job, MLIRContext &context);
  SweepRow &rowAt(size_t config, size_t target, size_t tp, size_t tokens) {
    return rows
        [((config * request.targets.size() + target) * request.tp.size() + tp) *
             request.tokens.size() +
         tokens];
  }
  template <typename Visit> void forEachRow(const Job &job, const Visit &visit);

  const SweepRequest &request;
  std::vector<CostModel> models;
  std::vector<SweepRow> rows;
};

} // namespace

template <typename Visit>
void Sweeper::forEachRow(const Job &job, const Visit &visit) {
  size_t tp = llvm::find(request.tp, job.tp) - request.tp.begin();
  for (size_t target = 0; target < request.targets.size(); ++target)
    for (size_t tokens = 0; tokens < request.tokens.size(); ++tokens)
      visit(rowAt(job.configIndex, target, tp, tokens), target);
}

void Sweeper::runJob(const Job &job, MLIRContext &context) {
  auto refuse = [&](const std::string &why) {
    forEachRow(job, [&](SweepRow &row, size_t) { row.refusal = why; });
  };
  std::string messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
        messages.empty())
      messages = diagnostic.str();
    return success();
  });
  ProgramSource source;
  OwningOpRef<ModuleOp> module = emitDecoder(*job.config, source, context);
  PassManager manager(&context);
  manager.enableVerifier(false);
  PlacementOptions placement;
  placement.tp = job.tp;
  buildPlacementPipeline(manager, placement);
  if (failed(manager.run(*module)))
    return refuse(messages.empty() ? "cannot be placed" : messages);
  func::FuncOp placed;
  for (auto function : module->getOps<func::FuncOp>())
    if (function.isPublic())
      placed = function;
  int64_t bytes = 0, replicated = 0;
  for (const WeightShare &share : listWeights(placed)) {
    bytes += share.bytes;
    if (share.isReplicated && job.tp > 1)
      replicated += share.bytes;
  }
  forEachRow(job, [&](SweepRow &row, size_t) {
    row.weightBytes = bytes;
    row.replicatedBytes = replicated;
  });
  if (request.memoryLimit && bytes > request.memoryLimit)
    return refuse("weights of one rank take " + std::to_string(bytes) +
                  " bytes, the limit is " +
                  std::to_string(request.memoryLimit));
  size_t tp = llvm::find(request.tp, job.tp) - request.tp.begin();
  for (size_t target = 0; target < request.targets.size(); ++target) {
    const Target *card = findTarget(request.targets[target]);
    auto first = &rowAt(job.configIndex, target, tp, 0);
    if (card && card->cards && job.tp > card->cards) {
      for (size_t i = 0; i < request.tokens.size(); ++i)
        first[i].refusal = std::to_string(job.tp) + " ranks span nodes of " +
                           std::to_string(card->cards) + " cards";
      continue;
    }
    std::vector<ProgramPrice> prices =
        priceProgram(placed, models[target], /*fuse=*/true, request.tokens);
    for (auto [i, price] : llvm::enumerate(prices)) {
      SweepRow &row = first[i];
      row.today = price.today;
      row.unfused = price.unfused;
      row.chosen = price.chosen;
      row.fixed = price.fixed;
      row.confidence = getName(price.confidence);
      row.sites = price.sites;
      row.sitesByRows = price.sitesByRows;
      row.phases = price.phases;
      row.launches = price.launches;
    }
  }
}

std::vector<SweepRow> Sweeper::run(std::string &error) {
  std::optional<LaunchMode> launch = findLaunchMode(request.launch);
  if (!launch) {
    error = "--launch: found '" + request.launch + "', expected graph or eager";
    return {};
  }
  for (const std::string &target : request.targets) {
    CostModelOptions options;
    options.target = target;
    options.calibrationFile = request.calibration;
    options.capabilityFile = request.kernels;
    options.launch = *launch;
    std::optional<CostModel> model = CostModel::create(options, error);
    if (!model)
      return {};
    models.push_back(*model);
  }
  rows.resize(request.configs.size() * request.targets.size() *
              request.tp.size() * request.tokens.size());
  std::vector<std::optional<DecoderConfig>> configs;
  std::vector<Job> jobs;
  for (size_t c = 0; c < request.configs.size(); ++c) {
    std::string refusal;
    llvm::Expected<DecoderConfig> parsed = readHFConfig(request.configs[c]);
    if (parsed)
      configs.push_back(std::move(*parsed));
    else {
      refusal = llvm::toString(parsed.takeError());
      configs.emplace_back();
    }
    for (size_t target = 0; target < request.targets.size(); ++target)
      for (size_t tp = 0; tp < request.tp.size(); ++tp)
        for (size_t t = 0; t < request.tokens.size(); ++t) {
          SweepRow &row = rowAt(c, target, tp, t);
          row.config = request.configs[c];
          row.target = request.targets[target];
          row.tp = request.tp[tp];
          row.tokens = request.tokens[t];
          row.refusal = refusal;
          if (configs[c]) {
            row.modelType = configs[c]->modelType;
            row.blockTemplate = blockStructureName(configs[c]->block).str();
          }
        }
  }
  for (size_t c = 0; c < configs.size(); ++c)
    for (int64_t tp : request.tp)
      if (configs[c])
        jobs.push_back({&*configs[c], c, tp});
  // Models are taken one after another by whoever is free; each thread has a
  // context of its own.
  std::atomic<size_t> next{0};
  auto work = [&] {
    DialectRegistry registry;
    registerAllDialects(registry);
    size_t done = 0;
    std::unique_ptr<MLIRContext> context;
    for (size_t job; (job = next++) < jobs.size();) {
      // Types and attributes of old programs are not kept for ever.
      if (done++ % 16 == 0) {
        context = std::make_unique<MLIRContext>(
            registry, MLIRContext::Threading::DISABLED);
        context->loadAllAvailableDialects();
      }
      runJob(jobs[job], *context);
    }
  };
  unsigned count = request.threads
                       ? request.threads
                       : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < count; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  return std::move(rows);
}

std::vector<SweepRow> layline::sweep(const SweepRequest &request,
                                     std::string &error) {
  return Sweeper(request).run(error);
}
