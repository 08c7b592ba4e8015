//===- Verifier.cpp - all nets over what a person edited ------------------===//
#include "layline/Driver/Verifier.h"
#include "DiagnosticLog.h"
#include "Prover.h"
#include "dialects/Decoder/Decoder.h"
#include "dialects/Launch/Launch.h"
#include "layline/Driver/Pipelines.h"
#include "layline/Import/Activations.h"
#include "layline/Import/EmitDecoder.h"
#include "layline/Import/HFConfig.h"
#include "layline/Lowering/Passes.h"
#include "layline/Target/PlanJSON.h"
#include "layline/Verification/ExactCheck.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace layline;

namespace {

/// One verification: the context, and what is said on the way.
class Verifier {
public:
  Verifier(Verification &result, const std::string &activations)
      : result(result), activations(activations) {
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  void verifyFile(const std::string &file, const std::string &against,
                  bool exact);
  void verifyText(const std::string &text, const std::string &name,
                  const std::string &against);

private:
  OwningOpRef<ModuleOp> readModule(const std::string &path);
  OwningOpRef<ModuleOp> readConfig(const std::string &path);
  bool addReference(ModuleOp module, const std::string &against);
  bool verifyPlans(ModuleOp module, const std::string &name, Prover &prover);
  bool malformed(const Twine &message) {
    result.status = CompileStatus::Malformed;
    result.messages += message.str() + "\n";
    return false;
  }
  auto reporter() {
    return [this](const std::string &message) {
      result.messages += message + "\n";
    };
  }

  Verification &result;
  std::string activations; ///< of a config that is compared with
  DialectRegistry registry;
  MLIRContext context;
};

} // namespace

/// The verifiers of the ops do not run: they are a net of their own.
OwningOpRef<ModuleOp> Verifier::readModule(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    malformed(path + ": " + buffer.getError().message());
    return {};
  }
  DiagnosticLog log(context, llvm::sys::path::filename(path).str(),
                    result.messages);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), {});
  return parseSourceFile<ModuleOp>(
      sources, ParserConfig(&context, /*verifyAfterParse=*/false));
}

OwningOpRef<ModuleOp> Verifier::readConfig(const std::string &path) {
  llvm::Expected<DecoderConfig> config = readHFConfig(path);
  if (!config) {
    malformed(llvm::toString(config.takeError()));
    return {};
  }
  if (llvm::Error error = quantizeActivations(*config, activations)) {
    malformed(path + ": --activations: " + llvm::toString(std::move(error)));
    return {};
  }
  return emitDecoder(*config, {llvm::sys::path::filename(path).str(), ""},
                     context);
}

/// The one program of a module that has not been placed, or its reference.
static func::FuncOp findDecoder(ModuleOp module) {
  if (func::FuncOp reference = findReference(module))
    return reference;
  func::FuncOp found;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (found)
      return {};
    found = function;
  }
  bool isPlaced =
      found && llvm::any_of(found.getArgumentTypes(), [](Type type) {
        return static_cast<bool>(grid::getLayout(type));
      });
  return isPlaced ? func::FuncOp() : found;
}

/// The program of `against` becomes the module's reference.
bool Verifier::addReference(ModuleOp module, const std::string &against) {
  OwningOpRef<ModuleOp> other = StringRef(against).ends_with(".mlir")
                                    ? readModule(against)
                                    : readConfig(against);
  if (!other)
    return false;
  func::FuncOp decoder = findDecoder(*other);
  if (!decoder)
    return malformed(against +
                     ": found no decoder to compare with, expected "
                     "one program that has not been placed, or one "
                     "with the attribute " +
                     decoder::DecoderDialect::kReference.str());
  if (func::FuncOp reference = findReference(module))
    reference.erase();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto copy = cast<func::FuncOp>(builder.clone(*decoder));
  copy.setPrivate();
  copy->setAttr(decoder::DecoderDialect::kReference, builder.getUnitAttr());
  SymbolTable(module).insert(copy);
  return true;
}

/// Launch plans in the module: the launch verifier, then as their JSON.
bool Verifier::verifyPlans(ModuleOp module, const std::string &name,
                           Prover &prover) {
  bool good = true;
  for (auto plan : module.getOps<launch::PlanOp>()) {
    good &= prover.proveLaunch(module);
    std::string text;
    llvm::raw_string_ostream os(text);
    if (failed(printPlan(plan, os)))
      good = false;
    else
      prover.addPlan(text, name);
  }
  return good;
}

void Verifier::verifyFile(const std::string &file, const std::string &against,
                          bool exact) {
  OwningOpRef<ModuleOp> module = readModule(file);
  if (!module)
    return;
  bool hasPlan = !module->getOps<launch::PlanOp>().empty();
  if (findPrograms(*module).empty() && !hasPlan) {
    malformed(file + ": found no program, expected functions or a launch plan "
                     "as `layline compile --dump-ir` writes them");
    return;
  }
  if (!against.empty() && !addReference(*module, against))
    return;
  DiagnosticLog log(context, llvm::sys::path::filename(file).str(),
                    result.messages);
  Prover prover(result.proofs);
  bool hasReference = static_cast<bool>(findReference(*module));
  exact |= !against.empty();
  if (exact && !hasReference) {
    malformed(file + ": holds no reference program to compare with; give "
                     "--against config.json or decoder.mlir");
    return;
  }
  bool good = true;
  if (!findPrograms(*module).empty())
    good = prover.proveStatic(*module, /*all=*/true);
  if (exact)
    good &= prover.addPrograms(*module);
  if (hasPlan)
    good &= verifyPlans(*module, file, prover);
  good &= prover.proveTaken(reporter());
  result.status = good ? CompileStatus::Good : CompileStatus::Refused;
}

void Verifier::verifyText(const std::string &text, const std::string &name,
                          const std::string &against) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  if (!addReference(*module, against))
    return;
  DiagnosticLog log(context, llvm::sys::path::filename(against).str(),
                    result.messages);
  Prover prover(result.proofs);
  prover.addPlan(text, name);
  bool good = prover.addPrograms(*module) && prover.proveTaken(reporter());
  result.status = good ? CompileStatus::Good : CompileStatus::Refused;
}

Verification layline::verifyProgram(const std::string &file,
                                    const std::string &against, bool exact,
                                    const std::string &activations) {
  Verification result;
  Verifier(result, activations).verifyFile(file, against, exact);
  return result;
}

Verification layline::verifyPlan(const std::string &text,
                                 const std::string &name,
                                 const std::string &against,
                                 const std::string &activations) {
  Verification result;
  Verifier(result, activations).verifyText(text, name, against);
  return result;
}
