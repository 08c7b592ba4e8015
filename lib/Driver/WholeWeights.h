//===- WholeWeights.h - which chains' weights every rank holds --*- C++ -*-===//
//
// Weights are loaded once, for all variants of a plan, so the choice is one for
// the plan: for each name of chains (layers are equal) all of them or none.
// Every set of names is placed and priced; there are few.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_DRIVER_WHOLEWEIGHTS_H
#define LAYLINE_LIB_DRIVER_WHOLEWEIGHTS_H

#include "layline/Cost/CostModel.h"
#include "layline/Driver/Compiler.h"
#include "layline/Driver/Pipelines.h"
#include "layline/Placement/FeatureChains.h"
#include "mlir/IR/BuiltinOps.h"

namespace layline {

class WholeWeights {
public:
  /// Finds the chains of an imported program.
  WholeWeights(mlir::ModuleOp imported, const CompileRequest &request);

  /// The request names no chain that is not there; else a message.
  std::optional<std::string> checkNames() const;
  /// Prices are needed to choose, or were asked for.
  bool needsPrices() const;
  /// Places the program in every way and chooses. False, with a diagnostic, if
  /// it cannot be placed.
  bool weigh(const PlacementOptions &placement, const CostModel &model);
  /// The names of chains whose weights stay whole.
  std::vector<std::string> getChosen() const;
  /// Fills in what the placed program holds, of the same ops.
  void measure();
  /// Bytes that a rank holds more than it must.
  int64_t getSparedBytes() const;
  std::vector<ReplicationReport> getReports() const { return reports; }
  /// For --explain.
  std::string explain(llvm::StringRef place) const;

private:
  /// A way to place the program: a bit for each name.
  struct Way {
    int64_t bytes = 0;         ///< of weights on one rank
    std::vector<double> steps; ///< us, by `tokens`
  };
  bool isAuto() const;
  bool isInPlan(int64_t count) const {
    return count >= request.minTokens && count <= request.maxTokens;
  }
  bool price(unsigned names, const PlacementOptions &placement,
             const CostModel &model, Way &way);
  bool isWorthIt(size_t bit) const;
  void choose();
  void tellWhy();

  mlir::ModuleOp module;
  const CompileRequest &request;
  std::vector<FeatureChain> chains;
  std::vector<ReplicationReport> reports; ///< by name
  std::vector<int64_t> tokens;
  std::vector<Way> ways; ///< by bits; empty if not weighed
  unsigned chosen = 0;
};

} // namespace layline

#endif // LAYLINE_LIB_DRIVER_WHOLEWEIGHTS_H
