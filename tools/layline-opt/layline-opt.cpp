//===- layline-opt.cpp - runs passes on textual IR --------------------------===//
#include "dialects/Decoder/Decoder.h"
#include "dialects/Grid/Grid.h"
#include "dialects/Launch/Launch.h"
#include "layline/Lowering/Passes.h"
#include "layline/Placement/Passes.h"
#include "layline/Planning/Passes.h"
#include "layline/Verification/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::registerTransformsPasses();
  layline::registerLaylinePlacementPasses();
  layline::registerLaylinePlanningPasses();
  layline::registerLaylineVerificationPasses();
  layline::registerLaylineLoweringPasses();
  layline::registerLoweringPipeline();
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, layline::grid::GridDialect,
                  layline::decoder::DecoderDialect, layline::launch::LaunchDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Layline pass driver\n", registry));
}
