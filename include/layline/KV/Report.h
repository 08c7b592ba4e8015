//===- Report.h - what a plan costs on the wire -----------------*- C++ -*-===//
//
// Counts are those of descriptors made for a request with page tables of the
// caller's kind, never inferred from one another: batches, descriptors, work
// requests and bytes are counted each.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_KV_REPORT_H
#define LAYLINE_KV_REPORT_H

#include "kv/Plan.h"
#include "kv/Tokens.h"
#include "layline/KV/Model.h"
#include "layline/KV/SideSpec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace layline::kv {

/// How pages of a request lie in a pool.
enum class PageOrder {
  Contiguous, ///< one after the other
  Fragmented, ///< no two neighbours are neighbours
};

struct TrafficOptions {
  std::int64_t tokens = 0, prefix = 0, room = 0;
  /// Tokens of a chunk; 0: the request is one chunk.
  std::int64_t chunk = 0;
  PageOrder pages = PageOrder::Contiguous;
  /// Real page tables begin with the first page that is needed behind the
  /// prefix. Counts do not depend on it.
  bool omitsPrefixPages = false;
};

/// [begin, end) cut where a grid that starts at `base` has its lines.
std::vector<Interval> cutOnGrid(Interval range, std::int64_t base,
                                std::int64_t grid);
/// Ends of the chunks of a request. A page that a chunk ends in is left to the
/// next one: all but the last end with a page.
std::vector<std::int64_t> getChunkEnds(const TrafficOptions &options,
                                       std::int64_t pageTokens);

/// What a binding is told of the request, chunk by chunk.
std::vector<Request> getRequests(const TrafficOptions &options,
                                 std::int64_t pageTokens);

struct Traffic {
  std::int64_t batches = 0;     ///< calls of the engine
  std::int64_t descriptors = 0; ///< in all of them
  std::int64_t regions = 0;     ///< strided ones that give the same bytes
  std::int64_t bytes = 0;
  /// RDMA work requests: a descriptor is cut every 64 KiB, and a last piece of
  /// up to 16 KiB stays with the one before (Mooncake's transfer engine).
  std::int64_t workRequests = 0;
  std::int64_t packedBytes = 0; ///< copied to and from scratch buffers
  /// Most descriptors of one batch, and the batch with the most bytes.
  std::int64_t largestBatch = 0, largestBatchBytes = 0;
  /// A block is one run of bytes on the source and steps on: what a batch of
  /// blocks is not is one copy.
  std::int64_t blockBytes = 0, sourceStep = 0, targetStep = 0; ///< of the first

  void add(const Traffic &other);
};

struct PairTraffic {
  int source = 0, target = 0;
  Traffic traffic;
};

struct MigrationTraffic {
  std::vector<PairTraffic> pairs; ///< that send anything, by target and source
  std::vector<Traffic> bySource;  ///< by source rank
  std::vector<Traffic> byTarget;
  Traffic total;
  /// Most bytes of a source rank over the mean of all that keep anything of the
  /// request: 1 is even.
  double imbalance = 0;
};

/// Work requests of one descriptor.
std::int64_t countWorkRequests(std::int64_t bytes);

MigrationTraffic measureTraffic(const Plan &plan,
                                const TrafficOptions &options);

/// What an engine costs. Times are microseconds.
struct EngineCost {
  std::string name;
  double perDescriptor = 0, perBatch = 0;
  double bytesPerMicrosecond = 0;
  double packBytesPerMicrosecond = 0; ///< of one copy into a scratch buffer
  std::string source;                 ///< where the figures are from
};
/// "mooncake-tcp", "nixl-tcp": measured on loopback (docs/kv.md).
const std::vector<EngineCost> &getEngineCosts();

/// Microseconds until the last byte has arrived: the busiest rank of either
/// side. Batches of one rank share its link; `lanes` of them are in flight.
double estimateTime(const MigrationTraffic &traffic, const EngineCost &cost,
                    std::int64_t lanes);

/// Tokens [begin, end) of a chunk that a cp rank computes, in the rank's order.
std::vector<Interval> getComputed(const SideSpec &spec, std::int64_t cp,
                                  Interval chunk);

/// The share of the index planes in bytes per token and layer that has both,
/// and over all layers; none if the model has no index.
struct IndexShare {
  double perLayer = 0, overall = 0;
};
std::optional<IndexShare> getIndexShare(const std::vector<Plane> &planes);

/// How many times the tokens a pool holds if its layers are divided among cp
/// ranks, with so many scratch layers: L / (ceil(L / cp) + scratch).
double getCapacityGain(std::int64_t layers, std::int64_t cp,
                       std::int64_t scratch);

/// What a layer waits for when its owner broadcasts the index, then the main
/// cache while the indexer runs: B_i + max(0, B_k - I). Microseconds.
double getExposed(double indexBroadcast, double mainBroadcast, double indexer);

/// Where one element of a target comes from.
struct Origin {
  int source = 0;
  std::string plane;
  std::int64_t sourcePage = 0, sourceSlot = 0; ///< entry of the page table
  std::int64_t targetPage = 0, targetSlot = 0;
  std::int64_t sourceByte = 0, targetByte = 0; ///< in the page
  std::int64_t bytes = 0;
  std::int64_t batch = 0, descriptor = 0; ///< of the pair, in the chunk
  std::int64_t chunk = 0;
  Packing packing = Packing::None;
};
/// Every write of the element, one for each plane that has the layer and head.
std::vector<Origin> explainElement(const Plan &plan,
                                   const TrafficOptions &options, int target,
                                   std::int64_t layer, std::int64_t token,
                                   std::int64_t head);

} // namespace layline::kv

#endif // LAYLINE_KV_REPORT_H
