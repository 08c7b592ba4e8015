//===- PlanJSON.h - launch IR as plan.json ----------------------*- C++ -*-===//
#ifndef LAYLINE_TARGET_PLANJSON_H
#define LAYLINE_TARGET_PLANJSON_H

#include "dialects/Launch/Launch.h"
#include "llvm/Support/raw_ostream.h"

namespace layline {

/// Prints a plan as docs/plan-format.md says: the keys in that order, an entry
/// of a list on each line, the same bytes for the same plan. Takes no decision;
/// fails, with a diagnostic, where one has not been taken (a step without a
/// stream, a buffer without a place).
mlir::LogicalResult printPlan(launch::PlanOp plan, llvm::raw_ostream &os);

/// The translation --launch-to-plan-json of a module with one plan.
void registerToPlanJSON();

} // namespace layline

#endif // LAYLINE_TARGET_PLANJSON_H
