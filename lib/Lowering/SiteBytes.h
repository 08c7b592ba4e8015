//===- SiteBytes.h - what a rank sends for each site ------------*- C++ -*-===//
//
// A site is a place where the plain tensor-parallel program reduces. Before
// planning it sends an all_reduce. After, it sends what pays the sum, and the
// gathers of values that come from the site's rows.
//
// A residual kept by rows carries the rows of all sites before; a gather is
// counted for the last of them, whose sum made the gather necessary. So every
// gather of rows counts once.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_LOWERING_SITEBYTES_H
#define LAYLINE_LIB_LOWERING_SITEBYTES_H

#include "PlanTables.h"
#include "layline/Cost/WireBytes.h"

namespace layline {

class SiteBytes {
public:
  explicit SiteBytes(PlanTables &tables) : tables(tables) {}

  /// To be called for the ops of a variant in program order, also for those in
  /// fused regions; `step` is the step of the list that runs the op.
  mlir::LogicalResult visit(mlir::Operation *op, mlir::StringAttr step);
  /// A value is another name of one visited (the result of a fused region).
  void alias(mlir::Value result, mlir::Value value);

  struct Site {
    mlir::StringAttr id;
    mlir::StringAttr step; ///< the step that pays the sum
    mlir::StringAttr axis; ///< the axis over which it scatters rows, or null
    WireBytes before, after;
    /// A sum over several axes at once: the format's ranges cannot say its
    /// parts.
    bool hasBytes = true;
    /// Rows come back from experts; others may be scattered beside them, with
    /// which they had one sum before.
    bool combines = false;
  };
  /// Null if the program has no such site.
  const Site *find(mlir::StringAttr id) const;

private:
  mlir::LogicalResult visitSum(mlir::Operation *sum, mlir::StringAttr id,
                               mlir::StringAttr step);
  mlir::LogicalResult addBeside(mlir::Operation *sum, Site &site);
  mlir::LogicalResult visitCombine(grid::CombineOp combine, mlir::StringAttr id,
                                   mlir::StringAttr step);
  mlir::LogicalResult visitGather(grid::AllGatherOp gather);

  PlanTables &tables;
  std::vector<Site> sites;
  llvm::DenseMap<mlir::StringAttr, unsigned> byId;
  /// The last site whose sum gave the rows of a value.
  llvm::DenseMap<mlir::Value, unsigned> rowsOf;
};

} // namespace layline

#endif // LAYLINE_LIB_LOWERING_SITEBYTES_H
