//===- KV.h - the kv dialect ------------------------------------*- C++ -*-===//
#ifndef LAYLINE_DIALECTS_KV_KV_H
#define LAYLINE_DIALECTS_KV_KV_H

#include "kv/Plan.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/KV/KVDialect.h.inc"
#include "dialects/KV/KVEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/KV/KVAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/KV/KVTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/KV/KVOps.h.inc"

namespace layline::kv::ir {

/// The pool as the plan has it: buffers, placements, and what each rank keeps.
/// Of a pool that verifies.
Side getSide(PoolOp pool);
Plane getPlane(PlaneAttr plane);
/// By the pool's order of planes.
std::vector<Plane> getPlanes(PoolOp pool);

/// Of the index of sparse attention: keys or their scales. They are told by
/// their names, as in plans.
bool isIndexPlane(llvm::StringRef name);

/// "0 to 7, 12".
std::string describeLayers(llvm::ArrayRef<int64_t> layers);

} // namespace layline::kv::ir

#endif // LAYLINE_DIALECTS_KV_KV_H
