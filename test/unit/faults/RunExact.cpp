//===- RunExact.cpp - the exact check as a net ----------------------------===//
#include "Nets.h"
#include "layline/Verification/ExactCheck.h"
#include "layline/Verification/ExactPlan.h"
#include "layline/Verification/ExactProgram.h"
#include "mlir/IR/Diagnostics.h"
#include "plan/Load.h"

using namespace mlir;
using namespace layline;
using namespace layline::test;

static exact::CheckerOptions getOptions() {
  exact::CheckerOptions options;
  // Programs are small: threads would cost more than they save.
  options.threads = 1;
  return options;
}

std::optional<std::string> test::runExact(ModuleOp module) {
  std::string error;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diag) {
    if (error.empty())
      error = diag.str();
    return success();
  });
  FailureOr<std::vector<exact::Mismatch>> found =
      checkExact(module, getOptions());
  if (failed(found))
    return error.empty() ? "cannot be run" : error;
  if (found->empty())
    return std::nullopt;
  return found->front().text;
}

Answer test::runExactOnPlan(const std::string &text, ModuleOp imported) {
  func::FuncOp reference = findReference(imported);
  runtime::LoadedPlan loaded = runtime::loadPlan(text, "plan.json");
  if (!reference || !loaded.findings.empty())
    return {};
  FailureOr<exact::Program> expected = buildExactProgram(reference, {});
  if (failed(expected))
    return {};
  exact::Checker checker(std::move(*expected), getOptions());
  for (const runtime::Variant &variant : loaded.plan.variants)
    checker.addProgram(buildExactProgram(loaded.plan, variant), variant.id);
  std::vector<exact::Mismatch> found = checker.check();
  if (found.empty())
    return {Verdict::Accepts, ""};
  return {Verdict::Refuses, found.front().text};
}
