// What launches move, by their formulas: the bytes and flags that the emulator
// counts, and of what crosses the wire those that the planner prices
// (docs/kernels.md). Host code without CUDA.
#ifndef LAYLINE_RUNTIME_KERNELS_TRAFFIC_H
#define LAYLINE_RUNTIME_KERNELS_TRAFFIC_H

#include "Catalogue.h"

#include <cstdint>

namespace layline::kernels {

/// Of one launch, by the rank that it runs on. Bytes; flags are stores to
/// them, what waits for a flag or polls a mailbox is not counted: it depends on
/// who waits for whom.
struct Traffic {
  std::int64_t localRead = 0, localWrite = 0;
  std::int64_t peerRead = 0, peerWrite = 0;
  std::int64_t multicastRead = 0, multicastWrite = 0;
  std::int64_t localFlags = 0, peerFlags = 0;
  bool operator==(const Traffic &other) const;
  Traffic &operator+=(const Traffic &other);
};

/// Of row_collective, gather_rows and one_shot; of one_shot in a row of
/// launches of equal size, so that what it empties is what it fills.
Traffic trafficOf(const Variant &variant, const Problem &problem,
                  const LaunchShape &shape, std::int64_t rank);

/// Of `trafficOf`, what a row_collective or one_shot reads again of vectors
/// that all rows share: from the second row on they come out of a cache. A
/// planner counts them once.
std::int64_t rereadBytes(const Variant &variant, const Problem &problem,
                         std::int64_t rows);

struct RopeRows {
  std::int64_t tokens = 0; ///< of all ranks
  std::int64_t heads = 0, headWidth = 0, rotary = 0;
};
Traffic trafficOf(const Variant &variant, const RopeRows &rows,
                  const LaunchShape &shape, std::int64_t rank);

struct BroadcastBytes {
  std::int64_t bytes = 0, chunkBytes = 0; ///< multiples of 16
  std::int64_t root = 0;
  bool inPlace = false; ///< `from` is the root's own `to`
};
Traffic trafficOf(const Variant &variant, const BroadcastBytes &sent,
                  const LaunchShape &shape, std::int64_t rank);

/// Of pack_pages and scatter_pages. The shape's grid counts the blocks of a
/// plane.
struct PagedBytes {
  std::int64_t planes = 0, tokens = 0;
  std::int64_t rowBytes = 0; ///< of a token of a plane
  std::int64_t chunkTokens = 0;
  bool hasFlags = false;
  bool packedIsPeers = false; ///< the buffer, and with it the flags
  /// What is moved at a time: 16 bytes, or 4 (PagedRowsParams).
  std::int64_t unitBytes = 16;
};
Traffic trafficOf(const Variant &variant, const PagedBytes &moved,
                  const LaunchShape &shape);

/// Of sort_by_expert (its grid is the experts), permute_rows, merge_experts.
struct ExpertRows {
  std::int64_t tokens = 0, chosen = 0, width = 0;
  std::int64_t placed = 0; ///< choices of this rank's experts
  bool hasShared = false;
};
Traffic trafficOf(const Variant &variant, const ExpertRows &rows,
                  const LaunchShape &shape);

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_TRAFFIC_H
