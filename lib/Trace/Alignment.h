//===- Alignment.h - events along expected programs -------------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_ALIGNMENT_H
#define LAYLINE_LIB_TRACE_ALIGNMENT_H

#include "Covers.h"

namespace layline::trace {

/// Where an event stands after the alignment.
struct Place {
  int32_t program = -1, first = -1, last = -1; ///< steps that it does
  bool moves = false;      ///< false: the place is that of the event before
  bool beginsPass = false; ///< the first of a forward pass that does a step
  bool jumps = false;      ///< steps in front were left out at once
};

/// Aligns the events, in order of time, with passes through the programs, at
/// least cost (docs/traces.md): dynamic programming over steps, with memory
/// that does not grow with the number of events. Every event gets a place; one
/// that does nothing that is expected there does not move.
std::vector<Place> align(const std::vector<ExpectedProgram> &programs,
                         const DeviceTrace &trace,
                         const std::vector<Family> &families);

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_ALIGNMENT_H
