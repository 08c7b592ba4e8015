//===- Prover.h - the nets, one after another, with a record ----*- C++ -*-===//
#ifndef LAYLINE_LIB_DRIVER_PROVER_H
#define LAYLINE_LIB_DRIVER_PROVER_H

#include "layline/Driver/Proofs.h"
#include "layline/Exact/Checker.h"
#include "mlir/IR/BuiltinOps.h"
#include <future>

namespace layline {

/// Makes the proofs about the programs of a module, and about the plan that
/// they become. Each is recorded, whether it holds or not; what is wrong is
/// emitted as a diagnostic.
class Prover {
public:
  explicit Prover(std::vector<ProofRecord> &proofs) : proofs(proofs) {}

  /// A remark for each proof of the category "layline", where a person asks for
  /// remarks.
  void emitRemarks(mlir::ModuleOp module) const;

  /// The static nets: types, partitions, coverage, positions, sums, consumers,
  /// order, equivalence. The first that fails ends it, unless `all`. Without a
  /// reference program there is no equivalence. `consumers` stands for the net
  /// of that name, for a caller who wants its report.
  bool proveStatic(mlir::ModuleOp module, bool all,
                   llvm::function_ref<bool()> consumers = {});

  /// The launch verifier of the module's plan.
  bool proveLaunch(mlir::ModuleOp module);

  /// Takes the reference and the programs for the exact check, and begins it in
  /// threads of its own; the module may change. False, with a diagnostic, if
  /// there is no reference or an op has no exact meaning.
  bool addPrograms(mlir::ModuleOp module);

  /// Takes a plan's text: the loader's checks are made, and its variants are
  /// programs for the exact check. Both happen when they are proved.
  void addPlan(std::string text, std::string name);

  /// The digest of the proofs so far, and of those that are to come if the plan
  /// has so many variants and all hold.
  std::string getFinalDigest(size_t variants) const;

  /// The loader's checks of the plan, and the exact check of all programs that
  /// were taken, if there is a reference. `emitError` gets what is wrong. The
  /// loader works while programs run.
  bool proveTaken(llvm::function_ref<void(const std::string &)> emitError);
  /// Waits for what was begun, where nobody asks for its outcome any more.
  void wait();

private:
  ProofRecord describeExact(size_t variants) const;
  std::unique_ptr<exact::Checker> makeChecker() const;
  bool record(ProofRecord proof, llvm::function_ref<bool()> prove);

  std::vector<ProofRecord> &proofs;
  std::optional<exact::Program> reference;
  std::shared_ptr<exact::RunMemos> memos = std::make_shared<exact::RunMemos>();
  std::unique_ptr<exact::Checker> checker; ///< of programs
  size_t programs = 0;
  /// Of programs, and how long it took in milliseconds.
  std::future<std::pair<std::vector<exact::Mismatch>, double>> running;
  std::optional<std::pair<std::string, std::string>> plan; ///< text, name
};

} // namespace layline

#endif // LAYLINE_LIB_DRIVER_PROVER_H
