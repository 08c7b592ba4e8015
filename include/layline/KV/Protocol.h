//===- Protocol.h - who may say ready, and what may be reused ---*- C++ -*-===//
//
// A simulation of requests that follow the rules that are in their plan, and
// tries to break them. The plan says
//
//   readiness   how many reports of which senders a target waits for, when they
//               are sent, how they are counted, whom they name and whether a
//               failure stays;
//   lifetimes   from when until when pages and slots are pinned, also of a
//               request that has failed;
//   relay       which writes go through which slot.
//
// A plan with a rule changed is simulated as it stands: what goes wrong is what
// the rule is for.
//
// Requests share small pools, so that pages are reused at once. What a write
// brings is what the source's page, or its slot, holds when it arrives.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_KV_PROTOCOL_H
#define LAYLINE_KV_PROTOCOL_H

#include "kv/Plan.h"

#include <cstdint>
#include <string>

namespace layline::kv {

/// Chances, 0 to 1, each for one message, write or request.
struct ProtocolFaults {
  double drop = 0;      ///< a report or a call to stop is lost
  double repeat = 0;    ///< a report comes twice
  double delay = 0;     ///< a write or report takes fifty times as long
  double failWrite = 0; ///< a write does not happen, and its sender sees that
  double abort = 0;     ///< the request is given up while it is under way
  double freeEarly = 0; ///< the target frees the pages before it is ready
};

struct ProtocolOptions {
  std::int64_t requests = 200;
  std::int64_t tokens = 256; ///< of each
  std::int64_t rooms = 4; ///< of which as many requests are under way at once
  std::uint64_t seed = 1;
  ProtocolFaults faults;
};

struct ProtocolResult {
  std::int64_t ready = 0, failed = 0;
  std::int64_t stuck = 0; ///< neither in the end
  std::int64_t dropped = 0, repeated = 0, late = 0, failedWrites = 0,
               aborted = 0, freedEarly = 0;
  /// Pages that had to wait for a writer.
  std::int64_t heldPages = 0;
  /// Of the first request that was said to be ready without all its bytes, or
  /// that lost some while it was used; else empty.
  std::string fault;
};

/// Throws runtime::Error if the plan cannot be bound.
ProtocolResult simulateProtocol(const Plan &plan,
                                const ProtocolOptions &options);

} // namespace layline::kv

#endif // LAYLINE_KV_PROTOCOL_H
