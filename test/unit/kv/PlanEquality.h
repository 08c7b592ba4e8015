//===- PlanEquality.h - plans compared member by member ---------*- C++ -*-===//
#ifndef LAYLINE_TEST_UNIT_KV_PLANEQUALITY_H
#define LAYLINE_TEST_UNIT_KV_PLANEQUALITY_H

#include "kv/Plan.h"

#include <tuple>

namespace layline::kv {

inline auto tie(const Plane &p) {
  return std::tie(p.name, p.dtype, p.heads, p.headBytes, p.isState, p.window,
                  p.layers);
}
inline auto tie(const Placement &p) {
  return std::tie(p.buffer, p.pageBytes, p.offset, p.tokenStride, p.headStride,
                  p.heads);
}
inline auto tie(const Buffer &b) {
  return std::tie(b.name, b.table, b.pageBytes);
}
inline auto tie(const Rank &r) {
  return std::tie(r.pp, r.dp, r.cp, r.tp, r.tokens, r.headIndex, r.layers);
}
inline auto tie(const LayerRun &r) {
  return std::tie(r.source, r.target, r.count);
}
inline auto tie(const Policy &p) {
  return std::tie(p.roundsToPages, p.prefixUnit, p.maxDescriptors, p.slotBytes);
}

inline bool operator==(const Plane &a, const Plane &b) {
  return tie(a) == tie(b);
}
inline bool operator==(const Placement &a, const Placement &b) {
  return tie(a) == tie(b);
}
inline bool operator==(const Buffer &a, const Buffer &b) {
  return tie(a) == tie(b);
}
inline bool operator==(const Rank &a, const Rank &b) {
  return tie(a) == tie(b);
}
inline bool operator==(const LayerRun &a, const LayerRun &b) {
  return tie(a) == tie(b);
}
inline bool operator==(const Policy &a, const Policy &b) {
  return tie(a) == tie(b);
}

inline bool operator==(const Side &a, const Side &b) {
  return std::tie(a.spec, a.pageTokens, a.headParts, a.buffers, a.planes,
                  a.ranks) == std::tie(b.spec, b.pageTokens, b.headParts,
                                       b.buffers, b.planes, b.ranks);
}
inline bool operator==(const Move &a, const Move &b) {
  return std::tie(a.planes, a.grain, a.sourceHead, a.targetHead, a.heads,
                  a.share, a.layers) == std::tie(b.planes, b.grain,
                                                 b.sourceHead, b.targetHead,
                                                 b.heads, b.share, b.layers);
}
inline bool operator==(const Transfer &a, const Transfer &b) {
  return std::tie(a.source, a.target, a.packing, a.batching, a.isWithLastChunk,
                  a.moves) == std::tie(b.source, b.target, b.packing,
                                       b.batching, b.isWithLastChunk, b.moves);
}
inline bool operator==(const Readiness &a, const Readiness &b) {
  return std::tie(a.when, a.counting, a.reporting, a.naming, a.failure, a.keys,
                  a.targets) == std::tie(b.when, b.counting, b.reporting,
                                         b.naming, b.failure, b.keys,
                                         b.targets);
}
inline bool operator==(const Relay &a, const Relay &b) {
  return a.lanes == b.lanes && a.slots == b.slots;
}
inline auto tie(const Plan &p) {
  return std::tie(p.model, p.profile, p.planes, p.source, p.target, p.policy,
                  p.transfers, p.responders, p.readiness, p.lifetimes, p.relay,
                  p.sourceDigests, p.targetDigests);
}
inline bool operator==(const Plan &a, const Plan &b) {
  return tie(a) == tie(b);
}

} // namespace layline::kv

#endif // LAYLINE_TEST_UNIT_KV_PLANEQUALITY_H
