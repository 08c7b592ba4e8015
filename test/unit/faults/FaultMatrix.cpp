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

/// A planned program, and its plan if it can be lowered.
struct Subject {
  std::string name;
  OwningOpRef<ModuleOp> planned, plan;
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
  bool addSubject(const std::string &model, const DecoderConfig &config,
                  const PlanChoice &plan);
  void checkClean(ModuleOp module, const std::string &name);
  void plant(ModuleOp module, const FaultKind &kind, const std::string &name);

  std::unique_ptr<MLIRContext> context;
  std::vector<std::string> models;
  std::vector<Subject> subjects;
  Tally tally;
  /// Nets that refuse a program without a fault, and why.
  std::set<std::string> gaps;
};

} // namespace

void Matrix::checkClean(ModuleOp module, const std::string &name) {
  Answers answers = askAll(module);
  for (unsigned net = 0; net < kNumNets; ++net)
    if (answers[net].verdict == Verdict::Refuses)
      gaps.insert(name + ": " + kNetNames[net] + ": " + answers[net].why);
}

bool Matrix::addSubject(const std::string &model, const DecoderConfig &config,
                        const PlanChoice &plan) {
  Subject subject;
  subject.name = model + " tp " + std::to_string(plan.tp) + " cp " +
                 std::to_string(plan.cp) + " " + plan.boundaries;
  subject.planned = buildPlanned(config, plan, *context);
  if (!subject.planned) {
    std::cerr << subject.name << " cannot be planned\n";
    return false;
  }
  checkClean(*subject.planned, subject.name);
  {
    ScopedDiagnosticHandler quiet(context.get(),
                                  [](Diagnostic &) { return success(); });
    subject.plan = lowerPlanned(*subject.planned);
  }
  if (subject.plan)
    checkClean(*subject.plan, subject.name + ", plan");
  subjects.push_back(std::move(subject));
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
      good &= addSubject(name, config, plan);
    }
  // Two variants.
  PlanChoice both;
  both.tp = 2;
  both.rowsFrom = 64;
  both.maxTokens = 8192;
  if (models.size() == 1)
    good &= addSubject(name, config, both);
  return good;
}

void Matrix::plant(ModuleOp module, const FaultKind &kind,
                   const std::string &name) {
  unsigned count = countFaultPlaces(module, kind);
  if (count == 0)
    return;
  for (unsigned place : std::set<unsigned>{0, count / 2, count - 1}) {
    OwningOpRef<ModuleOp> broken(module.clone());
    if (failed(injectFault(*broken, kind, place)))
      continue;
    tally.add({&kind, place, name}, askAll(*broken));
  }
}

void Matrix::run() {
  for (Subject &subject : subjects)
    for (const FaultKind &kind : allFaultKinds()) {
      plant(*subject.planned, kind, subject.name);
      if (subject.plan)
        plant(*subject.plan, kind, subject.name + ", plan");
    }
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
        "`equivalence` and `launch` refuse the cast as such, which says "
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
