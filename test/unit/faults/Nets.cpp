//===- Nets.cpp - each proof asked by itself ------------------------------===//
#include "Nets.h"
#include "dialects/Decoder/Decoder.h"
#include "dialects/Grid/Grid.h"
#include "dialects/Launch/Launch.h"
#include "layline/Driver/Pipelines.h"
#include "layline/Lowering/Passes.h"
#include "layline/Target/PlanJSON.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include <mutex>

using namespace mlir;
using namespace layline;
using namespace layline::test;

std::unique_ptr<MLIRContext> test::makeContext() {
  static std::once_flag once;
  std::call_once(once, [] { registerAllPasses(); });
  DialectRegistry registry;
  registerAllDialects(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

/// Runs a check and keeps the first error that it reports.
static Answer capture(MLIRContext *context,
                      llvm::function_ref<LogicalResult()> check) {
  Answer answer;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diag) {
    if (answer.why.empty() && diag.getSeverity() == DiagnosticSeverity::Error)
      answer.why = diag.str();
    return success();
  });
  bool good = succeeded(check());
  answer.verdict = good ? Verdict::Accepts : Verdict::Refuses;
  if (!good && answer.why.empty())
    answer.why = "refused without an error";
  return answer;
}

static LogicalResult runPasses(ModuleOp module, StringRef pipeline) {
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  if (failed(parsePassPipeline(pipeline, manager)))
    return module.emitError("cannot build the pipeline ") << pipeline;
  return manager.run(module);
}

/// A verification pass; not asked if it is not built in.
static Answer askPass(ModuleOp module, StringRef pass, bool onFunctions) {
  if (!PassInfo::lookup(pass))
    return {};
  std::string pipeline =
      onFunctions ? ("func.func(" + pass + ")").str() : pass.str();
  return capture(module.getContext(),
                 [&] { return runPasses(module, pipeline); });
}

OwningOpRef<ModuleOp> test::lowerPlanned(ModuleOp module) {
  OwningOpRef<ModuleOp> lowered(module.clone());
  if (failed(runPasses(*lowered, "layline-lower")))
    return {};
  return lowered;
}

static launch::PlanOp findPlan(ModuleOp module) {
  auto plans = module.getOps<launch::PlanOp>();
  return plans.empty() ? launch::PlanOp() : *plans.begin();
}

/// `text` becomes that of the plan.
static Answer askLoader(launch::PlanOp plan, std::string &text) {
  llvm::raw_string_ostream os(text);
  Answer answer =
      capture(plan.getContext(), [&] { return printPlan(plan, os); });
  if (answer.verdict == Verdict::Refuses)
    return answer;
  if (std::optional<std::string> problem = loadPlanText(text))
    return {Verdict::Refuses, *problem};
  return {Verdict::Accepts, ""};
}

namespace {
/// Where the answer of a net stands.
struct Sheet {
  Answers answers;
  Answer &operator[](Net net) { return answers[static_cast<unsigned>(net)]; }
};
} // namespace

static Answers askOfPlan(ModuleOp module, launch::PlanOp plan,
                         ModuleOp imported) {
  Sheet sheet;
  MLIRContext *context = module.getContext();
  sheet[Net::Types] = capture(context, [&] { return mlir::verify(module); });
  sheet[Net::Launch] = capture(
      context, [&] { return runPasses(module, "launch.plan(launch-verify)"); });
  std::string text;
  sheet[Net::Loader] = askLoader(plan, text);
  if (imported)
    sheet[Net::Exact] = runExactOnPlan(text, imported);
  return sheet.answers;
}

/// Whether all ops are steps of plans.
static bool hasPlan(ModuleOp module) {
  return !module
              .walk([](Operation *op) {
                return isa<grid::PadOp, grid::UnpadOp>(op)
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

Answers test::askAll(ModuleOp module, ModuleOp imported) {
  if (launch::PlanOp plan = findPlan(module))
    return askOfPlan(module, plan, imported);
  Sheet sheet;
  MLIRContext *context = module.getContext();
  sheet[Net::Types] = capture(context, [&] { return mlir::verify(module); });
  sheet[Net::Partitions] = askPass(module, "verify-partitions", false);
  sheet[Net::Coverage] = askPass(module, "verify-coverage", true);
  sheet[Net::Positions] = askPass(module, "verify-positions", true);
  sheet[Net::Sums] = askPass(module, "verify-sums", true);
  sheet[Net::Consumers] = askPass(module, "verify-consumers", true);
  sheet[Net::Order] = askPass(module, "verify-order", false);
  sheet[Net::Equivalence] = askPass(module, "verify-equivalence", false);
  std::optional<std::string> problem = runExact(module);
  sheet[Net::Exact] = {problem ? Verdict::Refuses : Verdict::Accepts,
                       problem.value_or("")};
  if (sheet[Net::Types].verdict != Verdict::Accepts || !hasPlan(module))
    return sheet.answers;
  OwningOpRef<ModuleOp> lowered;
  sheet[Net::Launch] = capture(context, [&] {
    lowered = lowerPlanned(module);
    return success(lowered && succeeded(mlir::verify(*lowered)));
  });
  std::string text;
  if (sheet[Net::Launch].verdict == Verdict::Accepts)
    sheet[Net::Loader] = askLoader(findPlan(*lowered), text);
  return sheet.answers;
}

void test::trustOnly(Answers &answers, const Answers &clean) {
  for (unsigned net = 0; net < kNumNets; ++net)
    if (clean[net].verdict == Verdict::Refuses)
      answers[net] = {};
}

bool test::isCaughtStatically(const Answers &answers) {
  for (unsigned net = 0; net < static_cast<unsigned>(Net::Exact); ++net)
    if (answers[net].verdict == Verdict::Refuses)
      return true;
  return false;
}
