//===- Launch.h - the launch dialect ----------------------------*- C++ -*-===//
#ifndef LAYLINE_DIALECTS_LAUNCH_LAUNCH_H
#define LAYLINE_DIALECTS_LAUNCH_LAUNCH_H

#include "dialects/Grid/Grid.h"
#include "dialects/Launch/Expressions.h"
#include "dialects/Launch/Ranges.h"
#include "dialects/Launch/StepKinds.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/Launch/LaunchDialect.h.inc"
#include "dialects/Launch/LaunchEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Launch/LaunchTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/Launch/LaunchOps.h.inc"

#endif // LAYLINE_DIALECTS_LAUNCH_LAUNCH_H
