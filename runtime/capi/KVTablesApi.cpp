// Page tables as engines have them, and how a plan's ranks number pages.
#include "capi/KVBorder.h"

#include "kv/EngineTables.h"

#include <algorithm>

using namespace layline::kv;
using layline::runtime::fail;
using layline::runtime::inside;
using layline::runtime::lengthOf;
using layline::runtime::notNull;

/// Room for as many as there are; none is asked for to learn the number.
template <typename T>
static void copyOut(const std::vector<T> &from, T *to, std::int64_t room) {
  if (room == 0)
    return;
  notNull(to);
  if (room < lengthOf(from))
    fail(LAYLINE_BAD_ARGUMENT, "room for ", room, " pages is given; there are ",
         from.size());
  std::copy(from.begin(), from.end(), to);
}

extern "C" {

layline_status layline_kv_plan_page_parts(const layline_kv_plan *plan,
                                          int32_t side, int64_t rank,
                                          int64_t *parts, int64_t *index) {
  return guardedKV([&] {
    const Side &all = getSide(plan, side);
    inside(rank, lengthOf(all.ranks), "rank");
    notNull(parts, index);
    const TokenPart &part = all.ranks[rank].tokens;
    bool isNumbered = part.kind == TokenPart::Kind::PageNumber;
    *parts = isNumbered ? part.parts : 1;
    *index = isNumbered ? part.index : 0;
  });
}

layline_status layline_kv_pages_of_slots(const int64_t *slots, int64_t count,
                                         int64_t pageTokens, int32_t *pages,
                                         int64_t room, int64_t *number) {
  return guardedKV([&] {
    notNull(number);
    std::vector<std::int32_t> found = getPagesOfSlots(slots, count, pageTokens);
    copyOut(found, pages, room);
    *number = lengthOf(found);
  });
}

layline_status layline_kv_striped_pages(const int32_t *pages, int64_t count,
                                        int64_t ranks, int64_t rank,
                                        int32_t *own, int64_t *positions,
                                        int64_t room, int64_t *number) {
  return guardedKV([&] {
    notNull(number);
    StripedPages found = selectStripedPages(pages, count, ranks, rank);
    copyOut(found.pages, own, room);
    copyOut(found.positions, positions, room);
    *number = lengthOf(found.pages);
  });
}

} // extern "C"
