//===- ExactPlan.h - a loaded plan, to be run exactly -----------*- C++ -*-===//
#ifndef LAYLINE_VERIFICATION_EXACTPLAN_H
#define LAYLINE_VERIFICATION_EXACTPLAN_H

#include "layline/Exact/Program.h"

namespace layline::runtime {
struct Plan;
struct Variant;
} // namespace layline::runtime

namespace layline {

/// A variant of a plan that the loader has accepted, as the exact check takes
/// it: steps in list order, rows dealt out by the plan's own expressions. Keeps
/// no reference to the plan but in its segment functions: the plan has to
/// outlive the program.
exact::Program buildExactProgram(const runtime::Plan &plan,
                                 const runtime::Variant &variant);

} // namespace layline

#endif // LAYLINE_VERIFICATION_EXACTPLAN_H
