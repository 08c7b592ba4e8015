//===- FeatureChains.h - products that can keep their features whole -*- C++
//-*-===//
//
// A dense MLP or a shared expert is a chain: products whose features ranks
// share out, row-wise ops on their results, and one product that adds the
// features up and owes. Its weights can as well be whole on every rank: then
// the chain is row-wise from end to end, runs on own rows, and owes nothing. It
// costs the memory of the other ranks' parts.
//
// Attention is no such chain: its rows look at one another. Nor are experts
// that are chosen among: a rank would hold them all.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_PLACEMENT_FEATURECHAINS_H
#define LAYLINE_PLACEMENT_FEATURECHAINS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace layline {

struct FeatureChain {
  /// Of the product that owes, without the layer: "down_proj". Chains of one
  /// name are placed alike.
  std::string name;
  mlir::Operation *divided; ///< the op that asks for its features to be split
  mlir::Operation *owing;
  llvm::SmallVector<mlir::Operation *, 4> ops; ///< all, with these two
  llvm::SmallVector<mlir::Value, 6> weights;
};

/// The chains of a program, in its order. No value inside a chain is read
/// elsewhere, and no weight of it is.
std::vector<FeatureChain> findFeatureChains(mlir::func::FuncOp function);

} // namespace layline

#endif // LAYLINE_PLACEMENT_FEATURECHAINS_H
