//===- Protocol.h - who may say ready, and what may be reused ---*- C++ -*-===//
//
// The rules by which a plan is carried out, and a simulation that tries to
// break them:
//
//   ready       a target has a request when every responder of the plan has
//               reported that all its bytes have arrived: main cache, state and
//               auxiliary data. Reports are counted by who sent them, so one
//               that comes twice counts once; ranks with nothing to send report
//               too.
//   failure     a request that has failed stays failed, whatever arrives later.
//   pages       of a target are given to another request only when every writer
//               is quiet: has reported, or has said that none of its writes are
//               under way. Freeing, failing and aborting do not change that.
//   sources     keep pages and scratch slots until their writes have completed.
//   numbers     reports name the request, not its room: rooms are used again.
//
// Requests share small pools, so that pages are reused at once. What a write
// brings is what the source's page holds when it arrives.
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

/// What a rule's absence does is what it is for: a test switches each off.
struct ProtocolRules {
  bool waitsForAll = true;     ///< else one report is enough
  bool countsSenders = true;   ///< else reports are counted
  bool reportsArrival = true;  ///< else a source reports when it has posted
  bool failureStays = true;    ///< else a later report mends it
  bool pinsTargetPages = true; ///< else freed pages are free at once
  bool pinsSourcePages = true; ///< else they are free when all is posted
  bool namesRequest = true;    ///< else a report is for who has the room
};

struct ProtocolOptions {
  std::int64_t requests = 200;
  std::int64_t tokens = 256; ///< of each
  std::int64_t rooms = 4; ///< of which as many requests are under way at once
  std::uint64_t seed = 1;
  ProtocolFaults faults;
  ProtocolRules rules;
};

struct ProtocolResult {
  std::int64_t ready = 0, failed = 0;
  std::int64_t stuck = 0; ///< neither in the end
  std::int64_t dropped = 0, repeated = 0, late = 0, failedWrites = 0,
               aborted = 0, freedEarly = 0;
  /// Pages that had to wait for a writer, longest wait in steps of the clock.
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
