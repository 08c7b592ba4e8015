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
    : slice_(sliceOf(cache, rank, dtype, localRow)), source_{
                                                         allocator, rank,
                                                         LAYLINE_MEMORY_CACHE} {
  pages_ = denseAt(nullptr);
}

layline_pages CacheStore::denseAt(void *data) const {
  layline_pages pages = {};
  pages.size = sizeof(pages);
  pages.base = data;
  pages.table_count = 1;
  pages.page_rows = std::max<std::int64_t>(rows_, 1);
  pages.row_stride = rowElements();
  pages.item_stride = itemElements();
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
                 bytesOf(slice_.dtype), "size of a cache"));
  if (needed > own_.size()) {
    // Doubled, so that a sequence that grows row by row is copied rarely.
    AlignedBytes larger(std::max(needed, own_.size() * 2), source_);
    auto held =
        static_cast<std::size_t>(rows_ * rowElements() * bytesOf(slice_.dtype));
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
  pages_ = runtime::locate(slice_, *hooks_, rows, PageTable::OfHost);
}

} // namespace layline::runtime
