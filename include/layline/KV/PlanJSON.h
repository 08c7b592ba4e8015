//===- PlanJSON.h - kv.json -------------------------------------*- C++ -*-===//
//
// docs/kv.md has the format; runtime/kv/ParsePlan.h reads it.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_KV_PLANJSON_H
#define LAYLINE_KV_PLANJSON_H

#include "kv/Plan.h"

#include <string>

namespace layline::kv {

/// The plan as text: the same for equal plans, a move on a line.
std::string toJSON(const Plan &plan);

} // namespace layline::kv

#endif // LAYLINE_KV_PLANJSON_H
