//===- Launch.cpp - the launch dialect ------------------------------------===//
#include "dialects/Launch/Launch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace layline::launch;

#include "dialects/Launch/LaunchDialect.cpp.inc"
#include "dialects/Launch/LaunchEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Launch/LaunchTypes.cpp.inc"

void LaunchDialect::initialize() {
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/Launch/LaunchOps.cpp.inc"
      >();
}

void LaunchDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Launch/LaunchTypes.cpp.inc"
      >();
}
