// Which input a buffer's rows come from, through steps that only move rows.
#ifndef LAYLINE_RUNTIME_PLAN_POSITIONSOURCE_H
#define LAYLINE_RUNTIME_PLAN_POSITIONSOURCE_H

#include "plan/Plan.h"

namespace layline::runtime {

/// By buffer: index of the input, -1 if it is computed.
std::vector<int> inputOfBuffers(const Variant &variant);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_POSITIONSOURCE_H
