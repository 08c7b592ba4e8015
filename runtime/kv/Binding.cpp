#include "kv/Binding.h"

#include "kv/CheckMemory.h"
#include "plan/Error.h"

#include <algorithm>
#include <limits>

namespace layline::kv {

namespace {

// Bytes of a binding are added up in 64 bits.
constexpr std::int64_t kMostBytes = std::int64_t(1) << 62;

template <typename... Parts> [[noreturn]] void bad(const Parts &...parts) {
  runtime::fail(LAYLINE_BAD_ARGUMENT, parts...);
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

bool isAlike(const Placement &a, const Placement &b) {
  return a.pageBytes == b.pageBytes && a.offset == b.offset &&
         a.tokenStride == b.tokenStride && a.headStride == b.headStride;
}

} // namespace

std::int64_t countTablePages(const Plan &plan, const Side &side,
                             const Rank &rank, const Request &wanted,
                             int table) {
  Request request = wanted;
  if (plan.policy.roundsToPages)
    request = roundToPages(request, plan.target.pageTokens);
  std::int64_t pages = 0;
  for (std::size_t i = 0; i < plan.planes.size(); ++i) {
    int buffer = side.planes[i].buffer;
    if (getTable(side, buffer) != table || rank.layers[buffer].empty())
      continue;
    std::int64_t tokens = countTokens(rank.tokens, request);
    pages =
        std::max(pages, plan.planes[i].isState
                            ? 1
                            : (tokens + side.pageTokens - 1) / side.pageTokens);
  }
  return pages;
}

//===----------------------------------------------------------------------===//
// Making a binding
//===----------------------------------------------------------------------===//

/// Fills in a binding, transfer by transfer.
class Binder {
public:
  Binder(Binding &binding, const Plan &plan, const Request &request,
         const RankMemory &source, const RankMemory &target)
      : binding(binding), plan(plan), wanted(request),
        source(plan.source, source), target(plan.target, target) {}

  void add(const Transfer &transfer);

private:
  /// One side: its memory, and the table of each buffer.
  struct End {
    End(const Side &side, const RankMemory &memory)
        : side(side), memory(memory), names(getTables(side)) {
      for (std::size_t i = 0; i < side.buffers.size(); ++i)
        tables.push_back(getTable(side, static_cast<int>(i)));
    }
    int tableOf(int plane) const { return tables[side.planes[plane].buffer]; }

    const Side &side;
    const RankMemory &memory;
    std::vector<std::string> names;
    std::vector<int> tables;
  };
  /// A list, what it was made of, and the largest pages in it.
  struct Known {
    const Move *move;
    int plane, list;
    std::int64_t sourcePage, targetPage;
  };

  bool hasEqualRegions(const Move &move, int plane, const Known &known) const;
  std::vector<TokenRun> selectRuns(const Move &move, const Plane &plane,
                                   const Rank &from, const Rank &to) const;
  const Known &getList(const Transfer &transfer, const Move &move, int plane);
  std::int64_t checkEnd(const char *who, int rank, const End &end, int plane,
                        const Place &place,
                        const std::vector<TokenRun> &runs) const;
  int addList(std::vector<Region> regions);
  void addSections(const Move &move, int plane, const Known &known);
  void addBatches(const Transfer &transfer, std::size_t fromSection);

