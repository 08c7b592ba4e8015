//===- layline-translate.cpp - launch IR to plan.json ---------------------===//
#include "layline/Target/PlanJSON.h"
#include "mlir/Support/LogicalResult.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  layline::registerToPlanJSON();
  return mlir::failed(
      mlir::mlirTranslateMain(argc, argv, "Layline translation driver"));
}
