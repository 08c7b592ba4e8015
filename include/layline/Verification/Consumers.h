//===- Consumers.h - who reads a rewritten value, and as what ---*- C++ -*-===//
//
// A dataflow analysis: what the ranks hold of every value follows from the
// program's inputs and weights, through collectives and factor models, not from
// the types of results. It may be asked of a program whose ops have not been
// verified.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_VERIFICATION_CONSUMERS_H
#define LAYLINE_VERIFICATION_CONSUMERS_H

#include "dialects/Grid/Grid.h"
#include "layline/Verification/Work.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>
#include <vector>

namespace layline {

/// One reader of a value.
struct Consumer {
  std::string op;      ///< "linear"
  std::string at;      ///< place in the model: "layer.0.q_proj"
  unsigned operand;    ///< operand number
  std::string needs;   ///< "any rows, whole width, nothing owed"
  std::string gets;    ///< "rows by block "tp", all width"
  std::string problem; ///< empty: it gets what it needs

  bool isFed() const { return problem.empty(); }
};

/// A value that planning gathered, narrowed, deferred or keeps by rows.
struct RewrittenValue {
  std::string name;   ///< place of the op that gives it
  std::string value;  ///< as printed: "%12"
  std::string op;     ///< "all_gather"
  std::string form;   ///< "gathered", "narrowed", "deferred", "by rows", ...
  std::string layout; ///< as printed in types
  std::vector<Consumer> consumers;
  std::string problem; ///< of the value itself: nothing reads it
};

/// All rewritten values of one program, in program order.
struct ConsumerReport {
  std::string function;
  std::vector<RewrittenValue> values;
  std::vector<OpWork> work;

  bool isFed() const;
};

/// Problems go to `onProblem`, if given, with the op that has them and the one
/// that made it so, or null. Without `words` the report has no text of what
/// readers need and get, no names of values and no work: who reads what, fast.
ConsumerReport analyzeConsumers(
    mlir::func::FuncOp function, bool words,
    llvm::function_ref<void(mlir::Location at, llvm::StringRef problem,
                            mlir::Operation *since)>
        onProblem = {});

/// The same without words, as diagnostics; fails if a reader is not fed.
llvm::FailureOr<ConsumerReport> verifyConsumers(mlir::func::FuncOp function);

/// A table with one line per reader, grouped by value, and the work at the end.
void printConsumers(const ConsumerReport &report, llvm::raw_ostream &os);
/// Analyses and prints. Returns whether every reader is fed.
bool printConsumers(mlir::func::FuncOp function, llvm::raw_ostream &os);
/// One JSON object with an entry per value.
void printConsumersJSON(const ConsumerReport &report, llvm::raw_ostream &os);

} // namespace layline

#endif // LAYLINE_VERIFICATION_CONSUMERS_H
