#include "kv/Binding.h"

#include "plan/Error.h"

#include <algorithm>
#include <limits>
#include <numeric>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace layline::kv {

using runtime::fail;

std::int64_t Rank::getOrdinal(int buffer, std::int64_t layer) const {
  std::int64_t before = 0;
  for (int i = 0; i < buffer; ++i)
    before += static_cast<std::int64_t>(layers[i].size());
  const std::vector<std::int64_t> &own = layers[buffer];
  auto found = std::lower_bound(own.begin(), own.end(), layer);
  return found != own.end() && *found == layer ? before + (found - own.begin())
                                               : -1;
}

std::int64_t Rank::countBuffers() const {
  std::int64_t count = 0;
  for (const std::vector<std::int64_t> &own : layers)
    count += static_cast<std::int64_t>(own.size());
  return count;
}

HeadRange getHeads(const Plane &plane, const Side &side, const Rank &rank) {
  if (plane.heads >= side.headParts) {
    std::int64_t own = plane.heads / side.headParts;
    return {rank.headIndex * own, (rank.headIndex + 1) * own};
  }
  std::int64_t head = rank.headIndex / (side.headParts / plane.heads);
  return {head, head + 1};
}

std::vector<std::string> getTables(const Side &side) {
  std::vector<std::string> tables;
  for (const Buffer &buffer : side.buffers)
    if (std::find(tables.begin(), tables.end(), buffer.table) == tables.end())
      tables.push_back(buffer.table);
  return tables;
}

namespace {

// Bounds that keep every product below 2^62.
constexpr std::int64_t kMostTokens = std::int64_t(1) << 40;

template <typename... Parts> [[noreturn]] void bad(const Parts &...parts) {
  fail(LAYLINE_BAD_ARGUMENT, parts...);
}

int getTable(const Side &side, int buffer) {
  std::vector<std::string> tables = getTables(side);
  return static_cast<int>(
      std::find(tables.begin(), tables.end(), side.buffers[buffer].table) -
      tables.begin());
}

void checkRequest(const Request &request) {
  if (request.tokens < 0 || request.tokens > kMostTokens)
    bad("the request has ", request.tokens, " tokens; 0 to ", kMostTokens,
        " are expected");
  if (request.prefix < 0 || request.prefix > request.tokens)
    bad("the target has ", request.prefix,
        " tokens already; 0 to the request's ", request.tokens,
        " are expected");
  if (request.chunk.begin < 0 || request.chunk.begin > request.chunk.end ||
      request.chunk.end > request.tokens)
    bad("the chunk is [", request.chunk.begin, ", ", request.chunk.end,
        "); a part of the request's [0, ", request.tokens, ") is expected");
  if (request.isLast && request.chunk.end != request.tokens)
    bad("the last chunk ends at token ", request.chunk.end,
        "; the request's end at ", request.tokens, " is expected");
  if (request.room < 0)
    bad("the room is ", request.room, "; 0 or more is expected");
}

/// Every page that is used exists and is used once.
void checkTable(const char *who, int rank, const std::string &name,
                const PageTable &table, std::int64_t used,
                std::int64_t poolPages, std::int64_t pageBytes) {
  auto say = [&](auto... parts) {
    bad("page table '", name, "' of ", who, " rank ", rank, ": ", parts...);
  };
  if (used > table.count)
    say("has ", table.count, " pages; the tokens need ", used);
  if (used == 0)
    return;
  if (!table.pages)
    say("is null; ", used, " pages are expected");
  std::int64_t limit = poolPages;
  if (limit <= 0)
    limit = std::int64_t(1) << 31;
  if (pageBytes > 0)
    limit = std::min(limit, (std::numeric_limits<std::int64_t>::max() >> 1) /
                                pageBytes);
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < used; ++i) {
    std::int64_t page = table.pages[i];
    if (page < 0 || page >= limit)
      say("entry ", i, " is page ", page, "; 0 to ", limit - 1,
          " are expected");
    largest = std::max(largest, page);
  }
  // Tables that only rise cannot repeat.
  bool rises = true;
  for (std::int64_t i = 1; i < used && rises; ++i)
    rises = table.pages[i - 1] < table.pages[i];
  if (rises)
    return;
  std::vector<std::int64_t> where;
  if (largest < 64 * used + 4096) {
    where.assign(largest + 1, -1);
    for (std::int64_t i = 0; i < used; ++i) {
      std::int64_t &first = where[table.pages[i]];
      if (first >= 0)
        say("page ", table.pages[i], " stands at entry ", first,
            " and again at ", i);
      first = i;
    }
    return;
  }
  where.resize(used);
  std::iota(where.begin(), where.end(), 0);
  std::sort(where.begin(), where.end(), [&](std::int64_t a, std::int64_t b) {
    return std::make_pair(table.pages[a], a) <
           std::make_pair(table.pages[b], b);
  });
  for (std::int64_t i = 1; i < used; ++i)
    if (table.pages[where[i - 1]] == table.pages[where[i]])
      say("page ", table.pages[where[i]], " stands at entry ", where[i - 1],
          " and again at ", where[i]);
}

