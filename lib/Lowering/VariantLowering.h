//===- VariantLowering.h - a function as a variant of the plan --*- C++ -*-===//
#ifndef LAYLINE_LIB_LOWERING_VARIANTLOWERING_H
#define LAYLINE_LIB_LOWERING_VARIANTLOWERING_H

#include "PlanTables.h"
#include "SiteBytes.h"
#include "StepTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace layline {

/// Function attributes that planning leaves on a variant.
inline constexpr llvm::StringLiteral kTokens = "grid.tokens";
inline constexpr llvm::StringLiteral kBoundaries = "grid.boundaries";
inline constexpr llvm::StringLiteral kSites = "grid.sites";
/// Result attribute: the name of an output.
inline constexpr llvm::StringLiteral kOutput = "decoder.output";

/// Writes the steps of one function into a launch.variant.
class VariantLowering {
public:
  VariantLowering(PlanTables &tables, launch::VariantOp variant)
      : tables(tables), sites(tables), variant(variant),
        builder(mlir::OpBuilder::atBlockEnd(&variant.getBody().front())) {}

  mlir::LogicalResult lower(mlir::func::FuncOp function);

private:
  /// A value of the program: a buffer, seen as a type that may not be its own.
  struct Ref {
    launch::BufferOp buffer;
    mlir::RankedTensorType type;
  };

  mlir::LogicalResult lowerArguments(mlir::func::FuncOp function);
  mlir::LogicalResult lowerOp(mlir::Operation &op);
  mlir::LogicalResult lowerFused(grid::FusedOp op);
  mlir::LogicalResult lowerReturn(mlir::func::FuncOp function,
                                  mlir::func::ReturnOp op);
  mlir::LogicalResult lowerSites(mlir::func::FuncOp function);

  mlir::FailureOr<launch::BufferOp>
  createBuffer(mlir::Location loc, mlir::Type type, launch::BufferClass kind);
  /// Buffers for the results that steps write.
  mlir::LogicalResult createResults(mlir::Operation &op,
                                    launch::BufferClass kind);
  /// The step of an op whose operands and results are lowered.
  mlir::FailureOr<launch::StepOp>
  createStep(mlir::Operation &op, const mlir::Twine &id, StepSpec &spec);
  mlir::FailureOr<mlir::Attribute>
  resolve(mlir::Operation &op, mlir::Value value, launch::BufferOp &buffer);
  void lowerView(mlir::Operation &op);

  PlanTables &tables;
  SiteBytes sites;
  launch::VariantOp variant;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, Ref> refs;
  unsigned numBuffers = 0, numSteps = 0;
};

} // namespace layline

#endif // LAYLINE_LIB_LOWERING_VARIANTLOWERING_H
