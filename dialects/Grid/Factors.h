//===- Factors.h - the factor model of an op and the layout rules -*- C++
//-*-===//
//
// An op binds each dimension of its operands and results to a factor. All
// layout rules follow from the kinds of the factors; they are written once, in
// Factors.cpp, and used by the verifier of every op, by placement and planning.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_DIALECTS_GRID_FACTORS_H
#define LAYLINE_DIALECTS_GRID_FACTORS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace layline::grid {

class LayoutAttr;
class SplitAttr;

enum class FactorKind {
  /// Items are independent: a split of the operands is a split of the results.
  PassThrough,
  /// The op sums over the items: split operands make the results owe a sum.
  Reduction,
  /// Each item of the result needs all items (a norm's features, top-k): never
  /// split.
  NeedWhole,
  /// KV heads that the query heads of another factor read: whole, or the
  /// `readers` cover that belongs to that factor's split.
  ReadBy,
};

struct Factor {
  llvm::StringRef name;
  FactorKind kind;
  /// ReadBy only: index of the query factor and its number of items.
  unsigned readers = 0;
  int64_t numReaders = 0;
};

/// A dimension: `unit` elements for each item of the factor.
struct DimFactor {
  unsigned factor;
  int64_t unit = 1;
};

struct FactorModel {
  llvm::SmallVector<Factor, 6> factors;
  llvm::SmallVector<llvm::SmallVector<DimFactor, 3>, 6> operands;
  llvm::SmallVector<llvm::SmallVector<DimFactor, 3>, 2> results;
  /// The op may take rows that were dispatched to the ranks of the items of
  /// another factor that they have chosen, if that is split by block over the
  /// same axis: each rank computes its own items' part of the rows it has.
  struct Routing {
    unsigned rows, items;
  };
  std::optional<Routing> routing;

  unsigned add(llvm::StringRef name, FactorKind kind) {
    factors.push_back({name, kind});
    return factors.size() - 1;
  }
  unsigned addReadBy(llvm::StringRef name, unsigned readers, int64_t count) {
    factors.push_back({name, FactorKind::ReadBy, readers, count});
    return factors.size() - 1;
  }
  void operand(llvm::ArrayRef<DimFactor> dims) {
    operands.emplace_back(dims.begin(), dims.end());
  }
  void result(llvm::ArrayRef<DimFactor> dims) {
    results.emplace_back(dims.begin(), dims.end());
  }
  /// The factor of that name, or none.
  std::optional<unsigned> find(llvm::StringRef name) const;
};

/// The splits of dimensions bound to factors that are split so (null: whole).
llvm::SmallVector<SplitAttr, 3>
getDimSplits(llvm::ArrayRef<DimFactor> dims,
             llvm::function_ref<SplitAttr(unsigned)> splitOfFactor);

/// The factor that rows are bound to.
inline constexpr llvm::StringLiteral kTokens = "tokens";

/// Operand numbers whose dimension 0 is bound to the factor "tokens".
llvm::SmallVector<unsigned, 3> getRowOperands(const FactorModel &model);

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// The layouts of the results of `op` if its operands are laid out as given.
/// Fails, with a diagnostic, where the op may not take them.
mlir::LogicalResult inferLayouts(mlir::Operation *op,
                                 llvm::ArrayRef<LayoutAttr> operands,
                                 llvm::SmallVectorImpl<LayoutAttr> &results,
                                 EmitError emitError);

/// The layout of a tensor type, or null if it has not been placed.
LayoutAttr getLayout(mlir::Type type);
/// The tensor type with another layout (null: none).
mlir::RankedTensorType withLayout(mlir::RankedTensorType type,
                                  LayoutAttr layout);

namespace detail {
mlir::LogicalResult verifyLayoutOp(mlir::Operation *op);
} // namespace detail

} // namespace layline::grid

#endif // LAYLINE_DIALECTS_GRID_FACTORS_H
