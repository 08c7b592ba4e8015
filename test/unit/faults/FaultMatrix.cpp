//===- FaultMatrix.cpp - which net catches which fault --------------------===//
//
// Golden and public models and small programs, planned in several ways; every
// kind of fault at its first, middle and last place; every net asked by itself.
// With --update writes docs/generated/faults.md, otherwise compares it.
//
// --layers N|all takes that many layers of the public models in place of two,
// --places last only the last place of a kind; then there is no page.
//
//===----------------------------------------------------------------------===//
#include "Tally.h"
#include "layline/Import/HFConfig.h"
#include "layline/Verification/ExactCheck.h"
#include "mlir/Parser/Parser.h"
#include "test/lib/RandomPrograms/RandomPrograms.h"
#include <iostream>
#include <limits>
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

struct Options {
  bool update = false;
  bool onlyLastPlace = false;
  int64_t layers = 2; ///< at most, of the public models

  /// What the page is of.
  bool isDefault() const { return layers == 2 && !onlyLastPlace; }
};

class Matrix {
public:
  explicit Matrix(bool onlyLastPlace)
      : context(makeContext()), onlyLastPlace(onlyLastPlace) {}

  bool addModel(const std::string &name, const std::string &path,
                int64_t mostLayers);
  /// With whole experts on each rank, and rows dispatched to them.
  bool addExpertParallel(const std::string &name, const std::string &path,
                         int64_t mostLayers);
  /// A program of test/unit/faults/Inputs, placed in several ways unless it is
  /// planned by hand.
  bool addFile(const std::string &name);
  void run();
  std::string page() const;
  bool report() const;

private:
  bool addProgram(const std::string &model, const DecoderConfig &config,
                  const PlanChoice &plan);
  bool addPlanned(const std::string &name, OwningOpRef<ModuleOp> planned);
  void addSubject(std::string name, OwningOpRef<ModuleOp> module,
                  ModuleOp imported = {});
  void plant(const Subject &subject, const FaultKind &kind);

