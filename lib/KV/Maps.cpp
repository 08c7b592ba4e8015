//===- Maps.cpp - who computes, what is kept, where an element is from ----===//
#include "RequestPages.h"
#include "layline/KV/Report.h"

#include "kv/Binding.h"
#include "plan/Error.h"

#include <algorithm>

using namespace layline::kv;

std::vector<Interval> layline::kv::getComputed(const SideSpec &spec,
                                               std::int64_t cp,
                                               Interval chunk) {
  std::int64_t tokens = chunk.end - chunk.begin;
  // Too few tokens for two segments a rank: every rank computes all.
  if (spec.cp == 1 ||
      (spec.compute == ComputeSplit::Zigzag && tokens < 2 * spec.cp))
    return {chunk};
  TokenPart part{TokenPart::Kind::Zigzag, spec.cp, cp, 1, TokenPart::Of::Chunk};
  if (spec.compute == ComputeSplit::Contiguous)
    part.kind = TokenPart::Kind::Contiguous;
  if (spec.compute == ComputeSplit::Cyclic) {
    part.kind = TokenPart::Kind::Cyclic;
    part.unit = spec.computeRun;
  }
  Request request{chunk.end, chunk, true, 0, 0};
  std::vector<Interval> result;
  for (const TokenRun &run : selectTokens({part}, request, {chunk}))
    for (std::int64_t i = 0; i < run.count; ++i) {
      std::int64_t first = run.first + i * run.step;
      result.push_back({first, first + run.length});
    }
  return result;
}

std::optional<IndexShare>
layline::kv::getIndexShare(const std::vector<Plane> &planes) {
  double main = 0, index = 0, mainAll = 0, indexAll = 0;
  for (const Plane &plane : planes) {
    if (plane.isState)
      continue;
    double bytes = static_cast<double>(plane.heads * plane.headBytes);
    double all = bytes * static_cast<double>(plane.layers.size());
    (plane.isIndex() ? index : main) += bytes;
    (plane.isIndex() ? indexAll : mainAll) += all;
  }
  if (index == 0 || main == 0)
    return std::nullopt;
  return IndexShare{index / main, indexAll / mainAll};
}

double layline::kv::getCapacityGain(std::int64_t layers, std::int64_t cp,
                                    std::int64_t scratch) {
  return static_cast<double>(layers) /
         static_cast<double>((layers + cp - 1) / cp + scratch);
}

double layline::kv::getExposed(double indexBroadcast, double mainBroadcast,
                               double indexer) {
  return indexBroadcast + std::max(0.0, mainBroadcast - indexer);
}

namespace {

/// Finds the descriptor that writes one byte.
struct Finder {
  const Plan &plan;
  const TrafficOptions &options;
  int target;
  std::vector<Origin> origins;

  void find(int plane, std::int64_t layer, std::int64_t token,
            std::int64_t head);
  void findIn(int source, int plane, std::int64_t wanted, std::int64_t layer,
              Origin origin);
};

} // namespace

