//===- Passes.h - passes that prove things about caches ---------*- C++ -*-===//
#ifndef LAYLINE_KVVERIFICATION_PASSES_H
#define LAYLINE_KVVERIFICATION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace layline {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/KVVerification/Passes.h.inc"
} // namespace layline

#endif // LAYLINE_KVVERIFICATION_PASSES_H
