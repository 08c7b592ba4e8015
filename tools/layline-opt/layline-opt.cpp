//===- layline-opt.cpp - runs passes on textual IR ------------------------===//
#include "layline/Driver/Pipelines.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::registerTransformsPasses();
  layline::registerAllPasses();
  mlir::DialectRegistry registry;
  layline::registerAllDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Layline pass driver\n", registry));
}
