//===- ExpertRouting.h - experts that rows can be sent to -------*- C++ -*-===//
//
// Experts whose stack is split by block over an axis take their rows in one of
// two ways: all rows are there on every rank, and what each makes of them owes
// a sum; or each rank has its own rows and sends them to the ranks of their
// experts, which send back what they made of them (grid.dispatch and
// grid.combine). Then the result is by rows and owes nothing.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_PLANNING_EXPERTROUTING_H
#define LAYLINE_LIB_PLANNING_EXPERTROUTING_H

#include "dialects/Grid/Grid.h"
#include "layline/Cost/Routing.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace layline {

/// Whether the op of a placed program can have its rows sent to the ranks along
/// the axis: it takes routed rows, its experts are dealt out over the axis, and
/// a sum of rows over it is paid behind the op.
bool canDispatch(mlir::Operation *op, mlir::StringAttr axis);

/// The row-wise sum that pays what `value` owes: it reads the value, or the sum
/// of values that owe the same and that nobody else reads. Null if there is
/// none. `join` gets each addition on the way.
grid::AllReduceOp
findRowSum(mlir::Value value, mlir::StringAttr axis,
           llvm::function_ref<void(mlir::Operation *)> join = {});

/// How rows choose: of so many experts, in groups if a router says so.
RoutingShape getRoutingShape(mlir::Operation *experts);

/// The op with its rows sent to the ranks of its experts, and what comes back
/// from there. `rows` are its rows, ids and weights, each rank's own; `site`
/// names the sum that is paid so, or is null.
mlir::Value dispatchRows(mlir::Operation *op, llvm::ArrayRef<mlir::Value> rows,
                         mlir::StringAttr axis, mlir::StringAttr site);

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_EXPERTROUTING_H
