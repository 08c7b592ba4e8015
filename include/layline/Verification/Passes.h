//===- Passes.h - verification passes ---------------------------*- C++ -*-===//
#ifndef LAYLINE_VERIFICATION_PASSES_H
#define LAYLINE_VERIFICATION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace layline {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Verification/Passes.h.inc"
} // namespace layline

#endif // LAYLINE_VERIFICATION_PASSES_H
