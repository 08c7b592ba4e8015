//===- KV.cpp - the kv dialect --------------------------------------------===//
#include "dialects/KV/KV.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace layline::kv::ir;

#include "dialects/KV/KVDialect.cpp.inc"
#include "dialects/KV/KVEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/KV/KVTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/KV/KVOps.cpp.inc"

void KVDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/KV/KVOps.cpp.inc"
      >();
}

void KVDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/KV/KVTypes.cpp.inc"
      >();
}

bool layline::kv::ir::isIndexPlane(StringRef name) {
  return name.starts_with("index_");
}
