//===- Verifier.h - all nets over what a person edited ----------*- C++ -*-===//
//
// No header of LLVM or MLIR is included here: the command-line tool is a plain
// C++ program.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_DRIVER_VERIFIER_H
#define LAYLINE_DRIVER_VERIFIER_H

#include "layline/Driver/Compiler.h"
#include "layline/Driver/Proofs.h"
#include <string>
#include <vector>

namespace layline {

struct Verification {
  /// Refused: a proof failed. Malformed: an input cannot be read, or there is
  /// nothing to compare with.
  CompileStatus status = CompileStatus::Malformed;
  std::string messages; ///< what is wrong, in order
  std::vector<ProofRecord> proofs;
};

/// Makes every proof about the programs of an .mlir file, as `compile
/// --dump-ir` writes it: all nets run, also behind one that fails, so that a
/// person sees which of them find a fault. `against` is the program to compare
/// with, a config.json or an .mlir file with one decoder; if it is empty, the
/// file's own reference program. With neither, what compares is left out.
/// `exact` asks for the exact check (implied by `against`). A config is read
/// with the `activations` that `compile` takes.
Verification verifyProgram(const std::string &file, const std::string &against,
                           bool exact,
                           const std::string &activations = "model");

/// Runs the variants of a plan's text on all ranks against the program of
/// `against`; the loader's checks come first.
Verification verifyPlan(const std::string &text, const std::string &name,
                        const std::string &against,
                        const std::string &activations = "model");

} // namespace layline

#endif // LAYLINE_DRIVER_VERIFIER_H
