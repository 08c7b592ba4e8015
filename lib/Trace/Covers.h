//===- Covers.h - which steps one kernel may do -----------------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_COVERS_H
#define LAYLINE_LIB_TRACE_COVERS_H

#include "layline/Trace/ExpectedProgram.h"

namespace layline::trace {

/// Steps first..last of a program as the work of one kernel, and how unusual
/// that is: 0 if it is what kernels of the family do.
struct Cover {
  int32_t first, last;
  float cost;
};

/// All that a kernel of a family may do, for every family.
std::vector<std::vector<Cover>> findCovers(const ExpectedProgram &program);

/// What it costs that a kernel goes on with the step that the one before it
/// ended with: several kernels of routing, parts of an attention. Negative: it
/// never does.
float continueCost(Family family, const ExpectedStep &step);

/// Products as the operator that launched a kernel states them: rows times
/// [in, out]. Nothing if it is none, or its dimensions are not known.
struct ProductSizes {
  int64_t in = 0, out = 0;
};
std::optional<ProductSizes> productSizes(const HostOperator &op);
/// Width of the rows that a norm's operator works on; -1: not known.
int64_t normWidth(const HostOperator &op);

/// Elements of the whole value that a collective was called with; -1: not
/// known.
int64_t calledElements(const HostOperator *op, Work work, int64_t ranks);

enum class Fit { Unknown, Sizes, Differs };
/// Whether the operator's dimensions are those of the steps.
Fit fitSizes(const ExpectedProgram &program, const Cover &cover,
             const HostOperator *op);

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_COVERS_H
