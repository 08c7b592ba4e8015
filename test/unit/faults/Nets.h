//===- Nets.h - each proof asked by itself ----------------------*- C++ -*-===//
#ifndef LAYLINE_TEST_UNIT_FAULTS_NETS_H
#define LAYLINE_TEST_UNIT_FAULTS_NETS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <array>
#include <optional>
#include <string>

namespace layline::test {

enum class Net {
  Types,       ///< the verifiers of all ops
  Partitions,  ///< verify-partitions
  Coverage,    ///< verify-coverage
  Positions,   ///< verify-positions
  Sums,        ///< verify-sums
  Consumers,   ///< verify-consumers
  Order,       ///< verify-order
  Equivalence, ///< verify-equivalence
  Launch,      ///< lowering, where types hold, and launch-verify
  Loader,      ///< the runtime's checks of plan.json
  Exact        ///< the exact check
};
inline constexpr std::array<const char *, 11> kNetNames = {
    "types", "partitions",  "coverage", "positions", "sums", "consumers",
    "order", "equivalence", "launch",   "loader",    "exact"};
inline constexpr unsigned kNumNets = kNetNames.size();

enum class Verdict { NotAsked, Accepts, Refuses };
struct Answer {
  Verdict verdict = Verdict::NotAsked;
  std::string why; ///< of a refusal: the first error
};
using Answers = std::array<Answer, kNumNets>;

/// Asks every net, one not knowing of another: of a planned program, or of a
/// module that holds a launch.plan. The module is left as it is. Not asked is
///
/// * what is not built in yet;
/// * of a plan, what looks at programs only;
/// * lowering and the loader of a program with ops that the plan format has no
///   words for (padding): they refuse it by design;
/// * lowering and the loader of what is no legal IR: they would never see it.
///
/// A plan is compared with the imported program of `imported`, the module that
/// it was lowered from.
Answers askAll(mlir::ModuleOp module, mlir::ModuleOp imported = {});

/// A net that refuses the program without a fault says nothing about the fault.
void trustOnly(Answers &answers, const Answers &clean);

/// A static net refuses.
bool isCaughtStatically(const Answers &answers);
inline bool isCaught(const Answers &answers) {
  return isCaughtStatically(answers) ||
         answers[static_cast<unsigned>(Net::Exact)].verdict == Verdict::Refuses;
}

/// The launch plan of a planned program; null if it cannot be lowered.
mlir::OwningOpRef<mlir::ModuleOp> lowerPlanned(mlir::ModuleOp module);

/// A context with all dialects, without threads.
std::unique_ptr<mlir::MLIRContext> makeContext();

//===----------------------------------------------------------------------===//
// Nets of other rooms
//===----------------------------------------------------------------------===//

/// What the runtime finds in the text of a plan; nothing if it is good.
std::optional<std::string> loadPlanText(const std::string &text);

/// The exact check of a planned program: why it differs from the reference, or
/// nothing if it is equal.
std::optional<std::string> runExact(mlir::ModuleOp module);

/// The same of the text of a plan; not asked if the loader refuses it.
Answer runExactOnPlan(const std::string &text, mlir::ModuleOp imported);

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_FAULTS_NETS_H
