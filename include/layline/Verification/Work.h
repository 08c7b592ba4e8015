//===- Work.h - multiply-adds that count, and those of padding --*- C++ -*-===//
#ifndef LAYLINE_VERIFICATION_WORK_H
#define LAYLINE_VERIFICATION_WORK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cstdint>
#include <string>
#include <vector>

namespace layline {

/// The work of one attention or product, on the rank that has most of it.
struct OpWork {
  std::string op; ///< "attention", "linear"
  std::string at; ///< place in the model
  /// Attention only: heads that the rank has, and that the kernel is called
  /// with.
  int64_t heads = 0, paddedHeads = 0;
  /// Multiply-adds per token; of attention, per pair of query and key.
  int64_t useful = 0;
  /// The same as the kernel does them: it cannot tell padding from values, and
  /// cutting it off afterwards gives no time back.
  int64_t padded = 0;
};

/// Every attention and every product with a weight, in program order. Nothing
/// for a program without a mesh: the parts of its ranks are not known.
std::vector<OpWork> countWork(mlir::func::FuncOp function);

/// "4 of 64 heads useful (6.25 %)", one line for each kind of op that differs.
void printWork(const std::vector<OpWork> &work, llvm::raw_ostream &os);

} // namespace layline

#endif // LAYLINE_VERIFICATION_WORK_H
