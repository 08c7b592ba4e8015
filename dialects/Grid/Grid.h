//===- Grid.h - the grid dialect --------------------------------*- C++ -*-===//
#ifndef LAYLINE_DIALECTS_GRID_GRID_H
#define LAYLINE_DIALECTS_GRID_GRID_H

#include "dialects/Grid/Factors.h"
#include "layline/Support/Partition.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace layline::grid {
enum class CollectiveKind {
  AllReduce,
  ReduceScatter,
  AllGather,
  Broadcast,
  Dispatch,
  Combine
};
/// "all_reduce", "reduce_scatter", ...
llvm::StringRef stringifyCollectiveKind(CollectiveKind kind);
} // namespace layline::grid

#include "dialects/Grid/GridDialect.h.inc"
#include "dialects/Grid/GridEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Grid/GridAttrs.h.inc"
#include "dialects/Grid/GridInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/Grid/GridOps.h.inc"

namespace layline::grid {
/// The place in the model that the importer named: "layer.0.o_proj", or null.
mlir::StringAttr getPlace(mlir::Location loc);
/// How the first split of a chain deals out its items.
Partition toPartition(SplitAttr split);
/// The mesh of the module around `op`, or null.
MeshOp lookupMesh(mlir::Operation *op);
/// The most elements of a dimension that any rank holds without padding; -1 if
/// an axis of its split is not in the mesh.
int64_t getLargestPart(MeshOp mesh, SplitAttr split, int64_t elements);
} // namespace layline::grid

#endif // LAYLINE_DIALECTS_GRID_GRID_H
