//===- TranslateToPlanJSON.cpp - the translation of a module --------------===//
#include "dialects/Grid/Grid.h"
#include "layline/Target/PlanJSON.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"

using namespace mlir;
using namespace layline;

void layline::registerToPlanJSON() {
  TranslateFromMLIRRegistration registration(
      "launch-to-plan-json", "print a launch plan as plan.json",
      [](Operation *op, raw_ostream &os) -> LogicalResult {
        SmallVector<launch::PlanOp> plans;
        if (auto module = dyn_cast<ModuleOp>(op))
          llvm::append_range(plans, module.getOps<launch::PlanOp>());
        if (plans.size() != 1)
          return op->emitError("holds ")
                 << plans.size() << " launch plans, expected one";
        return printPlan(plans.front(), os);
      },
      [](DialectRegistry &registry) {
        registry.insert<grid::GridDialect, launch::LaunchDialect>();
      });
}