void checkMemory(const char *who, const Side &side, int rank,
                 const RankMemory &memory) {
  if (rank < 0 || rank >= static_cast<int>(side.ranks.size()))
    bad(who, " rank ", rank, " is asked for; there are ", side.ranks.size());
  std::int64_t expected = side.ranks[rank].countBuffers();
  if (memory.bufferCount != expected)
    bad(who, " rank ", rank, ": ", memory.bufferCount,
        " buffer addresses are given; ", expected, " are expected");
  if (expected > 0 && !memory.buffers)
    bad(who, " rank ", rank, ": the list of buffer addresses is null");
  for (std::int64_t i = 0; i < expected; ++i)
    if (memory.buffers[i] == 0)
      bad(who, " rank ", rank, ": the address of buffer ", i, " is 0");
  std::size_t tables = getTables(side).size();
  if (memory.tables.size() != tables)
    bad(who, " rank ", rank, ": ", memory.tables.size(),
        " page tables are given; ", tables, " are expected");
}

/// No address of the buffer leaves 64 bits.
std::uint64_t checkAddress(const char *who, std::uint64_t base,
                           std::int64_t pageBytes, std::int64_t pages) {
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - base;
  std::uint64_t size =
      static_cast<std::uint64_t>(pageBytes) * static_cast<std::uint64_t>(pages);
  if (size > room)
    bad(who, " buffer at ", base, " of ", size,
        " bytes ends behind the last address");
  return base;
}

std::int64_t getLargestPage(const PageTable &table, std::int64_t used) {
  std::int64_t largest = -1;
  for (std::int64_t i = 0; i < used; ++i)
    largest = std::max<std::int64_t>(largest, table.pages[i]);
  return largest;
}

/// What moves whole pages cannot begin or end inside one: it would be sent
/// twice, or over what the target has already.
void checkPages(const Plan &plan, const Transfer &transfer,
                const Request &request) {
  bool movesPages = plan.policy.roundsToPages;
  for (const Move &move : transfer.moves)
    movesPages |= move.grain == Grain::Page;
  if (!movesPages)
    return;
  std::int64_t page = plan.target.pageTokens;
  for (auto [what, token] : {std::pair<const char *, std::int64_t>(
                                 "the prefix ends", request.prefix),
                             {"the chunk begins", request.chunk.begin},
                             {"the chunk ends", request.chunk.end}})
    if (token % page && token != request.tokens)
      bad(what, " at token ", token, ", inside a page of ", page,
          "; whole pages are moved: a page's first token, or the request's end "
          "at ",
          request.tokens, ", is expected");
}

/// The slots of a page behind the last token are moved like tokens.
Request roundToPages(Request request, std::int64_t pageTokens) {
  auto up = [&](std::int64_t tokens) {
    return (tokens + pageTokens - 1) / pageTokens * pageTokens;
  };
  request.chunk.end = up(request.chunk.end);
  request.tokens = up(request.tokens);
  return request;
}

} // namespace

