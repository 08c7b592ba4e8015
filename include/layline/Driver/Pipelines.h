//===- Pipelines.h - the phases as named pass pipelines ---------*- C++ -*-===//
#ifndef LAYLINE_DRIVER_PIPELINES_H
#define LAYLINE_DRIVER_PIPELINES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace layline {

/// decoder IR -> layouts and plain all-reduces. Keeps the reference program.
struct PlacementOptions : mlir::PassPipelineOptions<PlacementOptions> {
  Option<int64_t> tp{*this, "tp", llvm::cl::desc("Ranks."), llvm::cl::init(1)};
  Option<int64_t> cp{*this, "cp",
                     llvm::cl::desc("Ranks that share the tokens."),
                     llvm::cl::init(1)};
  Option<std::string> cpSplit{
      *this, "cp-split",
      llvm::cl::desc("zigzag, contiguous, interleave or interleave:I."),
      llvm::cl::init("zigzag")};
  Option<int64_t> ep{*this, "ep",
                     llvm::cl::desc("Ranks that share out whole experts."),
                     llvm::cl::init(1)};
  Option<bool> even{*this, "even",
                    llvm::cl::desc("Refuse parts of different sizes."),
                    llvm::cl::init(false)};
  ListOption<std::string> replicate{
      *this, "replicate",
      llvm::cl::desc("Chains of products whose weights every rank holds.")};
};
void buildPlacementPipeline(mlir::OpPassManager &manager,
                            const PlacementOptions &options);

/// Placed program -> one rewritten, fused variant per token range.
struct PlanningOptions : mlir::PassPipelineOptions<PlanningOptions> {
  Option<int64_t> minTokens{
      *this, "min-tokens", llvm::cl::desc("Fewest tokens."), llvm::cl::init(1)};
  Option<int64_t> maxTokens{*this, "max-tokens", llvm::cl::desc("Most tokens."),
                            llvm::cl::init(8192)};
  Option<std::string> boundaries{*this, "boundaries",
                                 llvm::cl::desc("auto, rows or whole."),
                                 llvm::cl::init("auto")};
  Option<std::string> experts{
      *this, "experts",
      llvm::cl::desc("How experts get their rows: auto, gathered, dispatched."),
      llvm::cl::init("auto")};
  Option<std::string> launch{
      *this, "launch",
      llvm::cl::desc("auto: kernels are launched by graph or eager."),
      llvm::cl::init("graph")};
  Option<std::string> calibration{
      *this, "calibration",
      llvm::cl::desc("auto: a file of measured latencies."),
      llvm::cl::init("")};
  Option<std::string> kernels{*this, "kernels",
                              llvm::cl::desc("auto: a file of fused kernels."),
                              llvm::cl::init("")};
  Option<bool> fuse{*this, "fuse",
                    llvm::cl::desc("Put a sum and its epilogue in one kernel."),
                    llvm::cl::init(true)};
};
void buildPlanningPipeline(mlir::OpPassManager &manager,
                           const PlanningOptions &options);

/// All static proofs about placed and planned programs.
void buildVerificationPipeline(mlir::OpPassManager &manager);

/// All dialects of Layline and those they are mixed with.
void registerAllDialects(mlir::DialectRegistry &registry);
/// All passes, and the pipelines "layline-place", "layline-plan",
/// "layline-verify", "layline-lower".
void registerAllPasses();

} // namespace layline

#endif // LAYLINE_DRIVER_PIPELINES_H
