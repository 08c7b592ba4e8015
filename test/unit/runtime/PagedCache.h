// A KV cache of an engine's, in pages.
#ifndef LAYLINE_TEST_UNIT_RUNTIME_PAGEDCACHE_H
#define LAYLINE_TEST_UNIT_RUNTIME_PAGEDCACHE_H

#include "layline/hooks.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace layline::test {

/// Rows by head, as [page][row][head] or [page][head][row], in pages that are
/// given out in a scattered order: as a serving engine has them.
class PagedCache {
public:
  PagedCache(std::int64_t pageRows, bool isByHead)
      : pageRows_(pageRows), isByHead_(isByHead) {}

  std::int64_t sequence = 0; ///< whose rows run
  layline_status answer = LAYLINE_OK;
  std::int64_t tooFew = 0; ///< entries that are missing in the table
  std::int32_t wrongPage = 0;
  bool hasNoMemory = false;

  layline_cache_hooks hooks() {
    return {sizeof(layline_cache_hooks), this, pages, nullptr, nullptr};
  }

private:
  static constexpr std::int64_t kPages = 64;
  struct Plane {
    std::vector<std::uint64_t> memory; ///< enough for F64 and I64
    std::map<std::int64_t, std::vector<std::int32_t>> tables; ///< by sequence
    std::int32_t taken = 0;
  };

  static layline_status pages(void *user, const layline_cache_request *request,
                              layline_pages *pages) {
    auto &cache = *static_cast<PagedCache *>(user);
    if (cache.answer != LAYLINE_OK) {
      std::snprintf(request->message, request->message_bytes, "no page left");
      return cache.answer;
    }
    REQUIRE(request->size == sizeof(layline_cache_request));
    REQUIRE(request->first == 0);
    std::int64_t elements = request->items * request->item_elements,
                 pageElements = cache.pageRows_ * elements;
    Plane &plane = cache.planes_[{request->cache, request->rank}];
    plane.memory.resize(static_cast<std::size_t>(kPages * pageElements),
                        ~std::uint64_t(0)); // not a number
    std::vector<std::int32_t> &table = plane.tables[cache.sequence];
    while (static_cast<std::int64_t>(table.size()) * cache.pageRows_ <
           request->rows)
      table.push_back(37 * plane.taken++ % static_cast<std::int32_t>(kPages));
    if (cache.wrongPage)
      table.back() = cache.wrongPage;
    pages->base = cache.hasNoMemory ? nullptr : plane.memory.data();
    pages->table = table.data();
    pages->table_count = static_cast<std::int64_t>(table.size()) - cache.tooFew;
    pages->page_rows = cache.pageRows_;
    pages->page_stride = pageElements;
    pages->row_stride = cache.isByHead_ ? request->item_elements : elements;
    pages->item_stride = cache.isByHead_
                             ? cache.pageRows_ * request->item_elements
                             : request->item_elements;
    return LAYLINE_OK;
  }

  std::int64_t pageRows_;
  bool isByHead_;
  std::map<std::pair<std::string, std::int64_t>, Plane> planes_;
};

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_RUNTIME_PAGEDCACHE_H
