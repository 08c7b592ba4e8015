//===- StepWork.h - the kind of work of a plan's step -----------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_STEPWORK_H
#define LAYLINE_LIB_TRACE_STEPWORK_H

#include "layline/Trace/ExpectedProgram.h"
#include "plan/StepKind.h"

namespace layline::trace {

/// As coarse as kernels tell it apart.
Work workOf(runtime::StepKind kind);

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_STEPWORK_H