  Binding &binding;
  const Plan &plan;
  const Request &wanted;
  Request request; ///< of the transfer, rounded to pages where that is asked
  End source, target;
  std::vector<Known> known; ///< of the transfer
};

/// Moves of equal geometry have equal regions.
bool Binder::hasEqualRegions(const Move &move, int plane,
                             const Known &other) const {
  const Plane &a = plan.planes[plane], &b = plan.planes[other.plane];
  return other.move->share == move.share && other.move->grain == move.grain &&
         other.move->sourceHead == move.sourceHead &&
         other.move->targetHead == move.targetHead &&
         other.move->heads == move.heads && a.headBytes == b.headBytes &&
         a.window == b.window && a.isState == b.isState &&
         isAlike(plan.source.planes[plane], plan.source.planes[other.plane]) &&
         isAlike(plan.target.planes[plane], plan.target.planes[other.plane]) &&
         source.tableOf(plane) == source.tableOf(other.plane) &&
         target.tableOf(plane) == target.tableOf(other.plane);
}

std::vector<TokenRun> Binder::selectRuns(const Move &move, const Plane &plane,
                                         const Rank &from,
                                         const Rank &to) const {
  if (plane.isState) {
    // One item, whoever's share the one token is.
    if (selectTokens({move.share}, {1, {0, 1}, true, 0, request.room}, {{0, 1}})
            .empty())
      return {};
    return {{0, 1, 1, 0}};
  }
  std::int64_t begin = std::max(request.chunk.begin, request.prefix);
  if (plane.window) {
    begin = std::max(begin, wanted.tokens - plane.window);
    if (plan.policy.roundsToPages || move.grain == Grain::Page)
      begin -= begin % plan.target.pageTokens;
  }
  if (begin >= request.chunk.end)
    return {};
  return selectTokens({from.tokens, to.tokens, move.share}, request,
                      {{begin, request.chunk.end}});
}

/// The pages that the runs use; returns the largest number among them.
std::int64_t Binder::checkEnd(const char *who, int rank, const End &end,
                              int plane, const Place &place,
                              const std::vector<TokenRun> &runs) const {
  int table = end.tableOf(plane);
  const std::vector<std::int64_t> &pools = end.memory.poolPages;
  return checkTable(who, rank, end.names[table], place.table,
                    countPages(runs, request, *place.tokens, place.pageTokens),
                    pools.empty() ? 0 : pools[table], place.plane->pageBytes);
}

const Binder::Known &Binder::getList(const Transfer &transfer, const Move &move,
                                     int number) {
  for (const Known &other : known)
    if (hasEqualRegions(move, number, other))
      return other;
  const Plane &plane = plan.planes[number];
  const Rank &from = plan.source.ranks[transfer.source];
  const Rank &to = plan.target.ranks[transfer.target];
  const TokenPart whole;
  Place a{&from.tokens, source.memory.tables[source.tableOf(number)],
          plan.source.pageTokens, &plan.source.planes[number], move.sourceHead};
  Place b{&to.tokens, target.memory.tables[target.tableOf(number)],
          plan.target.pageTokens, &plan.target.planes[number], move.targetHead};
  if (plane.isState) {
    a.tokens = b.tokens = &whole;
    a.pageTokens = b.pageTokens = 1;
  }
  std::vector<TokenRun> runs = selectRuns(move, plane, from, to);
  std::int64_t sourcePage =
      checkEnd("source", transfer.source, source, number, a, runs);
  std::int64_t targetPage =
      checkEnd("target", transfer.target, target, number, b, runs);
  int list = addList(findRegions(runs, request, a, b, move.heads,
                                 plane.headBytes, move.grain));
  known.push_back({&move, number, list, sourcePage, targetPage});
  return known.back();
}

void Binder::add(const Transfer &transfer) {
  request = wanted;
  if (transfer.isWithLastChunk) {
    if (!request.isLast)
      return;
    request.chunk.begin = 0;
  }
  if (request.prefix % plan.policy.prefixUnit)
    bad("the target has ", request.prefix, " tokens already; a multiple of ",
        plan.policy.prefixUnit, " is expected");
  checkPages(plan, transfer, request);
  if (plan.policy.roundsToPages)
    request = roundToPages(request, plan.target.pageTokens);
  known.clear();
  std::size_t firstSection = binding.sections.size();
  Part part;
  part.first = binding.descriptors;
  part.firstBatch = static_cast<std::int64_t>(binding.batches.size());
  part.packing = transfer.packing;
  part.isWithLastChunk = transfer.isWithLastChunk;
  for (const Move &move : transfer.moves)
    for (int plane : move.planes) {
      addSections(move, plane, getList(transfer, move, plane));
      // All planes of a page are in it.
      if (move.grain == Grain::Page)
        break;
    }
  addBatches(transfer, firstSection);
  part.descriptors = binding.descriptors - part.first;
  part.batches =
      static_cast<std::int64_t>(binding.batches.size()) - part.firstBatch;
  binding.parts.push_back(part);
}

void Binder::addSections(const Move &move, int plane, const Known &entry) {
  const Binding::List &list = binding.lists[entry.list];
  if (list.regions.empty())
    return;
  for (const LayerRun &run : move.layers)
    for (std::int64_t i = 0; i < run.count; ++i) {
      Binding::Section section;
      section.list = entry.list;
      section.source = source.memory.buffers[run.source + i];
      section.target = target.memory.buffers[run.target + i];
      checkAddress("source", section.source,
                   plan.source.planes[plane].pageBytes, entry.sourcePage + 1);
      checkAddress("target", section.target,
                   plan.target.planes[plane].pageBytes, entry.targetPage + 1);
      section.first = binding.descriptors;
      section.firstRegion = binding.regions;
      section.firstBytes = binding.totalBytes;
      if (list.bytes > kMostBytes - binding.totalBytes)
        bad("more than ", kMostBytes, " bytes are moved");
      binding.totalBytes += list.bytes;
      binding.descriptors += list.descriptors; // each has a byte
      binding.regions += static_cast<std::int64_t>(list.regions.size());
      binding.sections.push_back(section);
    }
}

int Binder::addList(std::vector<Region> regions) {
  Binding::List list;
  list.regions = std::move(regions);
  if (!list.regions.empty())
    list.equalBytes = list.regions.front().bytes;
  for (const Region &region : list.regions) {
    list.descriptors += region.countBlocks();
    list.bytes += region.countBlocks() * region.bytes;
    if (region.bytes != list.equalBytes)
      list.equalBytes = 0;
  }
  // Copying a flat array is faster than starting a loop for a few blocks, and
  // for more of them while the array stays in cache.
  constexpr std::int64_t kFewBlocks = 8, kSomeBlocks = 128;
  constexpr std::int64_t kInCache = std::int64_t(1) << 14;
  std::int64_t rows = 0;
  for (const Region &region : list.regions)
    rows += region.outer;
  list.isFlat =
      list.descriptors < kFewBlocks * rows ||
      (list.descriptors <= kInCache && list.descriptors < kSomeBlocks * rows);
  if (list.isFlat)
    list.flatten();
  if (!list.isFlat || !list.equalBytes)
    list.addUp();
  binding.lists.push_back(std::move(list));
  return static_cast<int>(binding.lists.size()) - 1;
}

void Binding::List::flatten() {
  auto count = static_cast<std::size_t>(descriptors);
  flatSource.resize(count);
  flatTarget.resize(count);
  if (!equalBytes)
    flatBytes.resize(count);
  std::size_t at = 0;
  for (const Region &region : regions)
    for (std::int64_t j = 0; j < region.outer; ++j)
      for (std::int64_t i = 0; i < region.inner; ++i, ++at) {
        flatSource[at] =
            region.source + j * region.sourceJump + i * region.sourceStep;
        flatTarget[at] =
            region.target + j * region.targetJump + i * region.targetStep;
        if (!equalBytes)
          flatBytes[at] = region.bytes;
      }
}

void Binding::List::addUp() {
  firsts.reserve(regions.size());
  bytesBefore.reserve(regions.size());
  std::int64_t blocks = 0, size = 0;
  for (const Region &region : regions) {
    firsts.push_back(blocks);
    bytesBefore.push_back(size);
    blocks += region.countBlocks();
    size += region.countBlocks() * region.bytes;
  }
}

void Binder::addBatches(const Transfer &transfer, std::size_t fromSection) {
  std::int64_t limit = plan.policy.maxDescriptors
                           ? plan.policy.maxDescriptors
                           : std::numeric_limits<std::int64_t>::max();
  std::vector<Batch> &batches = binding.batches;
  bool isOpen = false;
  for (std::size_t i = fromSection; i < binding.sections.size(); ++i) {
    const Binding::Section &section = binding.sections[i];
    const Binding::List &list = binding.lists[section.list];
    if (transfer.batching == Batching::Layer)
      isOpen = false;
    std::int64_t done = 0, bytesDone = 0;
    while (done < list.descriptors) {
      if (!isOpen || batches.back().descriptors == limit)
        batches.push_back(
            {section.first + done, 0, 0, transfer.isWithLastChunk, i});
      isOpen = true;
      Batch &batch = batches.back();
      std::int64_t count =
          std::min(list.descriptors - done, limit - batch.descriptors);
      done += count;
      std::int64_t bytes = list.countBytes(done);
      batch.descriptors += count;
      batch.bytes += bytes - bytesDone;
      bytesDone = bytes;
    }
  }
}

Binding::Binding(const Plan &plan, const Request &request, int source,
                 int target, const RankMemory &sourceMemory,
                 const RankMemory &targetMemory) {
  checkRequest(request);
  checkMemory("source", plan.source, source, sourceMemory);
  checkMemory("target", plan.target, target, targetMemory);
  Binder binder(*this, plan, request, sourceMemory, targetMemory);
  for (const Transfer &transfer : plan.transfers)
    if (transfer.source == source && transfer.target == target)
      binder.add(transfer);
  // Of the lists that are used: one without a region has no section.
  for (std::size_t i = 0; i < sections.size(); ++i) {
    std::int64_t own = lists[sections[i].list].equalBytes;
    equalBytes = i == 0 || equalBytes == own ? own : 0;
    if (!equalBytes)
      break;
  }
}

std::size_t Binding::List::findRegion(std::int64_t number) const {
  return std::upper_bound(firsts.begin(), firsts.end(), number) -
         firsts.begin() - 1;
}

std::int64_t Binding::List::countBytes(std::int64_t count) const {
  if (count == descriptors)
    return bytes;
  if (equalBytes)
    return count * equalBytes;
  std::size_t region = findRegion(count);
  return bytesBefore[region] + (count - firsts[region]) * regions[region].bytes;
}

std::int64_t Binding::countBytesBefore(std::int64_t number) const {
  if (number >= descriptors)
    return totalBytes;
  const Section &section = sections[findSection(&Section::first, number)];
  return section.firstBytes +
         lists[section.list].countBytes(number - section.first);
}

std::size_t Binding::findSection(std::int64_t Section::*member,
                                 std::int64_t number) const {
  auto after = std::upper_bound(
      sections.begin(), sections.end(), number,
      [&](std::int64_t value, const Section &s) { return value < s.*member; });
  return after - sections.begin() - 1;
}

} // namespace layline::kv
