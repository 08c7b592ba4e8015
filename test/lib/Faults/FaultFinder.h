//===- FaultFinder.h - the places of a kind of fault ------------*- C++ -*-===//
#ifndef LAYLINE_TEST_LIB_FAULTS_FAULTFINDER_H
#define LAYLINE_TEST_LIB_FAULTS_FAULTFINDER_H

#include "Faults.h"
#include "dialects/Decoder/Decoder.h"
#include "dialects/Grid/Grid.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include <functional>
#include <vector>

namespace layline::test {

/// Collects places. A kind is one function that looks for them and says what to
/// do at each: counting and planting cannot disagree.
class FaultFinder {
public:
  explicit FaultFinder(mlir::ModuleOp module);

  /// Calls `visit` for every op of the type in the planned variants, those in
  /// fused regions included, in program order. Nothing may be changed here.
  template <typename OpTy, typename Visit> void forEach(Visit visit) {
    for (mlir::func::FuncOp variant : variants)
      variant.walk<mlir::WalkOrder::PreOrder>([&](OpTy op) { visit(op); });
  }
  void addPlace(std::function<void()> plant) {
    places.push_back(std::move(plant));
  }

  /// The number of ranks along an axis; 1 if there is no such axis.
  int64_t ranks(mlir::StringAttr axis) const;
  bool hasRanks(mlir::StringAttr axis) const { return ranks(axis) > 1; }
  /// The axes of more than one rank.
  llvm::SmallVector<mlir::StringAttr, 3> axes() const;

  mlir::ModuleOp module;
  llvm::SmallVector<mlir::func::FuncOp> variants;
  std::vector<std::function<void()>> places;
};

//===----------------------------------------------------------------------===//
// Edits
//===----------------------------------------------------------------------===//

/// The local data of `value` taken for that of another layout.
mlir::Value relabel(mlir::OpBuilder &builder, mlir::Value value,
                    grid::LayoutAttr layout);
/// `op` reads its operand in another layout than it is in.
void relabelOperand(mlir::OpOperand &operand, grid::LayoutAttr layout);
/// `op` gives its result in `layout`; its readers take it for what it was.
void relabelResult(mlir::OpResult result, grid::LayoutAttr layout);

/// The op is removed: its readers get `value`.
void bypass(mlir::Operation *op, mlir::Value value);

/// What is yielded, if the value leaves a fused region.
mlir::Value insideOf(mlir::Value value);
/// The value as it can be named at `at`: itself, or a result of the fused
/// region that yields it. Null if it cannot.
mlir::Value visibleAt(mlir::Value value, mlir::Operation *at);

/// The split with its last link dealt out in another way.
grid::SplitAttr withLastLink(grid::SplitAttr split, grid::PartitionKind kind,
                             int64_t argument = 0);
grid::SplitAttr lastLink(grid::SplitAttr split);
bool isCollective(mlir::Operation *op);
bool paysSum(mlir::Operation *op);
/// The layout of a value; null if it has none.
inline grid::LayoutAttr layoutOf(mlir::Value value) {
  return grid::getLayout(value.getType());
}
inline mlir::Value withLayout(mlir::Value value, grid::LayoutAttr layout) {
  value.setType(grid::withLayout(
      mlir::cast<mlir::RankedTensorType>(value.getType()), layout));
  return value;
}

/// As a planner that made the mistake would go on: types of results that follow
/// from operands are inferred again where the operands may be taken at all.
void settleTypes(mlir::func::FuncOp function);

//===----------------------------------------------------------------------===//
// The kinds: see the table in Faults.cpp
//===----------------------------------------------------------------------===//

#define LAYLINE_FAULTS(X)                                                                           \
  X(DropReduce)                                                                                     \
  X(DispatchedByOtherIds)                                                                           \
  X(ExpertsOfOtherDispatch)                                                                         \
  X(CombinedByOtherIds)                                                                             \
  X(DispatchedToFewerExperts)                                                                       \
  X(CombineAsReduceScatter)                                                                         \
  X(ExpertsShifted)                                                                                 \
  X(DropGather)                                                                                     \
  X(OutputLeftInParts)                                                                              \
  X(ReduceTwice)                                                                                    \
  X(WrongGroup)                                                                                     \
  X(WrongRoot) X(ScatterWrongAxis) X(GatherWrongDim) X(DeferredSumUnpaid) X(                        \
      DeferredSumPaidTwice) X(SwapRanksRows) X(SwapRanksColumns) X(GatheredInRankOrder)             \
      X(LocalPosition) X(MaskByLocalIndex) X(RowsOfFirstRank) X(                                    \
          NarrowedWhileNeededWhole) X(PrefixOffsetLost) X(HistoryLost) X(ResidualByRowsWholeAddend) \
          X(NormBeforeReduce) X(NormBeforeResidualAdd) X(NormLost) X(                               \
              ResidualLost) X(ResidualOnEveryRank) X(ReplicatedTakenForOwed)                        \
              X(ResidualOfPreviousBlock) X(BiasOnEveryRank) X(BiasLost) X(                          \
                  RopeLost) X(ScaleLost) X(KeysAndValuesSwapped) X(GateAndUpSwapped)                \
                  X(NeighbourWeightSlice) X(FusedQkvSlice) X(WrongWeight) X(                        \
                      WrongLayersWeight) X(KvHeadModulo) X(KvHeadOfFirstRank)                       \
                      X(ReplicatedHeadCountedTwice) X(StatisticsOfAllReaders) X(                    \
                          NormWidthOfPart) X(ColumnsOfNeighbour) X(PaddedHeadInNorm)                \
                          X(QuantizeScaleOfOtherRow) X(EpsChanged) X(                               \
                              NormWeightOffsetLost) X(NormWeightOffsetAdded)                        \
                              X(WindowChanged) X(WindowLost) X(WindowAdded) X(                      \
                                  CausalLost) X(AttentionScaleChanged)                              \
                                  X(ScaleChanged) X(SoftcapChanged) X(                              \
                                      SoftcapLost) X(PeriodicRowsTakenStacked)                      \
                                      X(RopeStyleChanged) X(RopeTableChanged) X(                    \
                                          ActivationChanged) X(ScoringChanged)                      \
                                          X(RenormalizeFlipped) X(TopKChanged) X(                   \
                                              WrongLayersCache) X(OtherPlanesCache)                 \
                                              X(VariantRangeOverlap) X(                             \
                                                  VariantRangeGap) X(CollectiveOrder)               \
                                                  X(EventLost) X(AfterLost) X(                      \
                                                      StepsSwapped) X(WrongFlag)                    \
                                                      X(BufferReusedWhileLive) X(                   \
                                                          LifeTooShort)                             \
                                                          X(ArenaTooSmall) X(                       \
                                                              RowBoundaryOffByOne)                  \
                                                              X(RemainderRowsLost)                  \
                                                                  X(ZigzagHalvesSwapped)

#define LAYLINE_DECLARE(name) void find##name(FaultFinder &finder);
LAYLINE_FAULTS(LAYLINE_DECLARE)
#undef LAYLINE_DECLARE

} // namespace layline::test

#endif // LAYLINE_TEST_LIB_FAULTS_FAULTFINDER_H