  std::unique_ptr<MLIRContext> context;
  bool onlyLastPlace;
  std::vector<std::string> models, expertParallel, files;
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

static std::string describe(const std::string &model, const PlanChoice &plan) {
  return model + " tp " + std::to_string(plan.tp) + " cp " +
         std::to_string(plan.cp) + " " + plan.boundaries;
}

bool Matrix::addProgram(const std::string &model, const DecoderConfig &config,
                        const PlanChoice &plan) {
  return addPlanned(describe(model, plan),
                    buildPlanned(config, plan, *context));
}

bool Matrix::addPlanned(const std::string &name,
                        OwningOpRef<ModuleOp> planned) {
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

/// Each mesh (tp, cp), with boundaries by rows and whole.
static std::vector<PlanChoice>
listPlans(std::initializer_list<std::pair<int64_t, int64_t>> meshes) {
  std::vector<PlanChoice> plans;
  for (auto [tp, cp] : meshes)
    for (const char *boundaries : {"rows", "whole"}) {
      PlanChoice &plan = plans.emplace_back();
      plan.tp = tp;
      plan.cp = cp;
      plan.boundaries = boundaries;
      plan.maxTokens = 8192;
    }
  return plans;
}

/// Layers repeat: two have a first, a last and what passes between them.
static std::optional<DecoderConfig> readConfig(const std::string &path,
                                               int64_t mostLayers) {
  llvm::Expected<DecoderConfig> config = readHFConfig(path);
  if (!config) {
    std::cerr << llvm::toString(config.takeError()) << "\n";
    return std::nullopt;
  }
  config->layers = std::min(config->layers, mostLayers);
  config->perLayer.resize(config->layers);
  return std::move(*config);
}

bool Matrix::addModel(const std::string &name, const std::string &path,
                      int64_t mostLayers) {
  std::optional<DecoderConfig> config = readConfig(path, mostLayers);
  if (!config)
    return false;
  models.push_back(name);
  bool good = true;
  for (const PlanChoice &plan : listPlans({{8, 1}, {4, 2}}))
    good &= addProgram(name, *config, plan);
  // Two variants.
  PlanChoice both;
  both.tp = 2;
  both.boundaries = "whole:63,rows";
  both.maxTokens = 8192;
  if (models.size() == 1)
    good &= addProgram(name, *config, both);
  return good;
}

bool Matrix::addExpertParallel(const std::string &name, const std::string &path,
                               int64_t mostLayers) {
  std::optional<DecoderConfig> config = readConfig(path, mostLayers);
  if (!config)
    return false;
  expertParallel.push_back(name);
  bool good = true;
  for (PlanChoice plan : listPlans({{4, 1}, {2, 2}})) {
    plan.expertParallel = true;
    bool isDispatched = plan.boundaries == "rows";
    plan.experts = isDispatched ? "dispatched" : "gathered";
    good &= addPlanned(describe(name, plan) + " ep " + std::to_string(plan.tp),
                       buildPlanned(*config, plan, *context));
  }
  return good;
}

bool Matrix::addFile(const std::string &name) {
  const std::string path =
      LAYLINE_SOURCE_DIR "/test/unit/faults/Inputs/" + name + ".mlir";
  files.push_back(name);
  OwningOpRef<ModuleOp> read = parseSourceFile<ModuleOp>(path, context.get());
  if (!read)
    return false;
  if (findReference(*read))
    return addPlanned(name, std::move(read));
  bool good = true;
  for (const PlanChoice &plan : listPlans({{4, 1}, {2, 2}})) {
    OwningOpRef<ModuleOp> module(read->clone());
    if (failed(placeAndPlan(*module, plan)))
      module = {};
    good &= addPlanned(describe(name, plan), std::move(module));
  }
  return good;
}

void Matrix::plant(const Subject &subject, const FaultKind &kind) {
  ModuleOp module = *subject.module;
  unsigned count = countFaultPlaces(module, kind);
  if (count == 0)
    return;
  std::set<unsigned> places = {count - 1};
  if (!onlyLastPlace)
    places.insert({0, count / 2});
  for (unsigned place : places) {
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
        "variants.\n\nWith "
        "whole experts on each rank of tp: ";
  for (size_t i = 0; i < expertParallel.size(); ++i)
    os << (i ? ", " : "") << expertParallel[i];
  os << "; at tp 4, and at tp 2 x cp 2, with rows dispatched to them and with "
        "all rows on every rank.\n\nPrograms of test/unit/faults/Inputs, for "
        "kinds that "
        "these models have no place for: ";
  for (size_t i = 0; i < files.size(); ++i)
    os << (i ? ", " : "") << files[i];
  os << "; those that are not planned by hand at tp 4, and at tp 2 x cp 2, "
        "with boundaries by rows and whole. Programs with padding have no "
        "plan.\n\nEach kind of fault is planted at its first, "
        "middle and last place of each program and each net is asked by "
        "itself. A cell says how many were caught of those that the net was "
        "asked for; an empty one: not asked.\n\n"
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

/// What is not understood is none of these: nothing is run.
static std::optional<Options> parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    StringRef option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--update") {
      options.update = true;
    } else if (option == "--places" && value == "last") {
      options.onlyLastPlace = true;
      ++i;
    } else if (option == "--layers" && value == "all") {
      options.layers = std::numeric_limits<int64_t>::max();
      ++i;
    } else if (option == "--layers" &&
               !value.getAsInteger(10, options.layers) && options.layers > 0) {
      ++i;
    } else {
      return std::nullopt;
    }
  }
  if (options.update && !options.isDefault())
    return std::nullopt;
  return options;
}

int main(int argc, char **argv) {
  std::optional<Options> options = parse(argc, argv);
  if (!options) {
    std::cerr << "usage: layline-fault-matrix [--update | [--layers N|all] "
                 "[--places last]]\n";
    return 2;
  }
  const std::string source = LAYLINE_SOURCE_DIR;
  Matrix matrix(options->onlyLastPlace);
  bool good = true;
  for (const char *model :
       {"llama", "qwen2", "qwen3", "qwen3_moe", "phi3", "gemma2", "cohere",
        "gpt_neox", "olmo2", "glm4_moe", "deepseek_v3", "deepseek_v32"})
    good &= matrix.addModel(
        model, source + "/test/golden/" + model + "/config.json", 2);
  for (const char *model : {"qwen3-30b-a3b", "llama-3.1-70b"})
    good &= matrix.addModel(model, source + "/data/models/" + model + ".json",
                            options->layers);
  good &= matrix.addExpertParallel(
      "glm4_moe", source + "/test/golden/glm4_moe/config.json", 2);
  good &= matrix.addExpertParallel("qwen3-30b-a3b",
                                   source + "/data/models/qwen3-30b-a3b.json",
                                   options->layers);
  for (const char *file : {"scales-biases-windows", "router-broadcast",
                           "wide-key-norm", "padded-heads", "padded-head-norm",
                           "quantized-rows", "quantized-gather"})
    good &= matrix.addFile(file);
  matrix.run();
  good &= matrix.report();
  if (options->isDefault())
    good &= checkPage(source + "/docs/generated/faults.md", matrix.page(),
                      options->update);
  return good ? 0 : 1;
}