Binding::Binding(const Plan &plan, const Request &request, int source,
                 int target, const RankMemory &sourceMemory,
                 const RankMemory &targetMemory) {
  checkRequest(request);
  checkMemory("source", plan.source, source, sourceMemory);
  checkMemory("target", plan.target, target, targetMemory);
  for (const Transfer &transfer : plan.transfers)
    if (transfer.source == source && transfer.target == target)
      add(plan, transfer, request, sourceMemory, targetMemory);
}

void Binding::add(const Plan &plan, const Transfer &transfer,
                  const Request &wanted, const RankMemory &sourceMemory,
                  const RankMemory &targetMemory) {
  const Rank &from = plan.source.ranks[transfer.source];
  const Rank &to = plan.target.ranks[transfer.target];
  Request request = wanted;
  if (transfer.isWithLastChunk) {
    if (!request.isLast)
      return;
    request.chunk.begin = 0;
  }
  checkPages(plan, transfer, request);
  if (plan.policy.roundsToPages)
    request = roundToPages(request, plan.target.pageTokens);
  // Moves of equal geometry have equal regions.
  struct Known {
    const Move *move;
    int plane, list;
  };
  std::vector<Known> known;
  std::size_t firstSection = sections.size();
  std::int64_t firstDescriptor = descriptors;
  for (const Move &move : transfer.moves)
    for (int number : move.planes) {
      const Plane &plane = plan.planes[number];
      const Placement &sourcePlane = plan.source.planes[number];
      const Placement &targetPlane = plan.target.planes[number];
      auto isAlike = [](const Placement &a, const Placement &b) {
        return a.pageBytes == b.pageBytes && a.offset == b.offset &&
               a.tokenStride == b.tokenStride && a.headStride == b.headStride;
      };
      int list = -1;
      for (const Known &other : known)
        if (other.move->share == move.share &&
            other.move->grain == move.grain &&
            other.move->sourceHead == move.sourceHead &&
            other.move->targetHead == move.targetHead &&
            other.move->heads == move.heads &&
            plan.planes[other.plane].headBytes == plane.headBytes &&
            plan.planes[other.plane].window == plane.window &&
            plan.planes[other.plane].isState == plane.isState &&
            isAlike(plan.source.planes[other.plane], sourcePlane) &&
            isAlike(plan.target.planes[other.plane], targetPlane) &&
            getTable(plan.source, plan.source.planes[other.plane].buffer) ==
                getTable(plan.source, sourcePlane.buffer) &&
            getTable(plan.target, plan.target.planes[other.plane].buffer) ==
                getTable(plan.target, targetPlane.buffer))
          list = other.list;
      int sourceTable = getTable(plan.source, sourcePlane.buffer);
      int targetTable = getTable(plan.target, targetPlane.buffer);
      const TokenPart whole;
      Place source{&from.tokens, sourceMemory.tables[sourceTable],
                   plan.source.pageTokens, &sourcePlane, move.sourceHead};
      Place target{&to.tokens, targetMemory.tables[targetTable],
                   plan.target.pageTokens, &targetPlane, move.targetHead};
      if (list < 0) {
        std::vector<TokenRun> runs;
        if (plane.isState) {
          source.tokens = target.tokens = &whole;
          source.pageTokens = target.pageTokens = 1;
          // One item, whoever's share the one token is.
          if (!selectTokens({move.share}, {1, {0, 1}, true, 0, request.room},
                            {{0, 1}})
                   .empty())
            runs = {{0, 1, 1, 0}};
        } else {
          std::int64_t begin = std::max(request.chunk.begin, request.prefix);
          if (plane.window)
            begin = std::max(begin, wanted.tokens - plane.window);
          if (plane.window &&
              (plan.policy.roundsToPages || move.grain == Grain::Page))
            begin -= begin % plan.target.pageTokens;
          if (begin < request.chunk.end)
            runs = selectTokens({from.tokens, to.tokens, move.share}, request,
                                {{begin, request.chunk.end}});
        }
        std::int64_t sourceUsed =
            countPages(runs, request, *source.tokens, source.pageTokens);
        std::int64_t targetUsed =
            countPages(runs, request, *target.tokens, target.pageTokens);
        auto poolPages = [](const RankMemory &memory, int table) {
          return table < static_cast<int>(memory.poolPages.size())
                     ? memory.poolPages[table]
                     : 0;
        };
        checkTable("source", transfer.source,
                   getTables(plan.source)[sourceTable], source.table,
                   sourceUsed, poolPages(sourceMemory, sourceTable),
                   sourcePlane.pageBytes);
        checkTable("target", transfer.target,
                   getTables(plan.target)[targetTable], target.table,
                   targetUsed, poolPages(targetMemory, targetTable),
                   targetPlane.pageBytes);
        list = addList(findRegions(runs, request, source, target, move.heads,
                                   plane.headBytes, move.grain));
        known.push_back({&move, number, list});
      }
      if (lists[list].regions.empty())
        continue;
      std::int64_t sourcePages =
          getLargestPage(source.table, source.table.count) + 1;
      std::int64_t targetPages =
          getLargestPage(target.table, target.table.count) + 1;
      for (const LayerRun &run : move.layers)
        for (std::int64_t i = 0; i < run.count; ++i) {
          Section section;
          section.list = list;
          section.source =
              checkAddress("source", sourceMemory.buffers[run.source + i],
                           sourcePlane.pageBytes, sourcePages);
          section.target =
              checkAddress("target", targetMemory.buffers[run.target + i],
                           targetPlane.pageBytes, targetPages);
          section.first = descriptors;
          descriptors += lists[list].descriptors;
          sections.push_back(section);
        }
      // All planes of a page are in it.
      if (move.grain == Grain::Page)
        break;
    }
  addBatches(plan.policy, transfer, firstSection);
  parts.push_back({firstDescriptor, descriptors - firstDescriptor,
                   transfer.packing, transfer.isWithLastChunk});
}

