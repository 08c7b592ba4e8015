#include "kv/CheckMemory.h"

#include "kv/PageKernels.h"
#include "plan/Error.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace layline::kv {

namespace {

// With what a plan may hold (CheckPlan.cpp) every product stays below 2^62.
constexpr std::int64_t kMostTokens = std::int64_t(1) << 40;
constexpr std::int64_t kLargestOffset = std::int64_t(1) << 62;

template <typename... Parts> [[noreturn]] void bad(const Parts &...parts) {
  runtime::fail(LAYLINE_BAD_ARGUMENT, parts...);
}

/// The first entry whose page stands before it already, and that one; none if
/// all are different.
std::pair<std::int64_t, std::int64_t> findRepeated(const std::int32_t *pages,
                                                   std::int64_t count,
                                                   std::int64_t largest) {
  // A mark for each page, unless few pages lie far apart. No early end: all are
  // different but for an error.
  if (largest < 64 * count + (1 << 16)) {
    std::vector<std::uint8_t> marks(static_cast<std::size_t>(largest) + 1);
    std::uint8_t isAgain = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint8_t &mark = marks[static_cast<std::uint32_t>(pages[i])];
      isAgain |= mark;
      mark = 1;
    }
    if (!isAgain)
      return {-1, -1};
    std::fill(marks.begin(), marks.end(), std::uint8_t(0));
    std::int64_t i = 0;
    for (; !marks[static_cast<std::uint32_t>(pages[i])]; ++i)
      marks[static_cast<std::uint32_t>(pages[i])] = 1;
    return {std::find(pages, pages + i, pages[i]) - pages, i};
  }
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return std::make_pair(pages[a], a) < std::make_pair(pages[b], b);
  });
  for (std::int64_t i = 1; i < count; ++i)
    if (pages[order[i - 1]] == pages[order[i]])
      return {order[i - 1], order[i]};
  return {-1, -1};
}

} // namespace

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
  if (!memory.poolPages.empty() && memory.poolPages.size() != tables)
    bad(who, " rank ", rank, ": sizes of ", memory.poolPages.size(),
        " pools are given; one for each of ", tables, " tables is expected");
}

std::int64_t checkTable(const char *who, int rank, const std::string &name,
                        const PageTable &table, PageSpan span,
                        std::int64_t poolPages, std::int64_t pageBytes,
                        std::int64_t parts) {
  auto say = [&](auto... parts) {
    bad("page table '", name, "' of ", who, " rank ", rank, ": ", parts...);
  };
  if (poolPages < 0)
    say("a pool of ", poolPages, " pages is given; 0 or more is expected");
  if (table.first < 0 || table.first > kMostTokens)
    say("begins with page ", table.first, " of the request; 0 to ", kMostTokens,
        " is expected");
  if (span.end == span.begin)
    return -1;
  if (span.begin < table.first)
    say("begins with page ", table.first,
        " of the request; the tokens need it from page ", span.begin, " on");
  std::int64_t used = span.end - table.first;
  if (used > table.count && table.first > 0)
    say("has ", table.count, " pages from page ", table.first,
        " of the request on; the tokens need ", used);
  if (used > table.count)
    say("has ", table.count, " pages; the tokens need ", used);
  if (!table.pages)
    say("is null; ", used, " pages are expected");
  constexpr std::int64_t kMostPages = std::int64_t(1) << 31;
  std::int64_t limit = poolPages > 0 ? poolPages : kMostPages;
  limit = std::min(limit, kLargestOffset / pageBytes);
  // Pages of all parts are numbered together.
  limit = limit < kMostPages / parts ? limit * parts : kMostPages;
  // All at once first: what is right is what has to be fast.
  PageRange range = findRange(table.pages, used);
  if (range.least < 0 || range.largest >= limit)
    for (std::int64_t i = 0; i < used; ++i)
      if (table.pages[i] < 0 || table.pages[i] >= limit)
        say("entry ", i, " is page ", table.pages[i], "; 0 to ", limit - 1,
            " are expected");
  if (!range.isAscending)
    if (auto [first, again] = findRepeated(table.pages, used, range.largest);
        again >= 0)
      say("page ", table.pages[again], " stands at entry ", first,
          " and again at ", again);
  return range.largest;
}

void checkAddress(const char *who, std::uint64_t base, std::int64_t pageBytes,
                  std::int64_t pages) {
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - base;
  std::uint64_t size =
      static_cast<std::uint64_t>(pageBytes) * static_cast<std::uint64_t>(pages);
  if (size > room)
    bad(who, " buffer at ", base, " of ", size,
        " bytes ends behind the last address");
}

} // namespace layline::kv
