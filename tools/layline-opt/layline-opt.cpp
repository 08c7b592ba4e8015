//===- layline-opt.cpp - runs passes on textual IR ------------------------===//
#include "layline/Driver/Pipelines.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#ifdef LAYLINE_TEST_PASSES
#include "test/lib/Faults/Faults.h"
#endif

int main(int argc, char **argv) {
  mlir::registerTransformsPasses();
  layline::registerAllPasses();
#ifdef LAYLINE_TEST_PASSES
  layline::test::registerInjectFaultPass();
#endif
  mlir::DialectRegistry registry;
  layline::registerAllDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Layline pass driver\n", registry));
}
