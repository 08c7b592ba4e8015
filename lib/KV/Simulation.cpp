//===- Simulation.cpp - a plan's bytes, moved and compared ----------------===//
#include "layline/KV/Simulation.h"

#include "kv/Binding.h"
#include "kv/Packing.h"
#include "layline/KV/RankPool.h"
#include "plan/Error.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

using namespace layline::kv;

namespace {

/// A pool with memory of its own.
struct SimulatedPool {
  RankPool pool;
  std::vector<std::uint8_t> memory;

  explicit SimulatedPool(RankPool made)
      : pool(std::move(made)), memory(pool.countBytes()) {
    pool.place(memory.data());
    fillPool(pool);
  }
};

class Simulator {
public:
  Simulator(const Plan &plan, const SimulationOptions &options)
      : plan(plan), options(options), random(options.seed) {}
  SimulationResult run();

private:
  RankPool makePool(const Side &side, const Rank &rank);
  PoolPages makePages(std::int64_t count);
  void send(Interval chunk, bool isLast, const RankPool &source,
            const RankPool &target, int from, int to);
  void sendPacked(const Binding &binding, const Part &part);
  void write(std::uint64_t source, std::uint64_t target, std::uint64_t bytes);
  void compare(int to, const RankPool &pool);

  const Plan &plan;
  const SimulationOptions &options;
  std::mt19937_64 random;
  /// By table, of ranks that keep pages by their numbers.
  std::vector<PoolPages> sourceTables, targetTables;
  SimulationResult result;
  /// Of the target that is written to: how often each byte was.
  const RankPool *open = nullptr;
  std::vector<std::vector<std::uint8_t>> writes;
};

} // namespace

PoolPages Simulator::makePages(std::int64_t needed) {
  // One page in front and one behind that are not the request's.
  std::int64_t count = needed + 1;
  std::vector<std::int32_t> pages(count);
  std::iota(pages.begin(), pages.end(), 1);
  if (options.seed) {
    // Some pages of the pool are left out.
    pages.resize(count + count / 2 + 1);
    std::iota(pages.begin(), pages.end(), 1);
    // Runs of pages stay together now and then, as allocators make them.
    std::size_t run = 1 + random() % 4;
    std::vector<std::size_t> order((pages.size() + run - 1) / run);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::int32_t> shuffled;
    for (std::size_t i : order)
      for (std::size_t k = i * run; k < std::min((i + 1) * run, pages.size());
           ++k)
        shuffled.push_back(pages[k]);
    shuffled.resize(count);
    pages = std::move(shuffled);
  }
  return {std::move(pages), count + count / 2 + 3};
}

RankPool Simulator::makePool(const Side &side, const Rank &rank) {
  std::vector<PoolPages> &shared =
      &side == &plan.source ? sourceTables : targetTables;
  std::size_t table = 0;
  RankPool pool(side, rank, options.tokens, [&](std::int64_t count) {
    if (rank.tokens.kind != TokenPart::Kind::PageNumber)
      return makePages(count);
    if (table == shared.size())
      shared.push_back(makePages(count));
    return shared[table++];
  });
  if (options.omitsPrefixPages)
    pool.setFirstPages(findFirstEntries(plan, side, rank, pool, options.tokens,
                                        options.prefix));
  return pool;
}

void Simulator::write(std::uint64_t source, std::uint64_t target,
                      std::uint64_t bytes) {
  // Whose buffer is it?
  for (std::size_t i = 0; i < open->getBuffers().size(); ++i) {
    auto base = reinterpret_cast<std::uint64_t>(open->getData(i));
    if (target < base || target + bytes > base + open->getBuffers()[i].bytes)
      continue;
    std::memcpy(reinterpret_cast<void *>(target),
                reinterpret_cast<const void *>(source), bytes);
    for (std::uint64_t k = 0; k < bytes; ++k)
      if (writes[i][target - base + k] < 255)
        ++writes[i][target - base + k];
    result.bytes += static_cast<std::int64_t>(bytes);
    return;
  }
  if (result.fault.empty())
    result.fault = "a descriptor of " + std::to_string(bytes) +
                   " bytes writes outside the target's buffers";
}

/// Through a slot at the source, one at the target, or both.
void Simulator::sendPacked(const Binding &binding, const Part &part) {
  PackedBinding packed(binding, part);
  std::vector<std::uint8_t> sourceSlot, targetSlot;
  std::vector<Descriptor> descriptors;
  bool atSource = part.packing != Packing::Target;
  bool atTarget = part.packing != Packing::Source;
  for (const Round &round : packed.getRounds()) {
    sourceSlot.assign(round.bytes, 0xaa);
    targetSlot.assign(round.bytes, 0xbb);
    if (atSource)
      packed.pack(round, sourceSlot.data());
    packed.getDescriptors(
        round, reinterpret_cast<std::uint64_t>(sourceSlot.data()),
        reinterpret_cast<std::uint64_t>(targetSlot.data()), descriptors);
    if (static_cast<std::int64_t>(descriptors.size()) != round.descriptors &&
        result.fault.empty())
      result.fault = "a round was said to have " +
                     std::to_string(round.descriptors) + " descriptors, has " +
                     std::to_string(descriptors.size());
    ++result.batches;
    result.descriptors += round.descriptors;
    if (!atTarget) {
      for (const Descriptor &one : descriptors)
        write(one.source, one.target, one.bytes);
      continue;
    }
    for (const Descriptor &one : descriptors)
      std::memcpy(reinterpret_cast<void *>(one.target),
                  reinterpret_cast<const void *>(one.source), one.bytes);
    const std::uint8_t *from = targetSlot.data();
    binding.forEachBlock(
        round.firstBlock, round.blocks,
        [&](std::uint64_t, std::uint64_t target, std::uint64_t bytes) {
          write(reinterpret_cast<std::uint64_t>(from), target, bytes);
          from += bytes;
        });
  }
}

