// What each step kind asks of its operands' shapes and layouts
// (docs/plan-format.md, the table of steps). Used by the table of kinds.
#ifndef LAYLINE_RUNTIME_PLAN_STEPCONTRACTS_H
#define LAYLINE_RUNTIME_PLAN_STEPCONTRACTS_H

#include "plan/StepContract.h"

namespace layline::runtime {

// StepContractsRows.cpp: work on rows.
void checkEmbedding(const StepContract &);
void checkNorm(const StepContract &);
void checkRowSquares(const StepContract &);
void checkNormBy(const StepContract &);
void checkLinear(const StepContract &);
void checkAddBias(const StepContract &);
void checkRope(const StepContract &);
void checkRowwise(const StepContract &);
void checkGatedActivation(const StepContract &);

// StepContractsMoE.cpp.
void checkRouter(const StepContract &);
void checkExperts(const StepContract &);
void checkAddExpertBias(const StepContract &);

// StepContractsRouting.cpp: rows on the ranks of their experts.
void checkDispatch(const StepContract &);
void checkCombine(const StepContract &);
/// What an experts step asks besides of rows that were dispatched.
void checkRoutedExperts(const StepContract &);

// StepContractsColumns.cpp.
void checkSliceColumns(const StepContract &);
void checkConcatColumns(const StepContract &);
void checkRowScale(const StepContract &);

// StepContractsQuantize.cpp.
void checkQuantize(const StepContract &);
void checkDequantize(const StepContract &);

// StepContractsAttention.cpp.
void checkCacheAppend(const StepContract &);
void checkAttention(const StepContract &);

// StepContractsLatent.cpp.
void checkLatentAttention(const StepContract &);
void checkIndexer(const StepContract &);

// StepContractsMovement.cpp: sums, parts and collectives.
void checkAdd(const StepContract &);
void checkMul(const StepContract &);
void checkLinearElementwise(const StepContract &);
void checkCast(const StepContract &);
void checkSlice(const StepContract &);
void checkAllReduce(const StepContract &);
void checkReduceScatter(const StepContract &);
void checkAllGather(const StepContract &);
void checkBroadcast(const StepContract &);
void checkFused(const StepContract &);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_STEPCONTRACTS_H