int Binding::addList(std::vector<Region> regions) {
  List list;
  list.regions = std::move(regions);
  list.firsts.reserve(list.regions.size() + 1);
  for (const Region &region : list.regions) {
    list.firsts.push_back(list.descriptors);
    list.descriptors += region.countBlocks();
    list.bytes += region.countBlocks() * region.bytes;
  }
  // Copying a flat array is faster than starting a loop for a few blocks.
  constexpr std::int64_t kFewBlocks = 8;
  if (list.descriptors <
      kFewBlocks * static_cast<std::int64_t>(list.regions.size())) {
    for (const Region &region : list.regions)
      for (std::int64_t j = 0; j < region.outer; ++j)
        for (std::int64_t i = 0; i < region.inner; ++i) {
          list.flatSource.push_back(region.source + j * region.sourceJump +
                                    i * region.sourceStep);
          list.flatTarget.push_back(region.target + j * region.targetJump +
                                    i * region.targetStep);
          list.flatBytes.push_back(region.bytes);
        }
  }
  lists.push_back(std::move(list));
  return static_cast<int>(lists.size()) - 1;
}

void Binding::addBatches(const Policy &policy, const Transfer &transfer,
                         std::size_t fromSection) {
  std::int64_t limit = policy.maxDescriptors
                           ? policy.maxDescriptors
                           : std::numeric_limits<std::int64_t>::max();
  bool isOpen = false;
  for (std::size_t i = fromSection; i < sections.size(); ++i) {
    const Section &section = sections[i];
    const List &list = lists[section.list];
    if (transfer.batching == Batching::Layer)
      isOpen = false;
    // Bytes of a part of a list are counted block by block only where a batch
    // ends inside it.
    std::int64_t done = 0;
    std::size_t region = 0;
    while (done < list.descriptors) {
      if (!isOpen || batches.back().descriptors == limit)
        batches.push_back(
            {section.first + done, 0, 0, transfer.isWithLastChunk});
      isOpen = true;
      Batch &batch = batches.back();
      std::int64_t count =
          std::min(list.descriptors - done, limit - batch.descriptors);
      if (count == list.descriptors) {
        batch.bytes += list.bytes;
      } else {
        for (std::int64_t left = count, at = done; left > 0;) {
          while (at >= list.firsts[region] + list.regions[region].countBlocks())
            ++region;
          std::int64_t here =
              std::min(left, list.firsts[region] +
                                 list.regions[region].countBlocks() - at);
          batch.bytes += here * list.regions[region].bytes;
          at += here;
          left -= here;
        }
      }
      batch.descriptors += count;
      done += count;
    }
  }
}

