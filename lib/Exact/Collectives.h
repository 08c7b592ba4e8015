//===- Collectives.h - ops that ranks run together --------------*- C++ -*-===//
#ifndef LAYLINE_LIB_EXACT_COLLECTIVES_H
#define LAYLINE_LIB_EXACT_COLLECTIVES_H

#include "Kernels.h"

namespace layline::exact {

bool isCollective(OpKind kind);

/// The sum of tensors of one shape.
Tensor sumOnce(const std::vector<Tensor> &addends, Memo &memo);

/// Runs a collective of the ranks `group` on their `inputs`; `outputs` are
/// theirs in the same order. On a fault `call` has it, with its rank.
void runCollective(KernelCall &call, const std::vector<int64_t> &group,
                   const std::vector<Tensor> &inputs,
                   std::vector<Tensor> &outputs);

/// Whether the collective moves rows to the ranks of their experts or back.
bool isRouting(OpKind kind);

/// Runs such a collective; `inputs` are by operand and member, `outputs` by
/// result and member.
void runRouting(KernelCall &call, const std::vector<int64_t> &group,
                const std::vector<std::vector<Tensor>> &inputs,
                std::vector<std::vector<Tensor>> &outputs);

} // namespace layline::exact

#endif // LAYLINE_LIB_EXACT_COLLECTIVES_H