void Simulator::send(Interval chunk, bool isLast, const RankPool &source,
                     const RankPool &target, int from, int to) {
  Request request{options.tokens, chunk, isLast, options.prefix, options.room};
  Binding binding(plan, request, from, to, source.getMemory(),
                  target.getMemory());
  result.blocks += binding.countDescriptors();
  for (const Part &part : binding.getParts()) {
    if (options.packs && part.packing != Packing::None) {
      sendPacked(binding, part);
      continue;
    }
    for (const Batch &batch : binding.getBatches())
      if (batch.first >= part.first &&
          batch.first < part.first + part.descriptors)
        ++result.batches;
    result.descriptors += part.descriptors;
    binding.forEachBlock(part.first, part.descriptors,
                         [&](std::uint64_t s, std::uint64_t t,
                             std::uint64_t bytes) { write(s, t, bytes); });
  }
}

/// Everything the target must have is there, and nothing else was touched but
/// slots behind the last token of a page, where the plan says so.
void Simulator::compare(int to, const RankPool &pool) {
  const Rank &rank = plan.target.ranks[to];
  std::vector<std::vector<bool>> wanted;
  for (const RankPool::Buffer &buffer : pool.getBuffers())
    wanted.emplace_back(buffer.bytes);
  std::vector<std::uint8_t> content;
  auto fail = [&](const std::string &what, std::size_t buffer, std::size_t byte,
                  int found, int expected) {
    if (result.fault.empty())
      result.fault = "target rank " + std::to_string(to) + ", " +
                     pool.getBuffers()[buffer].name + ", byte " +
                     std::to_string(byte) + what + ": found " +
                     std::to_string(found) + ", expected " +
                     std::to_string(expected) +
                     (writes[buffer][byte] ? "" : " (never written)");
  };
  forEachItem(
      plan, plan.target, rank, pool, options.tokens, [&](const PoolItem &item) {
        const Plane &plane = plan.planes[item.plane];
        if (!isNeeded(plane, item, options.tokens, options.prefix))
          return;
        auto bytes = static_cast<std::size_t>(plane.headBytes);
        content.resize(bytes);
        makeContent(item.plane, item.layer, item.head, item.token,
                    content.data(), plane.headBytes);
        const std::uint8_t *found = pool.getData(item.buffer);
        for (std::size_t k = item.byte; k < item.byte + bytes; ++k) {
          wanted[item.buffer][k] = true;
          if (found[k] != content[k - item.byte])
            fail(" (" + plane.name + ", head " + std::to_string(item.head) +
                     ", token " + std::to_string(item.token) + ")",
                 item.buffer, k, found[k], content[k - item.byte]);
          if (writes[item.buffer][k] > 1)
            ++result.twice;
        }
      });
  if (!result.fault.empty())
    return;
  // Pages of which the tail, or the head before a window, may be written.
  bool rounds = plan.policy.roundsToPages;
  std::vector<bool> movesPages(plan.target.buffers.size(), rounds);
  for (const Transfer &transfer : plan.transfers)
    for (const Move &move : transfer.moves)
      if (transfer.target == to && move.grain == Grain::Page)
        movesPages[plan.target.planes[move.planes.front()].buffer] = true;
  std::size_t ordinal = 0;
  for (std::size_t i = 0; i < plan.target.buffers.size(); ++i) {
    std::size_t pageBytes =
        static_cast<std::size_t>(plan.target.buffers[i].pageBytes);
    for (std::size_t k = 0; k < rank.layers[i].size(); ++k, ++ordinal) {
      const std::uint8_t *buffer = pool.getData(ordinal);
      std::size_t bytes = pool.getBuffers()[ordinal].bytes;
      std::vector<bool> isRequests(bytes / pageBytes);
      // A page is the request's if one of its bytes is wanted.
      for (std::size_t byte = 0; byte < bytes; ++byte)
        if (wanted[ordinal][byte])
          isRequests[byte / pageBytes] = true;
      for (std::size_t byte = 0; byte < bytes; ++byte) {
        if (wanted[ordinal][byte] || buffer[byte] == getFiller(ordinal, byte))
          continue;
        if (movesPages[i] && isRequests[byte / pageBytes])
          continue;
        fail(" (not the request's)", ordinal, byte, buffer[byte],
             getFiller(ordinal, byte));
      }
    }
  }
}

SimulationResult Simulator::run() {
  std::vector<SimulatedPool> sources;
  for (const Rank &rank : plan.source.ranks) {
    sources.emplace_back(makePool(plan.source, rank));
    fillItems(plan, plan.source, rank, sources.back().pool, options.tokens);
  }
  std::vector<std::int64_t> ends = options.chunkEnds;
  if (ends.empty())
    ends = {options.tokens};
  for (int to = 0; to < static_cast<int>(plan.target.ranks.size()); ++to) {
    SimulatedPool target(makePool(plan.target, plan.target.ranks[to]));
    const RankPool &pool = target.pool;
    open = &pool;
    writes.clear();
    for (const RankPool::Buffer &buffer : pool.getBuffers())
      writes.emplace_back(buffer.bytes);
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      for (int from = 0; from < static_cast<int>(sources.size()); ++from)
        send({begin, ends[i]}, i + 1 == ends.size(), sources[from].pool, pool,
             from, to);
      begin = ends[i];
    }
    compare(to, pool);
    if (!result.fault.empty())
      break;
  }
  return result;
}

SimulationResult layline::kv::simulate(const Plan &plan,
                                       const SimulationOptions &options) {
  return Simulator(plan, options).run();
}
