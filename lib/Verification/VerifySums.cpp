//===- VerifySums.cpp - every owed sum is paid in exactly one place -------===//
#include "dialects/Grid/Grid.h"
#include "layline/Verification/Passes.h"

namespace layline {
#define GEN_PASS_DEF_VERIFYSUMS
#include "lib/Verification/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::grid;

static LogicalResult verifyOwed(Value value) {
  LayoutAttr layout = getLayout(value.getType());
  if (!layout || !layout.owesAnything())
    return success();
  StringAttr axis = layout.getOwes().front();
  if (value.use_empty())
    return emitError(value.getLoc())
           << "the sum owed over " << axis << " here is never paid";
  if (!value.hasOneUse()) {
    auto uses = llvm::to_vector(value.getUsers());
    InFlightDiagnostic diag =
        emitError(value.getLoc())
        << "the sum owed over " << axis << " here has " << uses.size()
        << " readers, expected one: it would be paid more than once";
    for (Operation *user : llvm::reverse(uses))
      diag.attachNote(user->getLoc()) << "read here";
    return diag;
  }
  Operation *reader = *value.user_begin();
  if (reader->hasTrait<OpTrait::IsTerminator>() &&
      isa<func::ReturnOp>(reader)) {
    InFlightDiagnostic diag =
        reader->emitOpError("returns a value that owes a sum over ")
        << axis << "; reduce it first";
    diag.attachNote(value.getLoc()) << "the sum is owed since here";
    return diag;
  }
  // A collective that pays part of it, or a linear op, owes the rest on in its
  // own result: that is in the types.
  return success();
}

namespace {
struct VerifySums : layline::impl::VerifySumsBase<VerifySums> {
  using VerifySumsBase::VerifySumsBase;

  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (failed(verifyOwed(result)))
          signalPassFailure();
    });
    for (Block &block : getOperation().getBody())
      for (BlockArgument argument : block.getArguments())
        if (failed(verifyOwed(argument)))
          signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
