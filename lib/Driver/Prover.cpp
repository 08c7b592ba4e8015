//===- Prover.cpp - the nets, one after another, with a record ------------===//
#include "Prover.h"
#include "dialects/Decoder/Decoder.h"
#include "dialects/Launch/Launch.h"
#include "layline/Driver/Pipelines.h"
#include "layline/Lowering/Passes.h"
#include "layline/Verification/ExactCheck.h"
#include "layline/Verification/ExactPlan.h"
#include "layline/Verification/ExactProgram.h"
#include "layline/Verification/Passes.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "plan/Load.h"
#include "llvm/ADT/SetVector.h"
#include <chrono>

using namespace mlir;
using namespace layline;

namespace {

/// What the nets are about, in numbers.
struct Counts {
  int64_t programs = 0, ops = 0, collectives = 0, sums = 0, positioned = 0,
          attentions = 0;
  llvm::SetVector<Attribute> splits;
};

/// A net as a person knows it.
struct Net {
  const char *name;
  const char *method;
  std::string covers;
  void (*build)(OpPassManager &); ///< null: the verifiers of the ops
};

} // namespace

static double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now() - start)
      .count();
}

static std::string count(int64_t number, const char *one) {
  return std::to_string(number) + " " + one + (number == 1 ? "" : "s");
}

static void countType(Type type, Counts &counts) {
  grid::LayoutAttr layout = grid::getLayout(type);
  if (!layout)
    return;
  for (grid::SplitAttr split : layout.getDims())
    if (split)
      counts.splits.insert(split.withUnit(1));
}

static Counts countAll(ModuleOp module) {
  Counts counts;
  for (func::FuncOp program : findPrograms(module)) {
    ++counts.programs;
    program.walk([&](Operation *op) {
      ++counts.ops;
      counts.collectives += isa<grid::CommEdgeOpInterface>(op);
      counts.positioned += isa<grid::PositionedOpInterface>(op);
      counts.attentions += isa<decoder::AttentionOp>(op);
      for (Value result : op->getResults()) {
        countType(result.getType(), counts);
        grid::LayoutAttr layout = grid::getLayout(result.getType());
        counts.sums += layout && layout.owesAnything();
      }
    });
  }
  return counts;
}

static std::vector<Net> getNets(ModuleOp module) {
  Counts counts = countAll(module);
  std::string programs = " of " + count(counts.programs, "program");
  std::string ops = count(counts.ops, "op") + ", " +
                    count(counts.attentions, "attention") + programs;
  std::vector<Net> nets = {
      {"types", "the verifier of every op: layouts, owed sums, same rows", ops,
       nullptr},
      {"partitions",
       "integer formulas with unknown count and rank (Presburger)",
       count(static_cast<int64_t>(counts.splits.size()), "split") +
           ", every number of tokens",
       [](OpPassManager &m) { m.addPass(createVerifyPartitions()); }},
      {"coverage",
       "partitions by axis, each axis one dimension; keys at their queries",
       ops + ", every number of tokens",
       [](OpPassManager &m) {
         m.addNestedPass<func::FuncOp>(createVerifyCoverage());
       }},
      {"positions", "positions and rows traced to one source, in one layout",
       count(counts.positioned, "reader") + " of positions" + programs,
       [](OpPassManager &m) {
         m.addNestedPass<func::FuncOp>(createVerifyPositions());
       }},
      {"sums", "uses of every owed sum",
       count(counts.sums, "owed sum") + programs,
       [](OpPassManager &m) {
         m.addNestedPass<func::FuncOp>(createVerifySums());
       }},
      {"consumers",
       "dataflow from inputs and weights: what each reader needs and gets",
       "every rewritten value" + programs,
       [](OpPassManager &m) {
         m.addNestedPass<func::FuncOp>(createVerifyConsumers());
       }},
      {"order",
       "one program for all ranks; groups are those that the sums name",
       count(counts.collectives, "collective") + programs,
       [](OpPassManager &m) { m.addPass(createVerifyOrder()); }}};
  if (findReference(module))
    nets.push_back(
        {"equivalence",
         "value numbering over global tensors; holds for all sizes",
         count(counts.ops, "op") + programs + " against the imported program",
         [](OpPassManager &m) { m.addPass(createVerifyEquivalence()); }});
  return nets;
}

void Prover::emitRemarks(ModuleOp module) const {
  for (const ProofRecord &proof : proofs) {
    auto opts = remark::RemarkOpts::name("Proof").category("layline");
    auto emitted = proof.holds ? remark::passed(module.getLoc(), opts)
                               : remark::failed(module.getLoc(), opts);
    emitted << proof.name + ": " + proof.covers + "; " + proof.method;
  }
}

bool Prover::record(ProofRecord proof, llvm::function_ref<bool()> prove) {
  auto start = std::chrono::steady_clock::now();
  proof.holds = prove();
  proof.milliseconds = millisecondsSince(start);
  proofs.push_back(std::move(proof));
  return proofs.back().holds;
}

bool Prover::proveStatic(ModuleOp module, bool all,
                         llvm::function_ref<bool()> consumers) {
  bool good = true;
  for (const Net &net : getNets(module)) {
    if (!good && !all)
      return false;
    good &= record({net.name, net.method, net.covers, false, 0}, [&] {
      if (!net.build)
        return succeeded(mlir::verify(module));
      if (consumers && StringRef(net.name) == "consumers")
        return consumers();
      PassManager manager(module->getContext());
      manager.enableVerifier(false);
      net.build(manager);
      return succeeded(manager.run(module));
    });
  }
  return good;
}

