//===- Consumers.h - who reads a rewritten value, and as what ---*- C++ -*-===//
#ifndef LAYLINE_VERIFICATION_CONSUMERS_H
#define LAYLINE_VERIFICATION_CONSUMERS_H

#include "dialects/Grid/Grid.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>
#include <vector>

namespace layline {

/// One reader of a value.
struct Consumer {
  std::string op;   ///< "linear"
  std::string at;   ///< place in the model: "layer.0.q_proj"
  unsigned operand; ///< operand number
};

/// A value that planning gathered, scattered or keeps by rows.
struct RewrittenValue {
  std::string name;   ///< place of the op that gives it
  std::string op;     ///< "all_gather"
  std::string layout; ///< as printed in types
  std::vector<Consumer> consumers;
};

/// All values of a planned program that come from a collective or are split by
/// rows, in program order, with every reader and the layout that it gets. A
/// value without a reader is an error: its rows or its sum would be lost.
llvm::FailureOr<std::vector<RewrittenValue>>
collectConsumers(mlir::func::FuncOp function);

} // namespace layline

#endif // LAYLINE_VERIFICATION_CONSUMERS_H
