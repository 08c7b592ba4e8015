//===- RowRegion.h - which ops are computed by rows -------------*- C++ -*-===//
#ifndef LAYLINE_LIB_PLANNING_ROWREGION_H
#define LAYLINE_LIB_PLANNING_ROWREGION_H

#include "dialects/Grid/Grid.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace layline {

/// The split of a value's rows when what a rank holds of them is dealt out in
/// blocks over one more axis.
grid::SplitAttr splitRowsFurther(mlir::Type type, mlir::StringAttr axis);

/// Pays a sum of [tokens, ...] over exactly the axis.
bool isRowSum(grid::AllReduceOp reduce, mlir::StringAttr axis);

/// Takes columns, sees them as heads, multiplies by a constant: no work that
/// rows would save.
bool onlyMoves(mlir::Operation *op);

/// The operands that carry rows, if each rank of the axis could compute some of
/// them: the op is row-wise, and nothing it touches is split over the axis or
/// owes a sum. Empty if it could not.
llvm::SmallVector<unsigned, 3> getRowsToSplit(mlir::Operation &op,
                                              mlir::StringAttr axis);

/// The row-wise ops of a block that compute rows of their own on each rank of
/// an axis, given the values whose rows are to be had so (the sources). An op
/// belongs to the region if
/// * it is row-wise, nothing in it is split over the axis or owes a sum;
/// * one of its row operands is a source or comes from the region (the others
///   hold the same rows on all ranks of the axis and can be sliced);
/// * of those operands, at least one is read by the region only. Otherwise all
///   of them are gathered anyway, and the op would add a gather of its result.
class RowRegion {
public:
  RowRegion(mlir::Block &block, mlir::StringAttr axis,
            llvm::function_ref<bool(mlir::Value)> isSource);

  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  /// An op of the region reads a value by rows here (not as its weight).
  bool readsRows(mlir::OpOperand &use) const;
  /// A reader that needs all rows of the value, or null.
  mlir::Operation *findReaderOfAllRows(mlir::Value value) const;
  /// Some op of the region reads the value.
  bool isReadByRows(mlir::Value value) const;
  /// Some op of the region computes with rows of the value, behind others that
  /// only move or scale what they read.
  bool isUsedByRows(mlir::Value value) const;

private:
  /// The ops of the region with the operands that carry rows.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 3>> ops;
};

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_ROWREGION_H
