//===- CheckProgram.cpp - nets over a program that compile has dumped -----===//
#include "layline/Driver/CheckProgram.h"
#include "layline/Driver/Pipelines.h"
#include "layline/Verification/Consumers.h"
#include "layline/Verification/ExactCheck.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace layline;

/// Reads a module without the verifiers of its ops.
static OwningOpRef<ModuleOp>
readModule(const std::string &path, MLIRContext &context, ProgramCheck &check) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    check.messages = path + ": " + buffer.getError().message() + "\n";
    return {};
  }
  llvm::raw_string_ostream os(check.messages);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), {});
  SourceMgrDiagnosticHandler handler(sources, &context, os);
  return parseSourceFile<ModuleOp>(
      sources, ParserConfig(&context, /*verifyAfterParse=*/false));
}

ProgramCheck layline::checkConsumers(const std::string &path, bool json) {
  ProgramCheck check;
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = readModule(path, context, check);
  if (!module)
    return check;
  check.isReadable = check.isFed = true;
  llvm::raw_string_ostream os(check.report);
  bool first = true;
  for (func::FuncOp function : findPrograms(*module)) {
    ConsumerReport report = analyzeConsumers(function, /*words=*/true);
    check.isFed &= report.isFed();
    if (json) {
      os << (first ? "{\"schema\": \"layline.consumers\", \"version\": "
                     "{\"major\": 1, \"minor\": 0},\n\"programs\": [\n"
                   : ",\n");
      printConsumersJSON(report, os);
    } else {
      os << (first ? "" : "\n");
      printConsumers(report, os);
    }
    first = false;
  }
  if (first) {
    check.isReadable = false;
    check.messages += path + ": found no program, expected functions as "
                             "`layline compile --dump-ir` writes them\n";
  } else if (json) {
    os << "\n]}\n";
  }
  return check;
}
