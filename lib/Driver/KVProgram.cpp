//===- KVProgram.cpp - a migration as IR ----------------------------------===//
#include "layline/Driver/KVProgram.h"
#include "dialects/KV/KV.h"
#include "dialects/KV/PlanConversion.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

std::optional<std::string> layline::printMigration(const kv::Plan &plan,
                                                   std::string &error) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<kv::ir::KVDialect>();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
    if (error.empty())
      error = diag.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = kv::emitMigration(&context, plan, error);
  if (!module || failed(verify(*module)))
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  os << "\n";
  return text;
}
