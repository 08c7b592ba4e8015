//===- VerifyExact.cpp - planned programs run as the imported one ---------===//
#include "dialects/Decoder/Decoder.h"
#include "layline/Verification/ExactCheck.h"
#include "layline/Verification/ExactProgram.h"
#include "layline/Verification/Passes.h"

namespace layline {
#define GEN_PASS_DEF_VERIFYEXACT
#include "lib/Verification/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;

/// Planning's mark of a variant.
static constexpr llvm::StringLiteral kTokens = "grid.tokens";

func::FuncOp layline::findReference(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() &&
        function->hasAttr(decoder::DecoderDialect::kReference))
      return function;
  return {};
}

SmallVector<func::FuncOp> layline::findPrograms(ModuleOp module) {
  SmallVector<func::FuncOp> variants, others;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() ||
        function->hasAttr(decoder::DecoderDialect::kReference))
      continue;
    (function->hasAttr(kTokens) ? variants : others).push_back(function);
  }
  return variants.empty() ? others : variants;
}

FailureOr<std::vector<exact::Mismatch>>
layline::checkExact(ModuleOp module, exact::CheckerOptions options,
                    exact::Statistics *statistics) {
  func::FuncOp reference = findReference(module);
  if (!reference)
    return module.emitError("has no reference program (attribute '")
           << decoder::DecoderDialect::kReference << "') to compare with";
  FailureOr<exact::Program> expected = buildExactProgram(reference, {});
  if (failed(expected))
    return failure();
  exact::Checker checker(std::move(*expected), std::move(options));
  for (func::FuncOp function : findPrograms(module)) {
    FailureOr<exact::Program> program =
        buildExactProgram(function, grid::lookupMesh(module));
    if (failed(program))
      return failure();
    checker.addProgram(std::move(*program), function.getSymName().str());
  }
  std::vector<exact::Mismatch> mismatches = checker.check();
  if (statistics)
    *statistics = checker.getStatistics();
  return mismatches;
}

namespace {
struct VerifyExact : layline::impl::VerifyExactBase<VerifyExact> {
  using VerifyExactBase::VerifyExactBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<std::vector<exact::Mismatch>> mismatches = checkExact(module);
    if (failed(mismatches))
      return signalPassFailure();
    for (const exact::Mismatch &mismatch : *mismatches) {
      auto function = module.lookupSymbol<func::FuncOp>(mismatch.program);
      function.emitError() << mismatch.text;
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
