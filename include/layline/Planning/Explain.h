//===- Explain.h - prices of a placed program, for a person -----*- C++ -*-===//
#ifndef LAYLINE_PLANNING_EXPLAIN_H
#define LAYLINE_PLANNING_EXPLAIN_H

#include "layline/Cost/CostModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace layline {

/// A table of what a site could have become at each token count: the whole plan
/// with everything else at its best, the kernel that pays the sum, where its
/// price comes from; and for a value (an op's place, "layer.3.input_norm") who
/// reads it in which form, and what is gathered in its place if its own gather
/// is forbidden. `experts` as for plan-variants. Nothing, with a message in `error` that lists names, if there
/// is no such site or value.
std::optional<std::string> explain(mlir::func::FuncOp placed,
                                   const CostModel &model, bool fuse,
                                   llvm::StringRef experts,
                                   llvm::StringRef name,
                                   llvm::ArrayRef<int64_t> tokens,
                                   std::string &error);

/// What a placed program costs at one token count, without making a plan of it.
struct ProgramPrice {
  int64_t tokens = 0;
  double today = 0, unfused = 0, chosen = 0, byRows = 0, whole = 0;
  /// Products that every plan has, by the roofline; attention and caches are
  /// not in it.
  double fixed = 0;
  Confidence confidence = Confidence::Measured;
  int64_t sites = 0, sitesByRows = 0;
  int64_t phases = 0, launches = 0, launchesToday = 0;
};
std::vector<ProgramPrice> priceProgram(mlir::func::FuncOp placed,
                                       const CostModel &model, bool fuse,
                                       llvm::ArrayRef<int64_t> tokens);

/// What a step takes at best at each token count, in microseconds: every
/// boundary, product and row-wise op, of programs that differ in where their
/// weights are. Attention and caches are not in it.
std::vector<double> priceStep(mlir::func::FuncOp placed, const CostModel &model,
                              bool fuse, llvm::ArrayRef<int64_t> tokens);

/// Bytes of a placed weight on the rank that holds most of it.
int64_t getWeightBytes(mlir::Value weight);

/// Weights that a rank holds.
struct WeightShare {
  std::string name; ///< without the layer: "q_a_proj"
  int64_t count = 0;
  int64_t bytes = 0;         ///< of the rank that holds most, all layers
  bool isReplicated = false; ///< every rank of the axis holds all of it
};
std::vector<WeightShare> listWeights(mlir::func::FuncOp placed);

} // namespace layline

#endif // LAYLINE_PLANNING_EXPLAIN_H
