#include "kv/Regions.h"

#include "kv/PageKernels.h"

#include <algorithm>
#include <utility>

namespace layline::kv {

namespace {

/// Joins what is appended to the region before it where that stays a region.
class RegionList {
public:
  explicit RegionList(bool joinsBlocks) : joinsBlocks(joinsBlocks) {
    regions.reserve(64); // a small request is not worth growing for
  }

  void add(Region region) {
    // Blocks without a gap on either side are one block.
    if (joinsBlocks && region.sourceStep == region.bytes &&
        region.targetStep == region.bytes) {
      region.bytes *= region.inner;
      region.inner = 1;
    }
    if (region.inner == 1)
      region.sourceStep = region.targetStep = 0;
    if (!regions.empty() && join(regions.back(), region))
      return;
    // The last region is complete: it may be one more time the one before.
    fold();
    regions.push_back(region);
  }

  std::vector<Region> take() {
    fold();
    // Single blocks at equal distances are one row.
    for (Region &region : regions)
      if (region.inner == 1 && region.outer > 1) {
        std::swap(region.inner, region.outer);
        std::swap(region.sourceStep, region.sourceJump);
        std::swap(region.targetStep, region.targetJump);
      }
    return std::move(regions);
  }

private:
  bool join(Region &last, const Region &next) const {
    if (last.outer != 1)
      return false;
    std::int64_t source = next.source - last.source;
    std::int64_t target = next.target - last.target;
    // A longer block.
    if (joinsBlocks && last.inner == 1 && next.inner == 1 &&
        source == last.bytes && target == last.bytes) {
      last.bytes += next.bytes;
      return true;
    }
    if (last.bytes != next.bytes)
      return false;
    // More blocks at the same steps.
    if (last.inner > 1 && source == last.inner * last.sourceStep &&
        target == last.inner * last.targetStep &&
        (next.inner == 1 || (next.sourceStep == last.sourceStep &&
                             next.targetStep == last.targetStep))) {
      last.inner += next.inner;
      return true;
    }
    return false;
  }

  /// Takes the last region into the one before, as a repetition of it.
  void fold() {
    if (regions.size() < 2)
      return;
    Region &before = regions[regions.size() - 2];
    const Region &last = regions.back();
    if (last.outer != 1 || last.bytes != before.bytes ||
        last.inner != before.inner || last.sourceStep != before.sourceStep ||
        last.targetStep != before.targetStep)
      return;
    std::int64_t source = last.source - before.source;
    std::int64_t target = last.target - before.target;
    if (before.outer > 1 && (source != before.outer * before.sourceJump ||
                             target != before.outer * before.targetJump))
      return;
    if (before.outer == 1) {
      before.sourceJump = source;
      before.targetJump = target;
    }
    ++before.outer;
    regions.pop_back();
  }

  bool joinsBlocks;
  std::vector<Region> regions;
};

/// One side while runs are walked.
struct Walk {
  const Place &place;
  const Request &request;

  std::int64_t getSlot(std::int64_t token) const {
    return kv::getSlot(*place.tokens, request, token);
  }
};

/// A slot of a side, and `count` - 1 more, each `step` behind the one before,
/// without dividing at each.
class SlotWalk {
public:
  /// `joinsPages`: what lies in one page and at the begin of the next is taken
  /// together where that is at equal steps.
  SlotWalk(const Place &place, std::int64_t slot, std::int64_t step,
           std::int64_t count, bool joinsPages)
      : place(place), step(step), page(slot / place.pageTokens),
        inRun(slot % place.pageTokens),
        end((slot + (count - 1) * step) / place.pageTokens + 1),
        joinsPages(joinsPages && place.plane->tokenStride * place.pageTokens ==
                                     place.plane->pageBytes) {
    findRun();
  }

  std::int64_t getOffset() const {
    return *place.table.at(page) * place.plane->pageBytes +
           place.plane->offset + inRun * place.plane->tokenStride +
           place.head * place.plane->headStride;
  }
  /// Slots from this one on that are apart by equal bytes.
  std::int64_t countInRun() const {
    std::int64_t left = runSlots - inRun;
    return step == 1 ? left : (left - 1) / step + 1;
  }
  void advance(std::int64_t count) {
    inRun += count * step;
    if (inRun < runSlots)
      return;
    // Most runs are left for the page behind them.
    std::int64_t pages = runSlots / place.pageTokens;
    if (inRun >= runSlots + place.pageTokens)
      pages = inRun / place.pageTokens;
    page += pages;
    inRun -= pages * place.pageTokens;
    if (page < end)
      findRun();
  }

private:
  /// Pages from this one on that follow one another.
  void findRun() {
    const std::int32_t *pages = place.table.at(page);
    runSlots = joinsPages
                   ? countRun(pages, pages, end - page) * place.pageTokens
                   : place.pageTokens;
  }

  const Place &place;
  std::int64_t step, page, inRun;
  std::int64_t end; ///< behind the page of the last slot
  std::int64_t runSlots = 0;
  bool joinsPages;
};

class RegionFinder {
public:
  RegionFinder(const Request &request, const Place &source, const Place &target,
               std::int64_t heads, std::int64_t headBytes, Grain grain)
      : source{source, request}, target{target, request}, heads(heads),
        headBytes(headBytes), list(grain != Grain::Token) {
    // Heads that lie side by side on both sides move as one.
    bool isDense = heads == 1 || (source.plane->headStride == headBytes &&
                                  target.plane->headStride == headBytes);
    blockHeads = isDense ? heads : 1;
  }

