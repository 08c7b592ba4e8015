//===- FaultMatrix.cpp - which net catches which fault --------------------===//
//
// Golden and public models, planned in several ways; every kind of fault at its
// first, middle and last place; every net asked by itself. With --update writes
// docs/generated/faults.md, otherwise compares it.
//
//===----------------------------------------------------------------------===//
#include "Tally.h"
#include "layline/Import/HFConfig.h"
#include "test/lib/RandomPrograms/RandomPrograms.h"
#include <iostream>
#include <set>
#include <sstream>

using namespace mlir;
using namespace layline;
using namespace layline::test;

namespace {

/// A planned program or a plan, and what the nets say of it without a fault.
struct Subject {
  std::string name;
  OwningOpRef<ModuleOp> module;
  Answers clean;
  ModuleOp imported; ///< of a plan: what it was lowered from
};

class Matrix {
public:
  Matrix() : context(makeContext()) {}

  bool addModel(const std::string &name, const std::string &path,
                int64_t mostLayers);
  void run();
  std::string page() const;
  bool report() const;

private:
  bool addProgram(const std::string &model, const DecoderConfig &config,
                  const PlanChoice &plan);
  void addSubject(std::string name, OwningOpRef<ModuleOp> module,
                  ModuleOp imported = {});
  void plant(const Subject &subject, const FaultKind &kind);

  std::unique_ptr<MLIRContext> context;
  std::vector<std::string> models;
  std::vector<Subject> subjects;
  Tally tally;
  /// Nets that refuse a program without a fault, and why.
  std::set<std::string> gaps;
};

} // namespace

void Matrix::addSubject(std::string name, OwningOpRef<ModuleOp> module,
                        ModuleOp imported) {
  Answers clean = askAll(*module, imported);
  for (unsigned net = 0; net < kNumNets; ++net)
    if (clean[net].verdict == Verdict::Refuses)
      gaps.insert(name + ": " + kNetNames[net] + ": " + clean[net].why);
  subjects.push_back(
      {std::move(name), std::move(module), std::move(clean), imported});
}

bool Matrix::addProgram(const std::string &model, const DecoderConfig &config,
                        const PlanChoice &plan) {
  std::string name = model + " tp " + std::to_string(plan.tp) + " cp " +
                     std::to_string(plan.cp) + " " + plan.boundaries;
  OwningOpRef<ModuleOp> planned = buildPlanned(config, plan, *context);
  if (!planned) {
    std::cerr << name << " cannot be planned\n";
    return false;
  }
  OwningOpRef<ModuleOp> lowered;
  {
    ScopedDiagnosticHandler quiet(context.get(),
                                  [](Diagnostic &) { return success(); });
    lowered = lowerPlanned(*planned);
  }
  ModuleOp imported = *planned;
  addSubject(name, std::move(planned));
  if (lowered)
    addSubject(name + ", plan", std::move(lowered), imported);
  return true;
}

bool Matrix::addModel(const std::string &name, const std::string &path,
                      int64_t mostLayers) {
  llvm::Expected<DecoderConfig> read = readHFConfig(path);
  if (!read) {
    std::cerr << llvm::toString(read.takeError()) << "\n";
    return false;
  }
  DecoderConfig config = std::move(*read);
  // Layers repeat: two have a first, a last and what passes between them.
  config.layers = std::min(config.layers, mostLayers);
  config.perLayer.resize(config.layers);
  models.push_back(name);
  bool good = true;
  for (auto [tp, cp] : {std::pair(8, 1), {4, 2}})
    for (const char *boundaries : {"rows", "whole"}) {
      PlanChoice plan;
      plan.tp = tp;
      plan.cp = cp;
      plan.boundaries = boundaries;
      plan.maxTokens = 8192;
      good &= addProgram(name, config, plan);
    }
  // Two variants.
  PlanChoice both;
  both.tp = 2;
  both.rowsFrom = 64;
  both.maxTokens = 8192;
  if (models.size() == 1)
    good &= addProgram(name, config, both);
  return good;
}

