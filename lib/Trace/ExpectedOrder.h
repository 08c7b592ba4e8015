//===- ExpectedOrder.h - orders that engines launch in ----------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_EXPECTEDORDER_H
#define LAYLINE_LIB_TRACE_EXPECTEDORDER_H

#include "layline/Trace/ExpectedProgram.h"

namespace layline::trace {

/// Products of one value follow each other, and the rotations of a layer's
/// attention stand where its last one stood: engines run one kernel for each.
void groupSiblings(std::vector<ExpectedStep> &steps);

/// Shared experts stand in front of the router; false if there are none.
bool moveSharedExpertsFirst(std::vector<ExpectedStep> &steps);

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_EXPECTEDORDER_H
