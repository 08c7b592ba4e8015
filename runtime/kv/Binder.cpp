#include "kv/Binding.h"

#include "kv/CheckMemory.h"
#include "kv/NumberedPages.h"
#include "plan/Error.h"

#include <algorithm>
#include <limits>
#include <optional>

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

bool isAlike(const Placement &a, const Placement &b) {
  return a.pageBytes == b.pageBytes && a.offset == b.offset &&
         a.tokenStride == b.tokenStride && a.headStride == b.headStride;
}

} // namespace

//===----------------------------------------------------------------------===//
// Making a binding
//===----------------------------------------------------------------------===//

/// Fills in a binding, transfer by transfer.
class Binder {
public:
  Binder(Binding &binding, const Plan &plan, const Request &request,
         int sourceRank, int targetRank, const RankMemory &source,
         const RankMemory &target)
      : binding(binding), plan(plan), wanted(request),
        source("source", plan.source, sourceRank, source),
        target("target", plan.target, targetRank, target) {}

  void add(const Transfer &transfer);

private:
  /// One side: its memory, and the table of each buffer.
  struct End {
    End(const char *who, const Side &side, int rank, const RankMemory &memory)
        : who(who), side(side), rank(rank), memory(memory),
          names(getTables(side)) {
      for (std::size_t i = 0; i < side.buffers.size(); ++i)
        tables.push_back(getTable(side, static_cast<int>(i)));
    }
    int tableOf(int plane) const { return tables[side.planes[plane].buffer]; }
    const TokenPart &getTokens() const { return side.ranks[rank].tokens; }
    /// Pages of a plane's table that are used; returns the largest number among
    /// them, as the rank numbers its pages.
    std::int64_t check(int plane, PageSpan used) const;

    const char *who;
    const Side &side;
    int rank;
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
  Interval getTokens(const Move &move, const Plane &plane) const;
  Known makeState(const Move &move, int plane);
  Known makeTokens(const Move &move, int plane);
  const Known &getList(const Move &move, int plane);
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

/// The tokens that are moved if both sides have them.
Interval Binder::getTokens(const Move &move, const Plane &plane) const {
  std::int64_t begin = std::max(request.chunk.begin, request.prefix);
  if (plane.window) {
    begin = std::max(begin, wanted.tokens - plane.window);
    if (plan.policy.roundsToPages || move.grain == Grain::Page)
      begin -= begin % plan.target.pageTokens;
  }
  return {begin, std::max(begin, request.chunk.end)};
}

std::int64_t Binder::End::check(int plane, PageSpan used) const {
  int table = tableOf(plane);
  const TokenPart &part = getTokens();
  std::int64_t parts =
      part.kind == TokenPart::Kind::PageNumber ? part.parts : 1;
  return checkTable(who, rank, names[table], memory.tables[table], used,
                    memory.poolPages.empty() ? 0 : memory.poolPages[table],
                    side.planes[plane].pageBytes, parts) /
         parts;
}

/// One item, whoever's share the one token is.
Binder::Known Binder::makeState(const Move &move, int number) {
  std::vector<TokenRun> runs;
  if (!selectTokens({move.share}, {1, {0, 1}, true, 0, request.room}, {{0, 1}})
           .empty())
    runs = {{0, 1, 1, 0}};
  const TokenPart whole;
  const PageSpan used{0, static_cast<std::int64_t>(runs.size())};
  Place a{&whole, source.memory.tables[source.tableOf(number)], 1,
          &plan.source.planes[number], move.sourceHead};
  Place b{&whole, target.memory.tables[target.tableOf(number)], 1,
          &plan.target.planes[number], move.targetHead};
  Known made{&move, number, 0, source.check(number, used),
             target.check(number, used)};
  made.list = addList(findRegions(runs, request, a, b, move.heads,
                                  plan.planes[number].headBytes, move.grain));
  return made;
}

Binder::Known Binder::makeTokens(const Move &move, int number) {
  const Interval wantedTokens = getTokens(move, plan.planes[number]);
  std::vector<Interval> within;
  if (wantedTokens.begin < wantedTokens.end)
    within.push_back(wantedTokens);
  Place a{&source.getTokens(), source.memory.tables[source.tableOf(number)],
          plan.source.pageTokens, &plan.source.planes[number], move.sourceHead};
  Place b{&target.getTokens(), target.memory.tables[target.tableOf(number)],
          plan.target.pageTokens, &plan.target.planes[number], move.targetHead};
  Known made{&move, number, 0, -1, -1};
  // Which tokens a rank has by page number, the table says, which is checked
  // before it is believed.
  std::optional<NumberedPages> ownSource, ownTarget;
  auto select = [&](const End &end, Place &place,
                    std::optional<NumberedPages> &own, std::int64_t &largest) {
    if (place.tokens->kind != TokenPart::Kind::PageNumber || within.empty())
      return;
    PageSpan used{wantedTokens.begin / place.pageTokens,
                  (wantedTokens.end - 1) / place.pageTokens + 1};
    largest = end.check(number, used);
    own.emplace(*place.tokens, place.table, used, place.pageTokens);
    place.table = own->getTable();
    within = intersect(within, own->getTokens());
  };
  select(source, a, ownSource, made.sourcePage);
  select(target, b, ownTarget, made.targetPage);
  std::vector<TokenRun> runs;
  if (!within.empty())
    runs = selectTokens({*a.tokens, *b.tokens, move.share}, request,
                        std::move(within));
  if (!ownSource)
    made.sourcePage =
        source.check(number, findPages(runs, request, *a.tokens, a.pageTokens));
  if (!ownTarget)
    made.targetPage =
        target.check(number, findPages(runs, request, *b.tokens, b.pageTokens));
  made.list = addList(findRegions(runs, request, a, b, move.heads,
                                  plan.planes[number].headBytes, move.grain));
  return made;
}

const Binder::Known &Binder::getList(const Move &move, int number) {
  for (const Known &other : known)
    if (hasEqualRegions(move, number, other))
      return other;
  known.push_back(plan.planes[number].isState ? makeState(move, number)
                                              : makeTokens(move, number));
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
  part.transfer = static_cast<int>(&transfer - plan.transfers.data());
  if (transfer.packing != Packing::None)
    part.slot = getSlotLimits(plan, part.transfer);
  for (const Move &move : transfer.moves)
    for (int plane : move.planes) {
      addSections(move, plane, getList(move, plane));
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
      checkAddress(source.who, section.source,
                   plan.source.planes[plane].pageBytes, entry.sourcePage + 1);
      checkAddress(target.who, section.target,
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
  Binder binder(*this, plan, request, source, target, sourceMemory,
                targetMemory);
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

} // namespace layline::kv