bool Prover::proveLaunch(ModuleOp module) {
  return record({"launch",
                 "steps in happens-before order: every read finds its value, "
                 "collectives of a group one after another",
                 "the launch plan", false, 0},
                [&] {
                  PassManager manager(module->getContext());
                  manager.enableVerifier(false);
                  manager.addNestedPass<launch::PlanOp>(createLaunchVerify());
                  return succeeded(mlir::verify(module)) &&
                         succeeded(manager.run(module));
                });
}

bool Prover::addPrograms(ModuleOp module) {
  func::FuncOp imported = findReference(module);
  if (!imported) {
    module.emitError("has no reference program to compare with");
    return false;
  }
  FailureOr<exact::Program> expected = buildExactProgram(imported, {});
  if (failed(expected))
    return false;
  reference = std::move(*expected);
  checker = makeChecker();
  for (func::FuncOp function : findPrograms(module)) {
    FailureOr<exact::Program> program =
        buildExactProgram(function, grid::lookupMesh(module));
    if (failed(program))
      return false;
    checker->addProgram(std::move(*program),
                        "program " + function.getSymName().str());
    ++programs;
  }
  if (programs)
    running = std::async(std::launch::async, [this] {
      auto start = std::chrono::steady_clock::now();
      std::vector<exact::Mismatch> mismatches = checker->check();
      return std::make_pair(std::move(mismatches), millisecondsSince(start));
    });
  return true;
}

void Prover::wait() {
  if (running.valid())
    running.wait();
}

static ProofRecord describeLoader() {
  return {"loader",
          "the engine's checks of the file: schema, references, ranges, "
          "contracts of steps, lifetimes, order",
          "plan.json", false, 0};
}

ProofRecord Prover::describeExact(size_t variants) const {
  std::string covers;
  if (programs)
    covers += count(static_cast<int64_t>(programs), "planned program");
  if (variants)
    covers += (programs ? " and " : "") +
              count(static_cast<int64_t>(variants), "variant") +
              " of plan.json";
  covers += ", all ranks against the imported program on one device";
  return {"exact", "run over the prime field 2^61-1, no tolerance", covers,
          false, 0};
}

std::string Prover::getFinalDigest(size_t variants) const {
  std::vector<ProofRecord> all = proofs;
  all.push_back(describeLoader());
  all.push_back(describeExact(variants));
  all[all.size() - 2].holds = all.back().holds = true;
  return getProofDigest(all);
}

void Prover::addPlan(std::string text, std::string name) {
  plan.emplace(std::move(text), std::move(name));
}

namespace {
/// A plan as its reader found it.
struct CheckedPlan {
  runtime::LoadedPlan loaded;
  double milliseconds = 0;
};
} // namespace

static std::unique_ptr<CheckedPlan> checkPlan(const std::string &text,
                                              const std::string &name) {
  auto start = std::chrono::steady_clock::now();
  auto plan = std::make_unique<CheckedPlan>();
  plan->loaded = runtime::loadPlan(text, name);
  plan->milliseconds = millisecondsSince(start);
  return plan;
}

std::unique_ptr<exact::Checker> Prover::makeChecker() const {
  exact::CheckerOptions options;
  options.memos = memos;
  return std::make_unique<exact::Checker>(*reference, std::move(options));
}

bool Prover::proveTaken(
    llvm::function_ref<void(const std::string &)> emitError) {
  std::future<std::unique_ptr<CheckedPlan>> loading;
  if (plan)
    loading = std::async(std::launch::async, [this] {
      return checkPlan(plan->first, plan->second);
    });

  std::vector<exact::Mismatch> mismatches;
  double milliseconds = 0;
  if (running.valid())
    std::tie(mismatches, milliseconds) = running.get();
  bool good = true;
  size_t variants = 0;
  if (plan) {
    std::unique_ptr<CheckedPlan> checked = loading.get();
    for (const std::string &finding : checked->loaded.findings)
      emitError(finding);
    good = checked->loaded.findings.empty();
    ProofRecord loader = describeLoader();
    loader.holds = good;
    loader.milliseconds = checked->milliseconds;
    proofs.push_back(std::move(loader));
    if (good && reference) {
      // The plan's variants are the programs, so their work is done already.
      auto start = std::chrono::steady_clock::now();
      std::unique_ptr<exact::Checker> planChecker = makeChecker();
      const runtime::Plan &loaded = checked->loaded.plan;
      for (const runtime::Variant &variant : loaded.variants)
        planChecker->addProgram(buildExactProgram(loaded, variant),
                                "variant " + variant.id + " of plan.json");
      variants = loaded.variants.size();
      llvm::append_range(mismatches, planChecker->check());
      milliseconds += millisecondsSince(start);
    }
  }
  if (!reference || programs + variants == 0)
    return good;
  for (const exact::Mismatch &mismatch : mismatches)
    emitError(mismatch.program + ": " + mismatch.text);
  ProofRecord exact = describeExact(variants);
  exact.holds = mismatches.empty();
  exact.milliseconds = milliseconds;
  proofs.push_back(std::move(exact));
  return good && mismatches.empty();
}