void Matrix::plant(const Subject &subject, const FaultKind &kind) {
  ModuleOp module = *subject.module;
  unsigned count = countFaultPlaces(module, kind);
  if (count == 0)
    return;
  for (unsigned place : std::set<unsigned>{0, count / 2, count - 1}) {
    OwningOpRef<ModuleOp> broken(module.clone());
    if (failed(injectFault(*broken, kind, place)))
      continue;
    Answers answers = askAll(*broken, subject.imported);
    trustOnly(answers, subject.clean);
    tally.add({&kind, place, subject.name}, answers);
  }
}

void Matrix::run() {
  for (const Subject &subject : subjects)
    for (const FaultKind &kind : allFaultKinds())
      plant(subject, kind);
}

std::string Matrix::page() const {
  std::ostringstream os;
  os << "<!-- Written by test/unit/faults/FaultMatrix.cpp; do not edit. -->\n"
     << "# Which net catches which fault\n\n"
     << "Models: ";
  for (size_t i = 0; i < models.size(); ++i)
    os << (i ? ", " : "") << models[i];
  os << "; two layers of each, at tp 8, and at tp 4 x cp 2 (zigzag), with "
        "boundaries by rows and whole; the first also at tp 2 with two "
        "variants. Each kind of fault is planted at its first, middle and last "
        "place of each program and each net is asked by itself. A cell says "
        "how "
        "many were caught of those that the net was asked for; an empty one: "
        "not asked.\n\n"
        "Faults marked (cast) are data taken for something else where no op "
        "could say so. They are planted as a cast that no rule knows: "
        "`positions`, `consumers`, `equivalence` and `launch` refuse the cast "
        "as such, "
        "which says "
        "nothing "
        "of how they would see the fault in a compiler or an engine. For "
        "these, "
        "only the other columns count.\n\n";
  tally.print(os);
  os << "\n" << tally.planted() << " faults in all.\n\n";
  auto list = [&](const char *title, const auto &lines) {
    os << "## " << title << "\n\n";
    if (lines.empty())
      os << "None.\n";
    for (const std::string &line : lines)
      os << "* " << line << "\n";
    os << "\n";
  };
  list("Not caught by any net", tally.uncaught());
  list("Nets that refuse a program without a fault", gaps);
  os << "## What the faults are\n\n";
  for (const FaultKind &kind : allFaultKinds())
    os << "* " << kind.name.str() << ": " << kind.summary.str() << "\n";
  return os.str();
}

bool Matrix::report() const {
  tally.print(std::cout);
  for (const std::string &gap : gaps)
    std::cerr << "refused without a fault: " << gap << "\n";
  for (const std::string &fault : tally.uncaught())
    std::cerr << "not caught by any net: " << fault << "\n";
  for (const std::string &fault : tally.unseenByExact())
    std::cerr << "changes a value, but not for the exact check: " << fault
              << "\n";
  return tally.uncaught().empty() && tally.unseenByExact().empty();
}

int main(int argc, char **argv) {
  bool update = argc > 1 && std::string(argv[1]) == "--update";
  const std::string source = LAYLINE_SOURCE_DIR;
  Matrix matrix;
  bool good = true;
  for (const char *model : {"llama", "qwen2", "qwen3", "qwen3_moe", "phi3"})
    good &= matrix.addModel(
        model, source + "/test/golden/" + model + "/config.json", 2);
  for (const char *model : {"qwen3-30b-a3b", "llama-3.1-70b"})
    good &=
        matrix.addModel(model, source + "/data/models/" + model + ".json", 2);
  matrix.run();
  good &= matrix.report();
  good &=
      checkPage(source + "/docs/generated/faults.md", matrix.page(), update);
  return good ? 0 : 1;
}
