//===- RandomPrograms.h - models and plans nobody has thought of -*- C++
//-*-===//
//
// A random model (what a DecoderConfig can say, with tiny sizes that do not
// divide), on a random mesh, planned in a random way. Every one is legal: the
// compiler must take it, and every proof must hold.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_TEST_LIB_RANDOMPROGRAMS_RANDOMPROGRAMS_H
#define LAYLINE_TEST_LIB_RANDOMPROGRAMS_RANDOMPROGRAMS_H

#include "layline/Import/DecoderConfig.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace layline::test {

/// How a model is placed and planned.
struct PlanChoice {
  int64_t tp = 1, cp = 1;
  std::string cpSplit = "zigzag";
  std::string boundaries = "rows"; ///< as plan-variants takes them
  int64_t maxTokens = 64;
  bool fuse = true;
  /// Whole experts on each rank; how their rows get there.
  bool expertParallel = false;
  std::string experts = "auto";
};

struct RandomProgram {
  DecoderConfig config;
  PlanChoice plan;
};

/// Numbers that decide everything, each from 0 to kMaxChoice: smaller ones give
/// smaller and plainer programs, so that a tape that shrinks shrinks them.
using Tape = std::vector<unsigned>;
inline constexpr unsigned kMaxChoice = 1023;
inline constexpr unsigned kTapeLength = 64;

/// The program that a tape stands for. Any tape is one; what it lacks is 0.
RandomProgram readProgram(const Tape &tape);
/// One line, for messages.
std::string describe(const RandomProgram &program);

/// Emits, places and plans. Null, with diagnostics, if a pass fails.
mlir::OwningOpRef<mlir::ModuleOp> buildPlanned(const DecoderConfig &config,
                                               const PlanChoice &plan,
                                               mlir::MLIRContext &context);
/// The same of a module as imported.
mlir::LogicalResult placeAndPlan(mlir::ModuleOp module, const PlanChoice &plan);

} // namespace layline::test

#endif // LAYLINE_TEST_LIB_RANDOMPROGRAMS_RANDOMPROGRAMS_H
