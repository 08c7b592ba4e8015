// The step kinds on cards: one function each, that adds a step's commands.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_STEPS_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_STEPS_H

#include "devices/cuda/ProgramBuilder.h"

#include <string>

namespace layline::runtime::cuda {

using StepFunction = void (*)(ProgramBuilder &, const Step &);

/// Null for `fused`, which is its body.
StepFunction functionOf(StepKind kind);

/// "step 's20' (all_reduce, layer.3.mlp_out)", for messages.
std::string titleOf(const Step &step);

/// Throws Error (LAYLINE_REFUSED_FEATURE) that names the first step of the plan
/// that the device cannot run, and why.
void checkSteps(const Plan &plan);

// StepsElementwise.cpp
void addElementwise(ProgramBuilder &builder, const Step &step);
// StepsMove.cpp
void addEmbedding(ProgramBuilder &builder, const Step &step);
void addCast(ProgramBuilder &builder, const Step &step);
void addSlice(ProgramBuilder &builder, const Step &step);
void addSliceColumns(ProgramBuilder &builder, const Step &step);
void addConcatColumns(ProgramBuilder &builder, const Step &step);
void addCacheAppend(ProgramBuilder &builder, const Step &step);
// StepsRows.cpp
void addNorm(ProgramBuilder &builder, const Step &step);
void addRowSquares(ProgramBuilder &builder, const Step &step);
void addNormBy(ProgramBuilder &builder, const Step &step);
void addRope(ProgramBuilder &builder, const Step &step);
void addQuantize(ProgramBuilder &builder, const Step &step);
void addDequantize(ProgramBuilder &builder, const Step &step);
// StepsModel.cpp
void addLinear(ProgramBuilder &builder, const Step &step);
void addAttention(ProgramBuilder &builder, const Step &step);
void addLatentAttention(ProgramBuilder &builder, const Step &step);
void addIndexer(ProgramBuilder &builder, const Step &step);
void addRouter(ProgramBuilder &builder, const Step &step);
void addExperts(ProgramBuilder &builder, const Step &step);
void addExpertBias(ProgramBuilder &builder, const Step &step);
// StepsCollective.cpp
void addAllReduce(ProgramBuilder &builder, const Step &step);
void addReduceScatter(ProgramBuilder &builder, const Step &step);
void addAllGather(ProgramBuilder &builder, const Step &step);
void addBroadcast(ProgramBuilder &builder, const Step &step);
void addDispatch(ProgramBuilder &builder, const Step &step);
void addCombine(ProgramBuilder &builder, const Step &step);

/// Blocks for elements that a thread takes one at a time, several times over.
inline std::int64_t blocksForElements(std::int64_t count) {
  constexpr std::int64_t kPerBlock = local::kThreads * 4;
  return (count + kPerBlock - 1) / kPerBlock;
}

local::Function functionFor(runtime::Function function);

/// The rank's part of the experts of an `experts` step (StepsModel.cpp).
void setExperts(const RankView &rank, const Step &step,
                local::ExpertWeights &p);

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_STEPS_H