/// The block of one pair that writes byte `wanted` of a layer's buffer.
void Finder::findIn(int source, int plane, std::int64_t wanted,
                    std::int64_t layer, Origin origin) {
  const Rank &from = plan.source.ranks[source];
  const Rank &to = plan.target.ranks[target];
  RequestPages sourcePages(plan.source, from, options.tokens, options.pages);
  RequestPages targetPages(plan.target, to, options.tokens, options.pages);
  std::int64_t ordinal = to.getOrdinal(plan.target.planes[plane].buffer, layer);
  RankMemory sourceMemory = sourcePages.getMemory();
  RankMemory targetMemory = targetPages.getMemory();
  std::uint64_t address =
      targetMemory.buffers[ordinal] + static_cast<std::uint64_t>(wanted);
  std::vector<Request> requests = getRequests(options, plan.target.pageTokens);
  for (std::size_t k = 0; k < requests.size(); ++k) {
    const Request &request = requests[k];
    Binding binding(plan, request, source, target, sourceMemory, targetMemory);
    std::int64_t number = 0;
    binding.forEachBlock(
        0, binding.countDescriptors(),
        [&](std::uint64_t s, std::uint64_t t, std::uint64_t bytes) {
          std::int64_t own = number++;
          if (address < t || address >= t + bytes)
            return;
          Origin found = origin;
          found.source = source;
          found.chunk = static_cast<std::int64_t>(k);
          found.descriptor = own;
          found.bytes = static_cast<std::int64_t>(bytes);
          const std::vector<Batch> &batches = binding.getBatches();
          for (std::size_t i = 0; i < batches.size(); ++i)
            if (own >= batches[i].first &&
                own < batches[i].first + batches[i].descriptors) {
              found.batch = static_cast<std::int64_t>(i);
            }
          for (const Part &part : binding.getParts())
            if (own >= part.first && own < part.first + part.descriptors)
              found.packing = part.packing;
          std::uint64_t at = s + (address - t);
          std::int64_t byte =
              static_cast<std::int64_t>(at & ((std::uint64_t(1) << 40) - 1));
          const Placement &place = plan.source.planes[plane];
          found.sourcePage = byte / place.pageBytes;
          found.sourceByte = byte % place.pageBytes;
          found.sourceSlot =
              (found.sourceByte - place.offset) / place.tokenStride;
          origins.push_back(found);
        });
  }
}

void Finder::find(int plane, std::int64_t layer, std::int64_t token,
                  std::int64_t head) {
  const Plane &entry = plan.planes[plane];
  const Placement &place = plan.target.planes[plane];
  const Rank &to = plan.target.ranks[target];
  HeadRange heads = getHeads(entry, plan.target, to);
  if (head < heads.begin || head >= heads.end ||
      to.getOrdinal(place.buffer, layer) < 0)
    return;
  Request request{options.tokens, {0, options.tokens}, true, 0, options.room};
  // The rank keeps the token if its part selects it.
  if (!entry.isState &&
      selectTokens({to.tokens}, request, {{token, token + 1}}).empty())
    return;
  std::int64_t slot = entry.isState ? 0 : getSlot(to.tokens, request, token);
  std::int64_t size = entry.isState ? 1 : plan.target.pageTokens;
  RequestPages pages(plan.target, to, options.tokens, options.pages);
  std::vector<std::string> tables = getTables(plan.target);
  std::size_t table = std::find(tables.begin(), tables.end(),
                                plan.target.buffers[place.buffer].table) -
                      tables.begin();
  Origin origin;
  origin.plane = entry.name;
  origin.targetPage = pages.getMemory().tables[table].pages[slot / size];
  if (!entry.isState && to.tokens.kind == TokenPart::Kind::PageNumber) {
    if (origin.targetPage % to.tokens.parts != to.tokens.index)
      return; // another rank's
    origin.targetPage /= to.tokens.parts;
  }
  origin.targetSlot = slot % size;
  origin.targetByte = place.offset + origin.targetSlot * place.tokenStride +
                      (head - heads.begin) * place.headStride;
  std::int64_t wanted = origin.targetPage * place.pageBytes + origin.targetByte;
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer &transfer = plan.transfers[i];
    if (transfer.target != target ||
        (i && plan.transfers[i - 1].source == transfer.source &&
         plan.transfers[i - 1].target == transfer.target))
      continue;
    findIn(transfer.source, plane, wanted, layer, origin);
  }
}

std::vector<Origin> layline::kv::explainElement(const Plan &plan,
                                                const TrafficOptions &options,
                                                int target, std::int64_t layer,
                                                std::int64_t token,
                                                std::int64_t head) {
  Finder finder{plan, options, target, {}};
  for (int plane = 0; plane < static_cast<int>(plan.planes.size()); ++plane) {
    // A plane without heads has the token, whatever head is asked for.
    std::int64_t own = plan.planes[plane].heads == 1 ? 0 : head;
    finder.find(plane, layer, token, own);
  }
  return std::move(finder.origins);
}
