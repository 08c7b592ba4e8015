//===- InjectFault.cpp - the pass --test-inject-fault ---------------------===//
#include "Faults.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace layline::test;

namespace {
struct InjectFault : PassWrapper<InjectFault, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InjectFault)

  InjectFault() = default;
  InjectFault(const InjectFault &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-inject-fault"; }
  StringRef getDescription() const final {
    return "Plant a fault in a planned program or a plan: "
           "--test-inject-fault=\"kind=KIND n=N\", or \"spec=KIND,N\". Run "
           "with "
           "--verify-each=0: the result may be illegal IR.";
  }

  void runOnOperation() override {
    StringRef name = kind;
    unsigned place = n;
    if (!spec.empty()) {
      auto [specKind, specPlace] = StringRef(spec).split(',');
      name = specKind;
      if (!specPlace.empty() && specPlace.getAsInteger(10, place)) {
        getOperation().emitError("found the place '")
            << specPlace << "', expected a number: spec=KIND,N";
        return signalPassFailure();
      }
    }
    const FaultKind *found = findFaultKind(name);
    if (!found) {
      InFlightDiagnostic diag =
          getOperation().emitError("has no kind of fault '")
          << name << "', expected one of ";
      llvm::interleaveComma(allFaultKinds(), diag,
                            [&](const FaultKind &k) { diag << k.name; });
      return signalPassFailure();
    }
    if (failed(injectFault(getOperation(), *found, place)))
      signalPassFailure();
  }

  Option<std::string> kind{*this, "kind", llvm::cl::desc("The kind of fault.")};
  Option<unsigned> n{*this, "n",
                     llvm::cl::desc("The number of the place, from 0."),
                     llvm::cl::init(0)};
  Option<std::string> spec{*this, "spec",
                           llvm::cl::desc("Both at once: KIND,N.")};
};
} // namespace

void layline::test::registerInjectFaultPass() {
  PassRegistration<InjectFault>();
}
