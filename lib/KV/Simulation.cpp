//===- Simulation.cpp - a plan's bytes, moved and compared ----------------===//
#include "layline/KV/Simulation.h"

#include "kv/Binding.h"
#include "kv/Packing.h"
#include "plan/Error.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

using namespace layline::kv;

namespace {

std::uint64_t mix(std::uint64_t x) { // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// The bytes of one head of one token.
void makeContent(int plane, std::int64_t layer, std::int64_t head,
                 std::int64_t token, std::uint8_t *out, std::int64_t bytes) {
  std::uint64_t key =
      mix(mix(mix(mix(plane) + static_cast<std::uint64_t>(layer)) +
              static_cast<std::uint64_t>(head)) +
          static_cast<std::uint64_t>(token));
  for (std::int64_t i = 0; i < bytes; ++i) {
    if (i % 8 == 0)
      key = mix(key);
    out[i] = static_cast<std::uint8_t>(key >> (i % 8 * 8));
  }
}

/// Whether a part holds a token, by counting: written apart from kv/Tokens.
class TokenHolder {
public:
  TokenHolder(const TokenPart &part, std::int64_t tokens) {
    std::int64_t items = (tokens + part.unit - 1) / part.unit;
    std::int64_t slot = 0;
    slots.assign(tokens, -1);
    for (std::int64_t token = 0; token < tokens; ++token)
      if (holds(part, token / part.unit, items))
        slots[token] = slot++;
  }
  /// -1 if it is not held.
  std::int64_t getSlot(std::int64_t token) const { return slots[token]; }
  std::int64_t countSlots() const {
    return 1 + *std::max_element(slots.begin(), slots.end());
  }

private:
  static std::int64_t findRun(std::int64_t item, std::int64_t items,
                              std::int64_t runs) {
    // The first `items mod runs` runs have one item more.
    std::int64_t run = 0;
    while (item >= items / runs + (run < items % runs)) {
      item -= items / runs + (run < items % runs);
      ++run;
    }
    return run;
  }
  static bool holds(const TokenPart &part, std::int64_t item,
                    std::int64_t items) {
    switch (part.kind) {
    case TokenPart::Kind::Whole:
    case TokenPart::Kind::Room:
      return true;
    case TokenPart::Kind::Cyclic:
      return item % part.parts == part.index;
    case TokenPart::Kind::Contiguous:
      return findRun(item, items, part.parts) == part.index;
    case TokenPart::Kind::Zigzag: {
      std::int64_t run = findRun(item, items, 2 * part.parts);
      return run == part.index || run == 2 * part.parts - 1 - part.index;
    }
    }
    return false;
  }
  std::vector<std::int64_t> slots;
};

/// The memory of one rank.
struct RankPool {
  std::vector<std::vector<std::uint8_t>> buffers; ///< by ordinal
  std::vector<std::uint64_t> addresses;
  std::vector<std::vector<std::int32_t>> pages; ///< by table
  std::vector<std::int64_t> poolPages;
  std::vector<std::string> names; ///< "k of layer 3", by ordinal

  RankMemory getMemory() const {
    RankMemory memory;
    memory.buffers = addresses.data();
    memory.bufferCount = static_cast<std::int64_t>(addresses.size());
    for (const std::vector<std::int32_t> &table : pages)
      memory.tables.push_back(
          {table.data(), static_cast<std::int64_t>(table.size())});
    memory.poolPages = poolPages;
    return memory;
  }
};

class Simulator {
public:
  Simulator(const Plan &plan, const SimulationOptions &options)
      : plan(plan), options(options), random(options.seed) {}
  SimulationResult run();

private:
  RankPool makePool(const Side &side, const Rank &rank);
  /// Calls visit(plane, layer, head, token, pointer) for all that a rank keeps
  /// of the request.
  template <typename Visit>
  void forEachItem(const Side &side, const Rank &rank, RankPool &pool,
                   const Visit &visit) const;
  void send(Interval chunk, bool isLast, const RankPool &source,
            RankPool &target, int from, int to);
  void sendPacked(const Binding &binding, const Part &part);
  void write(std::uint64_t source, std::uint64_t target, std::uint64_t bytes);
  void compare(int to, RankPool &pool);

  const Plan &plan;
  const SimulationOptions &options;
  std::mt19937_64 random;
  SimulationResult result;
  /// Of the target that is written to: how often each byte was.
  RankPool *open = nullptr;
  std::vector<std::vector<std::uint8_t>> writes;
};

} // namespace

/// What untouched bytes of a target look like.
static std::uint8_t getFiller(std::size_t buffer, std::size_t byte) {
  return static_cast<std::uint8_t>(mix(buffer * 0x10001 + byte) | 1);
}

RankPool Simulator::makePool(const Side &side, const Rank &rank) {
  RankPool pool;
  std::vector<std::string> tables = getTables(side);
  // One page in front and one behind that are not the request's.
  std::int64_t most =
      (options.tokens + side.pageTokens - 1) / side.pageTokens + 1;
  for (const std::string &name : tables) {
    std::int64_t count = name == "state" ? 1 : most;
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
    pool.poolPages.push_back(count + count / 2 + 3);
    pool.pages.push_back(std::move(pages));
  }
  for (std::size_t i = 0; i < side.buffers.size(); ++i) {
    std::size_t table =
        std::find(tables.begin(), tables.end(), side.buffers[i].table) -
        tables.begin();
    for (std::int64_t layer : rank.layers[i]) {
      pool.buffers.emplace_back(pool.poolPages[table] *
                                side.buffers[i].pageBytes);
      pool.names.push_back(side.buffers[i].name + " of layer " +
                           std::to_string(layer));
    }
  }
  for (std::size_t i = 0; i < pool.buffers.size(); ++i) {
    for (std::size_t k = 0; k < pool.buffers[i].size(); ++k)
      pool.buffers[i][k] = getFiller(i, k);
    pool.addresses.push_back(
        reinterpret_cast<std::uint64_t>(pool.buffers[i].data()));
  }
  return pool;
}

template <typename Visit>
void Simulator::forEachItem(const Side &side, const Rank &rank, RankPool &pool,
                            const Visit &visit) const {
  std::vector<std::string> tables = getTables(side);
  TokenHolder holder(rank.tokens, options.tokens);
  for (int number = 0; number < static_cast<int>(plan.planes.size());
       ++number) {
    const Plane &plane = plan.planes[number];
    const Placement &place = side.planes[number];
    std::size_t table = std::find(tables.begin(), tables.end(),
                                  side.buffers[place.buffer].table) -
                        tables.begin();
    HeadRange heads = getHeads(plane, side, rank);
    for (std::int64_t layer : plane.layers) {
      std::int64_t ordinal = rank.getOrdinal(place.buffer, layer);
      if (ordinal < 0)
        continue;
      std::int64_t tokens = plane.isState ? 1 : options.tokens;
      for (std::int64_t token = 0; token < tokens; ++token) {
        std::int64_t slot = plane.isState ? 0 : holder.getSlot(token);
        if (slot < 0)
          continue;
        std::int64_t size = plane.isState ? 1 : side.pageTokens;
        std::int64_t page = pool.pages[table][slot / size];
        for (std::int64_t head = heads.begin; head < heads.end; ++head)
          visit(number, layer, head, token, static_cast<std::size_t>(ordinal),
                static_cast<std::size_t>(page * place.pageBytes + place.offset +
                                         slot % size * place.tokenStride +
                                         (head - heads.begin) *
                                             place.headStride));
      }
    }
  }
}

void Simulator::write(std::uint64_t source, std::uint64_t target,
                      std::uint64_t bytes) {
  // Whose buffer is it?
  for (std::size_t i = 0; i < open->buffers.size(); ++i) {
    std::uint64_t base = open->addresses[i];
    if (target < base || target + bytes > base + open->buffers[i].size())
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
  PackedBinding packed(binding, part, plan.policy.slotBytes,
                       plan.policy.maxDescriptors);
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
                     RankPool &target, int from, int to) {
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
void Simulator::compare(int to, RankPool &pool) {
  const Rank &rank = plan.target.ranks[to];
  std::vector<std::vector<bool>> wanted;
  for (const std::vector<std::uint8_t> &buffer : pool.buffers)
    wanted.emplace_back(buffer.size());
  std::vector<std::uint8_t> content;
  auto fail = [&](const std::string &what, std::size_t buffer, std::size_t byte,
                  int found, int expected) {
    if (result.fault.empty())
      result.fault = "target rank " + std::to_string(to) + ", " +
                     pool.names[buffer] + ", byte " + std::to_string(byte) +
                     what + ": found " + std::to_string(found) + ", expected " +
                     std::to_string(expected) +
                     (writes[buffer][byte] ? "" : " (never written)");
  };
  forEachItem(plan.target, rank, pool,
              [&](int number, std::int64_t layer, std::int64_t head,
                  std::int64_t token, std::size_t buffer, std::size_t at) {
                const Plane &plane = plan.planes[number];
                bool isNeeded = plane.isState || token >= options.prefix;
                if (plane.window && token < options.tokens - plane.window)
                  isNeeded = false;
                std::size_t bytes = static_cast<std::size_t>(plane.headBytes);
                if (!isNeeded)
                  return;
                content.resize(bytes);
                makeContent(number, layer, head, token, content.data(),
                            plane.headBytes);
                for (std::size_t k = 0; k < bytes; ++k) {
                  wanted[buffer][at + k] = true;
                  if (pool.buffers[buffer][at + k] != content[k])
                    fail(" (" + plane.name + ", head " + std::to_string(head) +
                             ", token " + std::to_string(token) + ")",
                         buffer, at + k, pool.buffers[buffer][at + k],
                         content[k]);
                  if (writes[buffer][at + k] > 1)
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
      const std::vector<std::uint8_t> &buffer = pool.buffers[ordinal];
      std::vector<bool> isRequests(buffer.size() / pageBytes);
      // A page is the request's if one of its bytes is wanted.
      for (std::size_t byte = 0; byte < buffer.size(); ++byte)
        if (wanted[ordinal][byte])
          isRequests[byte / pageBytes] = true;
      for (std::size_t byte = 0; byte < buffer.size(); ++byte) {
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
  std::vector<RankPool> sources;
  for (const Rank &rank : plan.source.ranks) {
    sources.push_back(makePool(plan.source, rank));
    RankPool &pool = sources.back();
    forEachItem(plan.source, rank, pool,
                [&](int number, std::int64_t layer, std::int64_t head,
                    std::int64_t token, std::size_t buffer, std::size_t at) {
                  makeContent(number, layer, head, token,
                              pool.buffers[buffer].data() + at,
                              plan.planes[number].headBytes);
                });
  }
  std::vector<std::int64_t> ends = options.chunkEnds;
  if (ends.empty())
    ends = {options.tokens};
  for (int to = 0; to < static_cast<int>(plan.target.ranks.size()); ++to) {
    RankPool pool = makePool(plan.target, plan.target.ranks[to]);
    open = &pool;
    writes.clear();
    for (const std::vector<std::uint8_t> &buffer : pool.buffers)
      writes.emplace_back(buffer.size());
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      for (int from = 0; from < static_cast<int>(sources.size()); ++from)
        send({begin, ends[i]}, i + 1 == ends.size(), sources[from], pool, from,
             to);
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
