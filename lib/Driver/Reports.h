//===- Reports.h - what a compilation says about its plan -------*- C++ -*-===//
#ifndef LAYLINE_LIB_DRIVER_REPORTS_H
#define LAYLINE_LIB_DRIVER_REPORTS_H

#include "dialects/Launch/Launch.h"
#include "layline/Driver/Compiler.h"
#include "layline/Verification/Consumers.h"
#include "mlir/IR/BuiltinOps.h"

namespace layline {

/// What has to be read off planned programs before they are lowered: the
/// readers of every rewritten value, by variant.
struct PlannedProgram {
  struct Variant {
    std::string id;
    std::string reason;
    std::vector<RewrittenValue> values;
    std::vector<PriceReport> prices;
    std::vector<GatherReport> gathers;
    mlir::ArrayAttr allPrices; ///< with those of the sites
  };
  std::vector<Variant> variants;

  mlir::LogicalResult collect(mlir::ModuleOp module);
};

/// Fills in the variants, sites, arenas and weights of a lowered module.
mlir::LogicalResult reportPlan(mlir::ModuleOp module, Compilation &result);

/// How a gather's width compares with that of the sum before it.
std::string describeGather(const GatherReport &gather);

/// decisions.json: one line per variant, per site, per rewritten value.
std::string printDecisions(const CompileRequest &request,
                           const Compilation &result,
                           const PlannedProgram &planned);

} // namespace layline

#endif // LAYLINE_LIB_DRIVER_REPORTS_H
