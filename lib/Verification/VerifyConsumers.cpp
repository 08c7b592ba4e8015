//===- VerifyConsumers.cpp - every reader gets what it needs --------------===//
#include "layline/Verification/Consumers.h"
#include "layline/Verification/Passes.h"

namespace layline {
#define GEN_PASS_DEF_VERIFYCONSUMERS
#include "lib/Verification/Passes.h.inc"
} // namespace layline

namespace {
struct VerifyConsumers : layline::impl::VerifyConsumersBase<VerifyConsumers> {
  using VerifyConsumersBase::VerifyConsumersBase;

  void runOnOperation() override {
    if (!getOperation().isExternal() &&
        mlir::failed(layline::verifyConsumers(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