std::int64_t Binding::countRegions() const {
  std::int64_t count = 0;
  for (const Section &section : sections)
    count += static_cast<std::int64_t>(lists[section.list].regions.size());
  return count;
}

std::int64_t Binding::countBytes() const {
  std::int64_t bytes = 0;
  for (const Batch &batch : batches)
    bytes += batch.bytes;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Writing descriptors
//===----------------------------------------------------------------------===//

namespace {

/// out[i] = first + i * step.
inline void writeSteps(std::uint64_t *out, std::uint64_t first,
                       std::uint64_t step, std::int64_t count) {
  std::int64_t i = 0;
#ifdef __SSE2__
  __m128i value = _mm_set_epi64x(static_cast<long long>(first + step),
                                 static_cast<long long>(first));
  __m128i twice = _mm_set1_epi64x(static_cast<long long>(2 * step));
  for (; i + 2 <= count; i += 2) {
    _mm_storeu_si128(reinterpret_cast<__m128i *>(out + i), value);
    value = _mm_add_epi64(value, twice);
  }
#endif
  for (; i < count; ++i)
    out[i] = first + static_cast<std::uint64_t>(i) * step;
}

/// out[i] = base + offsets[i].
inline void writeOffsets(std::uint64_t *out, std::uint64_t base,
                         const std::int64_t *offsets, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = base + static_cast<std::uint64_t>(offsets[i]);
}

} // namespace

void Binding::fillList(const List &list, std::uint64_t source,
                       std::uint64_t target, std::int64_t from,
                       std::int64_t count, std::uint64_t *sources,
                       std::uint64_t *targets, std::uint64_t *bytes) {
  if (!list.flatSource.empty()) {
    writeOffsets(sources, source, list.flatSource.data() + from, count);
    writeOffsets(targets, target, list.flatTarget.data() + from, count);
    writeOffsets(bytes, 0, list.flatBytes.data() + from, count);
    return;
  }
  std::size_t number =
      std::upper_bound(list.firsts.begin(), list.firsts.end(), from) -
      list.firsts.begin() - 1;
  std::int64_t inside = from - list.firsts[number];
  while (count > 0) {
    const Region &region = list.regions[number];
    std::int64_t row = inside / region.inner, column = inside % region.inner;
    std::int64_t here = std::min(count, region.inner - column);
    writeSteps(sources,
               source + static_cast<std::uint64_t>(region.source +
                                                   row * region.sourceJump +
                                                   column * region.sourceStep),
               static_cast<std::uint64_t>(region.sourceStep), here);
    writeSteps(targets,
               target + static_cast<std::uint64_t>(region.target +
                                                   row * region.targetJump +
                                                   column * region.targetStep),
               static_cast<std::uint64_t>(region.targetStep), here);
    writeSteps(bytes, static_cast<std::uint64_t>(region.bytes), 0, here);
    sources += here;
    targets += here;
    bytes += here;
    count -= here;
    inside += here;
    if (inside == region.countBlocks()) {
      ++number;
      inside = 0;
    }
  }
}

void Binding::fill(std::int64_t first, std::int64_t count,
                   std::uint64_t *source, std::uint64_t *target,
                   std::uint64_t *bytes) const {
  if (first < 0 || count < 0 || count > descriptors - first)
    bad("descriptors [", first, ", ", first + count,
        ") are asked for; there are ", descriptors);
  if (count == 0)
    return;
  auto section = std::upper_bound(sections.begin(), sections.end(), first,
                                  [](std::int64_t number, const Section &s) {
                                    return number < s.first;
                                  }) -
                 1;
  std::int64_t from = first - section->first;
  while (count > 0) {
    const List &list = lists[section->list];
    std::int64_t here = std::min(count, list.descriptors - from);
    fillList(list, section->source, section->target, from, here, source, target,
             bytes);
    source += here;
    target += here;
    bytes += here;
    count -= here;
    from = 0;
    ++section;
  }
}

} // namespace layline::kv
