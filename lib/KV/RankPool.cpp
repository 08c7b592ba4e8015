//===- RankPool.cpp - real buffers of one rank ----------------------------===//
#include "layline/KV/RankPool.h"

#include <algorithm>
#include <cstring>

using namespace layline::kv;

static std::uint64_t mix(std::uint64_t x) { // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

void layline::kv::makeContent(int plane, std::int64_t layer, std::int64_t head,
                              std::int64_t token, std::uint8_t *out,
                              std::int64_t bytes) {
  std::uint64_t key =
      mix(mix(mix(mix(plane) + static_cast<std::uint64_t>(layer)) +
              static_cast<std::uint64_t>(head)) +
          static_cast<std::uint64_t>(token));
  for (std::int64_t i = 0; i < bytes; i += 8) {
    key = mix(key);
    std::memcpy(out + i, &key, std::min<std::int64_t>(8, bytes - i));
  }
}

/// Eight bytes of filler from a multiple of eight on.
static std::uint64_t getFillerWord(std::size_t buffer, std::size_t word) {
  return mix(buffer * 0x100000001 + word) | 0x0101010101010101ULL;
}

std::uint8_t layline::kv::getFiller(std::size_t buffer, std::size_t byte) {
  std::uint64_t word = getFillerWord(buffer, byte / 8);
  std::uint8_t bytes[8];
  std::memcpy(bytes, &word, 8);
  return bytes[byte % 8];
}

void layline::kv::fillPool(const RankPool &pool) {
  for (std::size_t i = 0; i < pool.getBuffers().size(); ++i) {
    std::uint8_t *data = pool.getData(i);
    std::size_t bytes = pool.getBuffers()[i].bytes;
    for (std::size_t at = 0; at < bytes; at += 8) {
      std::uint64_t word = getFillerWord(i, at / 8);
      std::memcpy(data + at, &word, std::min<std::size_t>(8, bytes - at));
    }
  }
}

namespace {
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
    case TokenPart::Kind::PageNumber: // the page table says
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
} // namespace

static std::size_t findTable(const std::vector<std::string> &tables,
                             const std::string &name) {
  return std::find(tables.begin(), tables.end(), name) - tables.begin();
}

RankPool::RankPool(const Side &side, const Rank &rank, std::int64_t tokens,
                   const std::function<PoolPages(std::int64_t)> &makePages) {
  std::vector<std::string> tables = getTables(side);
  for (const std::string &name : tables) {
    PoolPages made = makePages(
        name == "state" ? 1 : (tokens + side.pageTokens - 1) / side.pageTokens);
    pages.push_back(std::move(made.pages));
    std::int64_t parts =
        name != "state" && rank.tokens.kind == TokenPart::Kind::PageNumber
            ? rank.tokens.parts
            : 1;
    poolPages.push_back((made.poolPages + parts - 1) / parts);
    firstPages.push_back(0);
  }
  for (std::size_t i = 0; i < side.buffers.size(); ++i)
    for (std::int64_t layer : rank.layers[i]) {
      Buffer buffer;
      buffer.name = side.buffers[i].name + " of layer " + std::to_string(layer);
      buffer.begin = totalBytes;
      buffer.bytes = static_cast<std::size_t>(
          poolPages[findTable(tables, side.buffers[i].table)] *
          side.buffers[i].pageBytes);
      totalBytes += buffer.bytes;
      buffers.push_back(std::move(buffer));
    }
}

void RankPool::place(std::uint8_t *where) {
  memory = where;
  addresses.clear();
  for (std::size_t i = 0; i < buffers.size(); ++i)
    addresses.push_back(reinterpret_cast<std::uint64_t>(getData(i)));
}

RankMemory RankPool::getMemory() const {
  RankMemory result;
  result.buffers = addresses.data();
  result.bufferCount = static_cast<std::int64_t>(addresses.size());
  for (std::size_t i = 0; i < pages.size(); ++i)
    result.tables.push_back(
        {pages[i].data() + firstPages[i],
         static_cast<std::int64_t>(pages[i].size()) - firstPages[i],
         firstPages[i]});
  result.poolPages = poolPages;
  return result;
}

void layline::kv::forEachItem(
    const Plan &plan, const Side &side, const Rank &rank, const RankPool &pool,
    std::int64_t tokens, const std::function<void(const PoolItem &)> &visit) {
  std::vector<std::string> tables = getTables(side);
  TokenHolder holder(rank.tokens, tokens);
  for (int number = 0; number < static_cast<int>(plan.planes.size());
       ++number) {
    const Plane &plane = plan.planes[number];
    const Placement &place = side.planes[number];
    std::size_t table = findTable(tables, side.buffers[place.buffer].table);
    HeadRange heads = getHeads(plane, side, rank);
    for (std::int64_t layer : plane.layers) {
      std::int64_t ordinal = rank.getOrdinal(place.buffer, layer);
      if (ordinal < 0)
        continue;
      std::int64_t items = plane.isState ? 1 : tokens;
      for (std::int64_t token = 0; token < items; ++token) {
        std::int64_t slot = plane.isState ? 0 : holder.getSlot(token);
        if (slot < 0)
          continue;
        std::int64_t size = plane.isState ? 1 : side.pageTokens;
        std::int64_t page = pool.getPages()[table][slot / size];
        if (!plane.isState && rank.tokens.kind == TokenPart::Kind::PageNumber) {
          if (page % rank.tokens.parts != rank.tokens.index)
            continue;
          page /= rank.tokens.parts;
        }
        for (std::int64_t head = heads.begin; head < heads.end; ++head) {
          PoolItem item;
          item.plane = number;
          item.layer = layer;
          item.head = head;
          item.token = token;
          item.table = table;
          item.entry = slot / size;
          item.buffer = static_cast<std::size_t>(ordinal);
          item.byte =
              static_cast<std::size_t>(page * place.pageBytes + place.offset +
                                       slot % size * place.tokenStride +
                                       (head - heads.begin) * place.headStride);
          visit(item);
        }
      }
    }
  }
}

void layline::kv::fillItems(const Plan &plan, const Side &side,
                            const Rank &rank, const RankPool &pool,
                            std::int64_t tokens) {
  forEachItem(plan, side, rank, pool, tokens, [&](const PoolItem &item) {
    makeContent(item.plane, item.layer, item.head, item.token,
                pool.getData(item.buffer) + item.byte,
                plan.planes[item.plane].headBytes);
  });
}

bool layline::kv::isNeeded(const Plane &plane, const PoolItem &item,
                           std::int64_t tokens, std::int64_t prefix) {
  if (!plane.isState && item.token < prefix)
    return false;
  return !plane.window || item.token >= tokens - plane.window;
}

std::vector<std::int64_t>
layline::kv::findFirstEntries(const Plan &plan, const Side &side,
                              const Rank &rank, const RankPool &pool,
                              std::int64_t tokens, std::int64_t prefix) {
  std::vector<std::int64_t> entries;
  for (const std::vector<std::int32_t> &table : pool.getPages())
    entries.push_back(static_cast<std::int64_t>(table.size()));
  auto need = [&](const PoolItem &item) {
    if (isNeeded(plan.planes[item.plane], item, tokens, prefix))
      entries[item.table] = std::min(entries[item.table], item.entry);
  };
  if (rank.tokens.kind != TokenPart::Kind::PageNumber) {
    forEachItem(plan, side, rank, pool, tokens, need);
    return entries;
  }
  // The table is the group's, which has every token.
  Rank group = rank;
  group.tokens = {};
  forEachItem(plan, side, group, pool, tokens, need);
  return entries;
}
