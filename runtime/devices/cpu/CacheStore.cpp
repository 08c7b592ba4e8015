#include "devices/cpu/CacheStore.h"

#include "plan/Error.h"

#include <cstring>

namespace layline::runtime {
namespace {

std::int64_t bytesOf(layline_dtype dtype) {
  return dtype == LAYLINE_F32 ? 4 : 8;
}

} // namespace

CacheStore::CacheStore(const Cache &cache, std::int64_t rank,
                       layline_dtype dtype, const Shape &localRow,
                       const layline_allocator *allocator)
    : cache_(&cache), source_{allocator, rank, LAYLINE_MEMORY_CACHE},
      dtype_(dtype) {
  // Heads are the first of two dimensions; latents and positions have none.
  if (localRow.size() > 1)
    items_ = localRow.front();
  itemElements_ = elements(
      Shape(localRow.begin() + (localRow.size() > 1 ? 1 : 0), localRow.end()));
  pages_ = denseAt(nullptr);
}

layline_pages CacheStore::denseAt(void *data) const {
  layline_pages pages = {};
  pages.size = sizeof(pages);
  pages.base = data;
  pages.table_count = 1;
  pages.page_rows = std::max<std::int64_t>(rows_, 1);
  pages.row_stride = rowElements();
  pages.item_stride = itemElements_;
  pages.page_stride = pages.page_rows * pages.row_stride;
  return pages;
}

void CacheStore::use(const layline_cache_hooks *hooks) {
  rows_ = 0;
  own_ = {};
  hooks_ = hooks;
  pages_ = denseAt(nullptr);
}

void CacheStore::resize(std::int64_t rows) {
  if (hooks_) {
    rows_ = rows;
    return;
  }
  auto needed = static_cast<std::size_t>(
      checkedMul(checkedMul(rows, rowElements(), "size of a cache"),
                 bytesOf(dtype_), "size of a cache"));
  if (needed > own_.size()) {
    // Doubled, so that a sequence that grows row by row is copied rarely.
    AlignedBytes larger(std::max(needed, own_.size() * 2), source_);
    auto held =
        static_cast<std::size_t>(rows_ * rowElements() * bytesOf(dtype_));
    if (held > 0)
      std::memcpy(larger.data(), own_.data(), held);
    own_ = std::move(larger);
  }
  rows_ = rows;
  pages_ = denseAt(own_.data());
}

void CacheStore::locate(std::int64_t rows) {
  if (!hooks_ || isOpaque())
    return;
  HookMessage message = {};
  layline_cache_request asked = request(0, rows, message);
  pages_ = {};
  pages_.size = sizeof(pages_);
  check(hooks_->pages(hooks_->user, &asked, &pages_), message, "pages");
  checkPages(rows);
}

void CacheStore::checkPages(std::int64_t rows) const {
  auto refuse = [&](const auto &...found) {
    fail(LAYLINE_BAD_ARGUMENT, "cache '", cache_->id, "' on rank ",
         source_.rank, ": the engine's pages hook gives ", found...);
  };
  if (pages_.page_rows < 1)
    refuse("pages of ", pages_.page_rows, " rows");
  if (pages_.table_count < 0 ||
      pages_.table_count < (rows + pages_.page_rows - 1) / pages_.page_rows)
    refuse(pages_.table_count, " pages of ", pages_.page_rows, " rows for ",
           rows, " rows");
  if (rows == 0 || rowElements() == 0)
    return;
  if (!pages_.base)
    refuse("no memory");
  if (items_ > 1 && pages_.item_stride < itemElements_)
    refuse("an item stride of ", pages_.item_stride, "; an item has ",
           itemElements_, " elements");
  if (rows > pages_.page_rows && pages_.page_stride < itemElements_)
    refuse("a page stride of ", pages_.page_stride, "; a row's item has ",
           itemElements_, " elements");
  // Rows inside an item (row stride below the item stride) or items inside a
  // row: either way a row's item is not the next one's.
  if (pages_.page_rows > 1 && pages_.row_stride < itemElements_)
    refuse("a row stride of ", pages_.row_stride, "; a row's item has ",
           itemElements_, " elements");
  for (std::int64_t page = 0; pages_.table && page < pages_.table_count; ++page)
    if (pages_.table[page] < 0 && page * pages_.page_rows < rows)
      refuse("page number ", pages_.table[page], " for rows from ",
             page * pages_.page_rows, " on");
}

layline_cache_request CacheStore::request(std::int64_t first,
                                          std::int64_t count,
                                          HookMessage &message) const {
  layline_cache_request asked = {};
  asked.size = sizeof(asked);
  asked.cache = cache_->id.c_str();
  asked.plane = cache_->plane.c_str();
  asked.layer = cache_->layer;
  asked.rank = source_.rank;
  asked.dtype = dtype_;
  asked.items = items_;
  asked.item_elements = itemElements_;
  asked.first = first;
  asked.rows = count;
  asked.message = message.data();
  asked.message_bytes = message.size();
  return asked;
}

void CacheStore::check(layline_status status, const HookMessage &message,
                       const char *hook) const {
  if (status != LAYLINE_OK)
    failHook(status, message,
             concat("cache '", cache_->id, "' on rank ", source_.rank,
                    ": the engine's ", hook, " hook"));
}

} // namespace layline::runtime
