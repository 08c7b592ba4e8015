//===- Traffic.cpp - counts of what a plan sends --------------------------===//
#include "RequestPages.h"
#include "layline/KV/Report.h"

#include "kv/Binding.h"
#include "kv/Packing.h"

#include <algorithm>
#include <cmath>

using namespace layline::kv;

std::vector<std::int64_t>
layline::kv::getChunkEnds(const TrafficOptions &options,
                          std::int64_t pageTokens) {
  std::vector<std::int64_t> ends;
  if (options.chunk > 0)
    for (const Interval &chunk :
         cutOnGrid({0, options.tokens}, 0, options.chunk)) {
      std::int64_t end = chunk.end - chunk.end % pageTokens;
      if (chunk.end < options.tokens && end > 0 &&
          (ends.empty() || end > ends.back()))
        ends.push_back(end);
    }
  ends.push_back(options.tokens);
  return ends;
}

std::vector<Request> layline::kv::getRequests(const TrafficOptions &options,
                                              std::int64_t pageTokens) {
  std::vector<Request> requests;
  std::int64_t begin = 0;
  for (std::int64_t end : getChunkEnds(options, pageTokens)) {
    requests.push_back({options.tokens,
                        {begin, end},
                        end == options.tokens,
                        options.prefix,
                        options.room});
    begin = end;
  }
  return requests;
}

std::vector<Interval> layline::kv::cutOnGrid(Interval range, std::int64_t base,
                                             std::int64_t grid) {
  std::vector<Interval> pieces;
  while (range.begin < range.end) {
    std::int64_t line = base + ((range.begin - base) / grid + 1) * grid;
    pieces.push_back({range.begin, std::min(line, range.end)});
    range.begin = pieces.back().end;
  }
  return pieces;
}

std::int64_t layline::kv::countWorkRequests(std::int64_t bytes) {
  constexpr std::int64_t kSlice = 64 << 10, kTail = 16 << 10;
  if (bytes <= kSlice + kTail)
    return bytes > 0;
  // Slices until what is left fits into one with its tail.
  return 1 + (bytes - kTail - 1) / kSlice;
}

void Traffic::add(const Traffic &other) {
  batches += other.batches;
  descriptors += other.descriptors;
  regions += other.regions;
  bytes += other.bytes;
  workRequests += other.workRequests;
  packedBytes += other.packedBytes;
  if (other.largestBatchBytes > largestBatchBytes)
    largestBatchBytes = other.largestBatchBytes;
  largestBatch = std::max(largestBatch, other.largestBatch);
  if (blockBytes == 0) {
    blockBytes = other.blockBytes;
    sourceStep = other.sourceStep;
    targetStep = other.targetStep;
  }
}

RequestPages::RequestPages(const Side &side, const Rank &rank,
                           std::int64_t tokens, PageOrder order) {
  // Addresses far apart: one terabyte a buffer.
  for (std::int64_t i = 0; i < rank.countBuffers(); ++i)
    addresses.push_back((static_cast<std::uint64_t>(i) + 1) << 40);
  std::int64_t count = (tokens + side.pageTokens - 1) / side.pageTokens;
  for (const std::string &name : getTables(side)) {
    std::int64_t pages = name == "state" ? 1 : count;
    std::vector<std::int32_t> table(pages);
    for (std::int64_t i = 0; i < pages; ++i)
      // Even pages upwards, then odd ones: gaps that are never 1.
      table[i] = static_cast<std::int32_t>(order == PageOrder::Contiguous ? i
                                           : i < (pages + 1) / 2
                                               ? 2 * i
                                               : 2 * (i - (pages + 1) / 2) + 1);
    // Also without a regular stride: swap within groups of three.
    if (order == PageOrder::Fragmented)
      for (std::int64_t i = 0; i + 2 < pages; i += 3)
        std::swap(table[i], table[i + 2]);
    tables.push_back(std::move(table));
  }
}

RankMemory RequestPages::getMemory() const {
  RankMemory memory;
  memory.buffers = addresses.data();
  memory.bufferCount = static_cast<std::int64_t>(addresses.size());
  for (const std::vector<std::int32_t> &table : tables)
    memory.tables.push_back(
        {table.data(), static_cast<std::int64_t>(table.size())});
  return memory;
}

static void countPart(const Plan &plan, const Binding &binding,
                      const Part &part, Traffic &traffic) {
  if (part.packing == Packing::None) {
    for (const Batch &batch : binding.getBatches()) {
      if (batch.first < part.first ||
          batch.first >= part.first + part.descriptors)
        continue;
      ++traffic.batches;
      traffic.descriptors += batch.descriptors;
      traffic.bytes += batch.bytes;
      traffic.largestBatch = std::max(traffic.largestBatch, batch.descriptors);
      traffic.largestBatchBytes =
          std::max(traffic.largestBatchBytes, batch.bytes);
    }
    return;
  }
  PackedBinding packed(binding, part);
  std::int64_t copies = part.packing == Packing::Both ? 2 : 1;
  std::vector<Descriptor> descriptors;
  for (const Round &round : packed.getRounds()) {
    ++traffic.batches;
    traffic.descriptors += round.descriptors;
    traffic.bytes += round.bytes;
    traffic.packedBytes += copies * round.bytes;
    traffic.largestBatch = std::max(traffic.largestBatch, round.descriptors);
    traffic.largestBatchBytes =
        std::max(traffic.largestBatchBytes, round.bytes);
    packed.getDescriptors(round, std::uint64_t(1) << 60, std::uint64_t(1) << 61,
                          descriptors);
    for (const Descriptor &one : descriptors)
      traffic.workRequests +=
          countWorkRequests(static_cast<std::int64_t>(one.bytes));
  }
}

