//===- ConsumerStates.h - what ranks hold, and what ops need ----*- C++ -*-===//
//
// One step of the dataflow analysis behind Consumers.h: from what the ranks
// hold of an op's operands to what they hold of its results, and what is wrong
// with each operand. Written apart from Factors.cpp, whose rules the types of a
// verified program have passed: two readings of the same factor models.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_VERIFICATION_CONSUMERSTATES_H
#define LAYLINE_LIB_VERIFICATION_CONSUMERSTATES_H

#include "dialects/Grid/Grid.h"
#include <string>

namespace layline {

/// What the ranks hold of one dimension.
struct DimState {
  grid::SplitAttr split; ///< null: every rank all of it
  int64_t pad = 0;
  mlir::Operation *narrowedBy = nullptr; ///< the op that split it, if any
};

/// What the ranks hold of a value.
struct ValueState {
  llvm::SmallVector<DimState, 3> dims;
  llvm::SmallVector<mlir::StringAttr, 2> owes;
  mlir::Operation *owedSince = nullptr;
  mlir::Operation *paidBy = nullptr; ///< the last collective that took a sum

  bool owesOver(mlir::StringAttr axis) const {
    return llvm::is_contained(owes, axis);
  }
  /// The same parts and the same owed sums, wherever they come from.
  bool isLike(const ValueState &other) const;
};

/// What a type says; nothing if it has no layout of as many dimensions.
std::optional<ValueState> getDeclaredState(mlir::Type type);

/// What an op makes of one operand.
struct OperandFlow {
  std::string needs;   ///< "any rows, whole width, nothing owed"
  std::string gets;    ///< "rows by block "tp", all width"
  std::string problem; ///< how the two differ: "needs all rows of {0}, ..."
  mlir::Operation *since = nullptr; ///< what made it so
};

struct OpFlow {
  llvm::SmallVector<OperandFlow, 4> operands;
  /// Nothing where it is not known: a program that has not been placed.
  llvm::SmallVector<std::optional<ValueState>, 2> results;

  bool hasProblem() const {
    return llvm::any_of(
        operands, [](const OperandFlow &o) { return !o.problem.empty(); });
  }
};

/// The step of one op that is no fused region. In problems, {0} stands for the
/// operand. What it needs and gets is put in words only if asked for.
OpFlow getFlow(mlir::Operation *op,
               llvm::ArrayRef<std::optional<ValueState>> operands, bool words);

// ---- Words ----------------------------------------------------------------

/// `block "tp"`
std::string describeSplit(grid::SplitAttr split);
/// `"ep" and "tp"`
std::string joinAxes(llvm::ArrayRef<mlir::StringAttr> axes);
/// `layer.0.o_proj`, or the op's name where it has no place.
std::string describePlace(mlir::Operation *op);
/// `rows by block "tp", all width, owes "tp"`; names are those of dimensions.
std::string describeState(const ValueState &state,
                          llvm::ArrayRef<llvm::StringRef> names);

// ---- Parts of getFlow -----------------------------------------------------

/// `grid.dispatch` and `grid.combine`; false if `op` is neither, or lacks what
/// they have.
bool addRoutingFlow(mlir::Operation *op,
                    llvm::ArrayRef<std::optional<ValueState>> operands,
                    OpFlow &flow, bool words);

/// Ops with a factor model.
void addFactorFlow(mlir::Operation *op,
                   llvm::ArrayRef<std::optional<ValueState>> operands,
                   OpFlow &flow, bool words);

} // namespace layline

#endif // LAYLINE_LIB_VERIFICATION_CONSUMERSTATES_H
