#include "engine/CacheRequests.h"

#include "plan/Error.h"

namespace layline::runtime {
namespace {

void checkPages(const CacheSlice &slice, const layline_pages &pages,
                std::int64_t rows, PageTable table) {
  auto refuse = [&](const auto &...found) {
    fail(LAYLINE_BAD_ARGUMENT, "cache '", slice.cache->id, "' on rank ",
         slice.rank, ": the engine's pages hook gives ", found...);
  };
  if (pages.page_rows < 1)
    refuse("pages of ", pages.page_rows, " rows");
  if (pages.table_count < 0 ||
      pages.table_count < (rows + pages.page_rows - 1) / pages.page_rows)
    refuse(pages.table_count, " pages of ", pages.page_rows, " rows for ", rows,
           " rows");
  if (rows == 0 || slice.rowElements() == 0)
    return;
  if (!pages.base)
    refuse("no memory");
  if (slice.items > 1 && pages.item_stride < slice.itemElements)
    refuse("an item stride of ", pages.item_stride, "; an item has ",
           slice.itemElements, " elements");
  if (rows > pages.page_rows && pages.page_stride < slice.itemElements)
    refuse("a page stride of ", pages.page_stride, "; a row's item has ",
           slice.itemElements, " elements");
  // Rows inside an item (row stride below the item stride) or items inside a
  // row: either way a row's item is not the next one's.
  if (pages.page_rows > 1 && pages.row_stride < slice.itemElements)
    refuse("a row stride of ", pages.row_stride, "; a row's item has ",
           slice.itemElements, " elements");
  if (table == PageTable::OfDevice)
    return;
  for (std::int64_t page = 0; pages.table && page < pages.table_count; ++page)
    if (pages.table[page] < 0 && page * pages.page_rows < rows)
      refuse("page number ", pages.table[page], " for rows from ",
             page * pages.page_rows, " on");
}

} // namespace

CacheSlice sliceOf(const Cache &cache, std::int64_t rank, layline_dtype dtype,
                   const Shape &localRow) {
  CacheSlice slice{&cache, rank, dtype};
  std::ptrdiff_t heads = localRow.size() > 1 ? 1 : 0;
  if (heads > 0)
    slice.items = localRow.front();
  slice.itemElements =
      elements(Shape(localRow.begin() + heads, localRow.end()));
  return slice;
}

layline_cache_request CacheSlice::request(std::int64_t first, std::int64_t rows,
                                          HookMessage &message) const {
  layline_cache_request asked = {};
  asked.size = sizeof(asked);
  asked.cache = cache->id.c_str();
  asked.plane = cache->plane.c_str();
  asked.layer = cache->layer;
  asked.rank = rank;
  asked.dtype = dtype;
  asked.items = items;
  asked.item_elements = itemElements;
  asked.first = first;
  asked.rows = rows;
  asked.message = message.data();
  asked.message_bytes = message.size();
  return asked;
}

void checkHook(const CacheSlice &slice, layline_status status,
               const HookMessage &message, const char *hook) {
  if (status != LAYLINE_OK)
    failHook(status, message,
             concat("cache '", slice.cache->id, "' on rank ", slice.rank,
                    ": the engine's ", hook, " hook"));
}

layline_pages locate(const CacheSlice &slice, const layline_cache_hooks &hooks,
                     std::int64_t rows, PageTable table) {
  HookMessage message = {};
  layline_cache_request asked = slice.request(0, rows, message);
  layline_pages pages = {};
  pages.size = sizeof(pages);
  checkHook(slice, hooks.pages(hooks.user, &asked, &pages), message, "pages");
  checkPages(slice, pages, rows, table);
  return pages;
}

} // namespace layline::runtime
