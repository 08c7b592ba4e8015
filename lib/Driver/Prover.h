//===- Prover.h - the nets, one after another, with a record ----*- C++ -*-===//
#ifndef LAYLINE_LIB_DRIVER_PROVER_H
#define LAYLINE_LIB_DRIVER_PROVER_H

#include "layline/Driver/Proofs.h"
#include "layline/Exact/Checker.h"
#include "mlir/IR/BuiltinOps.h"

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
  /// reference program there is no equivalence.
  bool proveStatic(mlir::ModuleOp module, bool all);

  /// The launch verifier of the module's plan.
  bool proveLaunch(mlir::ModuleOp module);

  /// Takes the reference and the programs for the exact check; the module may
  /// change afterwards. False, with a diagnostic, if there is no reference or
  /// an op has no exact meaning.
  bool addPrograms(mlir::ModuleOp module);

  /// Takes the variants of a plan, after the loader's own checks, which are
  /// recorded too. `emitError` gets what is wrong.
  bool addPlan(const std::string &text, const std::string &name,
               llvm::function_ref<void(const std::string &)> emitError);

  /// The digest of the proofs so far, and of those that are to come if the plan
  /// has so many variants and all hold.
  std::string getFinalDigest(size_t variants) const;

  /// Runs all programs that were taken.
  bool proveExact(llvm::function_ref<void(const std::string &)> emitError);

private:
  ProofRecord describeExact(size_t variants) const;
  bool record(ProofRecord proof, llvm::function_ref<bool()> prove);

  std::vector<ProofRecord> &proofs;
  std::unique_ptr<exact::Checker> checker;
  size_t programs = 0, planPrograms = 0;
  /// What programs from plans refer to.
  std::vector<std::shared_ptr<void>> plans;
};

} // namespace layline

#endif // LAYLINE_LIB_DRIVER_PROVER_H