static Traffic countBinding(const Plan &plan, const Binding &binding) {
  Traffic traffic;
  std::int64_t number = 0;
  const std::vector<Part> &parts = binding.getParts();
  auto isPacked = [&](std::int64_t descriptor) {
    for (const Part &part : parts)
      if (descriptor >= part.first &&
          descriptor < part.first + part.descriptors)
        return part.packing != Packing::None;
    return false;
  };
  binding.forEachRegion(
      0, binding.countRegions(), [&](const BoundRegion &bound) {
        const Region &region = bound.region;
        ++traffic.regions;
        if (traffic.blockBytes == 0) {
          traffic.blockBytes = region.bytes;
          traffic.sourceStep = region.sourceStep;
          traffic.targetStep = region.targetStep;
        }
        if (!isPacked(number))
          traffic.workRequests +=
              region.countBlocks() * countWorkRequests(region.bytes);
        number += region.countBlocks();
      });
  for (const Part &part : parts)
    countPart(plan, binding, part, traffic);
  return traffic;
}

MigrationTraffic layline::kv::measureTraffic(const Plan &plan,
                                             const TrafficOptions &options) {
  MigrationTraffic result;
  result.bySource.resize(plan.source.ranks.size());
  result.byTarget.resize(plan.target.ranks.size());
  std::vector<RequestPages> sources, targets;
  for (const Rank &rank : plan.source.ranks)
    sources.emplace_back(plan.source, rank, options.tokens, options.pages);
  for (const Rank &rank : plan.target.ranks)
    targets.emplace_back(plan.target, rank, options.tokens, options.pages);
  std::vector<Request> requests = getRequests(options, plan.target.pageTokens);
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer &transfer = plan.transfers[i];
    // A pair's transfers stand together.
    if (i && plan.transfers[i - 1].source == transfer.source &&
        plan.transfers[i - 1].target == transfer.target)
      continue;
    PairTraffic pair{transfer.source, transfer.target, {}};
    for (const Request &request : requests)
      pair.traffic.add(countBinding(
          plan, Binding(plan, request, transfer.source, transfer.target,
                        sources[transfer.source].getMemory(),
                        targets[transfer.target].getMemory())));
    result.bySource[transfer.source].add(pair.traffic);
    result.byTarget[transfer.target].add(pair.traffic);
    result.total.add(pair.traffic);
    if (pair.traffic.bytes)
      result.pairs.push_back(std::move(pair));
  }
  std::int64_t most = 0;
  for (const Traffic &traffic : result.bySource)
    most = std::max(most, traffic.bytes);
  if (result.total.bytes)
    result.imbalance = static_cast<double>(most) *
                       static_cast<double>(result.bySource.size()) /
                       static_cast<double>(result.total.bytes);
  return result;
}

const std::vector<EngineCost> &layline::kv::getEngineCosts() {
  // Loopback, two cores, 1024 x 256 bytes and the same bytes as one descriptor:
  // medians of runs of 44-82 ms and 0.15-0.35 ms (Mooncake 0.3.13.post1), 15.5
  // ms and, for 98,304 of them and one of the same bytes, 1.97 s and 17-26 ms
  // (NIXL 1.5.1). Packing: one thread's memcpy of 256-byte rows, 6 ms for 25
  // MB.
  static const std::vector<EngineCost> costs = {
      {"mooncake-tcp", 61.5, 100, 1700, 4200,
       "Mooncake 0.3.13.post1 over TCP on loopback, 2 cores"},
      {"nixl-tcp", 15.1, 100, 1200, 4200,
       "NIXL 1.5.1 over UCX/TCP on loopback, 2 cores"}};
  return costs;
}

double layline::kv::estimateTime(const MigrationTraffic &traffic,
                                 const EngineCost &cost, std::int64_t lanes) {
  double longest = 0;
  for (const std::vector<Traffic> *side :
       {&traffic.bySource, &traffic.byTarget})
    for (const Traffic &rank : *side) {
      double time = static_cast<double>(rank.descriptors) * cost.perDescriptor +
                    std::ceil(static_cast<double>(rank.batches) /
                              static_cast<double>(lanes)) *
                        cost.perBatch +
                    static_cast<double>(rank.bytes) / cost.bytesPerMicrosecond;
      if (cost.packBytesPerMicrosecond > 0)
        time += static_cast<double>(rank.packedBytes) /
                cost.packBytesPerMicrosecond;
      longest = std::max(longest, time);
    }
  return longest;
}
