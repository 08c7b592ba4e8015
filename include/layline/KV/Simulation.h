//===- Simulation.h - a plan's bytes, moved and compared --------*- C++ -*-===//
//
// Gives every rank of both sides real buffers, fills those of the source with
// bytes that say what they are (plane, layer, head, token, byte), carries out
// all descriptors of all pairs, chunk by chunk, and compares every byte of the
// target. What must be where is found token by token from the layouts alone,
// with none of the code that makes descriptors.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_KV_SIMULATION_H
#define LAYLINE_KV_SIMULATION_H

#include "kv/Plan.h"
#include "kv/Tokens.h"

#include <cstdint>
#include <string>
#include <vector>

namespace layline::kv {

struct SimulationOptions {
  std::int64_t tokens = 0;
  std::int64_t prefix = 0; ///< that the targets have already
  std::int64_t room = 0;
  /// Ends of chunks, ascending, the last at `tokens`; empty: one chunk.
  std::vector<std::int64_t> chunkEnds;
  /// Pages of a request lie in order of this seed; 0: one after the other.
  std::uint64_t seed = 0;
  /// Page tables begin with the first page that is needed behind the prefix;
  /// else with the request.
  bool omitsPrefixPages = false;
  /// Packed transfers go through scratch buffers; else block by block.
  bool packs = true;
};

struct SimulationResult {
  std::int64_t bytes = 0;       ///< written, all targets
  std::int64_t descriptors = 0; ///< sent
  std::int64_t blocks = 0;      ///< descriptors if nothing were packed
  std::int64_t batches = 0;
  std::int64_t twice = 0; ///< bytes of the targets written more than once
  /// Empty if every byte is right; else the first that is not: where it is,
  /// what was found, what was expected.
  std::string fault;
};

/// Throws runtime::Error if the plan cannot be bound.
SimulationResult simulate(const Plan &plan, const SimulationOptions &options);

} // namespace layline::kv

#endif // LAYLINE_KV_SIMULATION_H
