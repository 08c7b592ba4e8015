//===- PlanTables.h - what all variants of a plan share ---------*- C++ -*-===//
#ifndef LAYLINE_LIB_LOWERING_PLANTABLES_H
#define LAYLINE_LIB_LOWERING_PLANTABLES_H

#include "dialects/Decoder/Decoder.h"
#include "dialects/Launch/Launch.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <array>

namespace layline {

/// The symbols of a plan. Each is made when it is first asked for and found
/// again afterwards; they stand in the plan in the order of the format.
class PlanTables {
public:
  explicit PlanTables(launch::PlanOp plan);

  /// Fails where the format has no such range.
  mlir::FailureOr<mlir::FlatSymbolRefAttr>
  getRange(mlir::Location loc, grid::SplitAttr split, int64_t size);
  /// The ranges of a tensor's layout.
  mlir::LogicalResult addRanges(mlir::Location loc, mlir::Type tensor);

  mlir::FailureOr<mlir::FlatSymbolRefAttr> getWeight(decoder::WeightOp op);
  mlir::FailureOr<mlir::FlatSymbolRefAttr> getCache(decoder::CacheOp op);
  mlir::FlatSymbolRefAttr getTable(mlir::Location loc,
                                   decoder::RopeTableAttr table);
  mlir::FailureOr<mlir::FlatSymbolRefAttr>
  getGroup(mlir::Location loc, llvm::ArrayRef<mlir::StringAttr> axes);
  mlir::FlatSymbolRefAttr getFlag(mlir::Location loc,
                                  mlir::FlatSymbolRefAttr group);
  mlir::FlatSymbolRefAttr getKernel(mlir::Location loc, mlir::ArrayAttr ops,
                                    mlir::Type dtype,
                                    mlir::FlatSymbolRefAttr group);
  mlir::LogicalResult addInput(mlir::Location loc, mlir::StringAttr id,
                               mlir::RankedTensorType tensor);
  void addSymbol(llvm::StringRef id, int64_t min, int64_t max);
  void addStream(llvm::StringRef id);

  std::optional<int64_t> getAxisSize(mlir::StringAttr axis) {
    return plan.getAxisSize(axis);
  }
  bool hasCaches() const { return !caches.empty(); }
  bool hasKernels() const { return !kernels.empty(); }
  /// A range has parts that are not one run of items.
  bool hasSegments() const { return isSegmented; }

private:
  mlir::ArrayAttr toAttribute(llvm::ArrayRef<SegmentExpr> segments);

  // Sections of the plan, in its order.
  enum Section {
    Symbols,
    Groups,
    Ranges,
    Inputs,
    Caches,
    Tables,
    Weights,
    Flags,
    Kernels,
    Streams,
    NumSections
  };
  mlir::OpBuilder &in(Section section);
  template <typename OpTy, typename... Args>
  OpTy make(Section section, mlir::Location loc, Args &&...args) {
    auto op = OpTy::create(in(section), loc, std::forward<Args>(args)...);
    last[section] = op;
    return op;
  }

  launch::PlanOp plan;
  mlir::OpBuilder builder;
  std::array<mlir::Operation *, NumSections> last = {};
  unsigned numWeights = 0;
  bool isSegmented = false;
  llvm::StringMap<mlir::FlatSymbolRefAttr> ranges, groups, flags;
  llvm::StringMap<launch::CacheOp> caches;
  llvm::StringMap<launch::InputOp> inputs;
  mlir::DenseMap<mlir::Type, bool> rangedTypes;
  mlir::DenseMap<mlir::Attribute, mlir::FlatSymbolRefAttr> tables, kernels,
      weights;
};

} // namespace layline

#endif // LAYLINE_LIB_LOWERING_PLANTABLES_H
