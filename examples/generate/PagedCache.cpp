#include "PagedCache.h"

#include <cstdio>

namespace generate {

PagedCache::PagedCache(std::int64_t sequences, std::int64_t rows)
    : tables_(static_cast<std::size_t>(sequences)),
      poolPages_(sequences * ((rows + kPageRows - 1) / kPageRows)) {
  // The last is taken first.
  for (std::int64_t page = poolPages_; page-- > 0;)
    free_.push_back(static_cast<std::int32_t>(page));
}

layline_cache_hooks PagedCache::hooks() {
  layline_cache_hooks hooks = {};
  hooks.size = sizeof(hooks);
  hooks.user = this;
  hooks.pages = pages;
  return hooks;
}

/// One table serves all planes of all ranks: a page of a sequence is the same
/// place in each pool.
layline_status PagedCache::pages(void *user,
                                 const layline_cache_request *request,
                                 layline_pages *pages) {
  auto &cache = *static_cast<PagedCache *>(user);
  std::vector<std::int32_t> &table = cache.tables_[cache.chosen_];
  while (static_cast<std::int64_t>(table.size()) * kPageRows < request->rows) {
    if (cache.free_.empty()) {
      std::snprintf(request->message, request->message_bytes,
                    "all %lld pages of %lld rows are taken",
                    static_cast<long long>(cache.poolPages_),
                    static_cast<long long>(kPageRows));
      return LAYLINE_OUT_OF_MEMORY;
    }
    table.push_back(cache.free_.back());
    cache.free_.pop_back();
  }
  std::int64_t row = request->items * request->item_elements,
               element = request->dtype == LAYLINE_F32 ? 4 : 8;
  std::unique_ptr<char[]> &pool = cache.pools_[{request->cache, request->rank}];
  if (!pool)
    pool.reset(new char[static_cast<std::size_t>(cache.poolPages_ * kPageRows *
                                                 row * element)]);
  pages->base = pool.get();
  pages->table = table.data();
  pages->table_count = static_cast<std::int64_t>(table.size());
  pages->page_rows = kPageRows;
  pages->page_stride = kPageRows * row;
  pages->row_stride = row;
  pages->item_stride = request->item_elements;
  return LAYLINE_OK;
}

} // namespace generate