  void addRun(const TokenRun &run) {
    if (run.count == 1 || run.length > 1) {
      for (std::int64_t i = 0; i < run.count; ++i)
        addSlots(source.getSlot(run.first + i * run.step), 1,
                 target.getSlot(run.first + i * run.step), 1, run.length);
      return;
    }
    std::int64_t sourceSlot = source.getSlot(run.first);
    std::int64_t targetSlot = target.getSlot(run.first);
    addSlots(sourceSlot, source.getSlot(run.first + run.step) - sourceSlot,
             targetSlot, target.getSlot(run.first + run.step) - targetSlot,
             run.count);
  }

  void addPages(const TokenRun &run) {
    std::int64_t size = source.place.pageTokens;
    for (std::int64_t i = 0; i < run.count; ++i) {
      std::int64_t first = run.first + i * run.step;
      std::int64_t from = source.getSlot(first) / size;
      std::int64_t last = source.getSlot(first + run.length - 1) / size;
      pages.push_back({from, target.getSlot(first) / size, last + 1});
    }
  }

  std::vector<Region> take() {
    // Strided runs lie between one another, and share pages.
    auto isBefore = [](const PageRun &a, const PageRun &b) {
      return a.begin < b.begin;
    };
    if (!std::is_sorted(pages.begin(), pages.end(), isBefore))
      std::sort(pages.begin(), pages.end(), isBefore);
    std::int64_t done = 0;
    for (PageRun run : pages) {
      std::int64_t skipped = std::max<std::int64_t>(0, done - run.begin);
      addPageRun(run.begin + skipped, run.target + skipped, run.end);
      done = std::max(done, run.end);
    }
    return list.take();
  }

private:
  /// `count` slots, apart by steps of their own.
  void addSlots(std::int64_t sourceSlot, std::int64_t sourceStep,
                std::int64_t targetSlot, std::int64_t targetStep,
                std::int64_t count) {
    // Heads apart are walked page by page: that is their order.
    bool joinsPages = blockHeads == heads;
    SlotWalk from(source.place, sourceSlot, sourceStep, count, joinsPages);
    SlotWalk to(target.place, targetSlot, targetStep, count, joinsPages);
    Region region;
    region.bytes = blockHeads * headBytes;
    while (count > 0) {
      region.inner = std::min({count, from.countInRun(), to.countInRun()});
      region.source = from.getOffset();
      region.target = to.getOffset();
      region.sourceStep = sourceStep * source.place.plane->tokenStride;
      region.targetStep = targetStep * target.place.plane->tokenStride;
      for (std::int64_t head = 0; head < heads; head += blockHeads) {
        list.add(region);
        region.source += source.place.plane->headStride;
        region.target += target.place.plane->headStride;
      }
      from.advance(region.inner);
      to.advance(region.inner);
      count -= region.inner;
    }
  }

  /// Whole pages, with all that is in them: [begin, end) of the source's table
  /// and those from `to` on of the target's.
  void addPageRun(std::int64_t begin, std::int64_t to, std::int64_t end) {
    const std::int32_t *from = source.place.table.at(begin);
    const std::int32_t *into = target.place.table.at(to);
    std::int64_t bytes = source.place.plane->pageBytes, count = end - begin;
    for (std::int64_t i = 0, length; i < count; i += length) {
      length = countRun(from + i, into + i, count - i);
      Region region;
      region.source = from[i] * bytes;
      region.target = into[i] * bytes;
      region.bytes = length * bytes;
      list.add(region);
    }
  }

  Walk source, target;
  std::int64_t heads, headBytes, blockHeads;
  /// Pages [begin, end) of the source's table, moved whole.
  struct PageRun {
    std::int64_t begin = 0, target = 0, end = 0;
  };
  std::vector<PageRun> pages;
  RegionList list;
};

} // namespace

std::vector<Region> findRegions(const std::vector<TokenRun> &runs,
                                const Request &request, const Place &source,
                                const Place &target, std::int64_t heads,
                                std::int64_t headBytes, Grain grain) {
  RegionFinder finder(request, source, target, heads, headBytes, grain);
  for (const TokenRun &run : runs) {
    if (grain == Grain::Page)
      finder.addPages(run);
    else
      finder.addRun(run);
  }
  return finder.take();
}

PageSpan findPages(const std::vector<TokenRun> &runs, const Request &request,
                   const TokenPart &tokens, std::int64_t pageTokens) {
  PageSpan span;
  bool isFirst = true;
  // Slots grow with the tokens of a run.
  for (const TokenRun &run : runs) {
    std::int64_t last = run.first + (run.count - 1) * run.step + run.length - 1;
    std::int64_t begin = getSlot(tokens, request, run.first) / pageTokens;
    std::int64_t end = getSlot(tokens, request, last) / pageTokens + 1;
    span.begin = isFirst ? begin : std::min(span.begin, begin);
    span.end = std::max(span.end, end);
    isFirst = false;
  }
  return span;
}

} // namespace layline::kv
