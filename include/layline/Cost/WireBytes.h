//===- WireBytes.h - bytes that a rank sends in a collective ----*- C++ -*-===//
//
// What one rank puts on the wire, by form:
//
// * ring: the ranks exchange parts with one another. A direct exchange sends
// the
//   same bytes as a ring where the parts are equal (Thakur, Rabenseifner,
//   Gropp: Optimization of Collective Communication Operations in MPICH, 2005).
//     reduce_scatter  total - part       (its addend of everyone else's part)
//     all_gather      (P - 1) * part     (its part to everyone else)
//     all_reduce      the sum of both
// * switch: the switch adds and multicasts (NVLink SHARP, `multimem`).
//     reduce_scatter  total    (the switch reads every rank's addend of every
//                               part, also of the one that the rank keeps)
//     all_gather      part     (stored once, multicast by the switch)
//     all_reduce      the sum of both
//
// `total` is the bytes of the global tensor, `part` those of the rank's rows.
// With equal parts an all_reduce is 2 (P - 1) / P * total by ring and
// (1 + 1 / P) * total by switch. A group of one rank sends nothing.
//
// Fewer bytes are not less time (docs/rationale.md): these numbers explain a
// plan, they do not choose it.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_COST_WIREBYTES_H
#define LAYLINE_COST_WIREBYTES_H

#include "layline/Support/Expr.h"
#include <cstdint>

namespace layline {

enum class WireCollective { AllReduce, ReduceScatter, AllGather };

struct WireBytes {
  Expr ring = 0;
  Expr viaSwitch = 0;

  WireBytes &operator+=(const WireBytes &other) {
    ring = ring + other.ring;
    viaSwitch = viaSwitch + other.viaSwitch;
    return *this;
  }
};

WireBytes getWireBytes(WireCollective collective, const Expr &total,
                       const Expr &part, int64_t ranks);

/// The same as numbers, for `rows` rows of `rowBytes` dealt out by block, of
/// the rank that sends most.
struct WireByteCount {
  int64_t ring = 0;
  int64_t viaSwitch = 0;
};
WireByteCount countWireBytes(WireCollective collective, int64_t rows,
                             int64_t rowBytes, int64_t ranks);

} // namespace layline

#endif // LAYLINE_COST_WIREBYTES_H
