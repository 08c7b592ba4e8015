// A KV cache as serving engines keep it: one pool of pages for every plane of
// every rank, and a table of page numbers for every sequence. The runtime works
// in these pages (layline_cache_hooks); nothing is copied when the sequence
// changes.
#ifndef LAYLINE_EXAMPLES_GENERATE_PAGEDCACHE_H
#define LAYLINE_EXAMPLES_GENERATE_PAGEDCACHE_H

#include <layline/hooks.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace generate {

class PagedCache {
public:
  /// Pages of 16 rows for `rows` rows of each of `sequences` sequences.
  PagedCache(std::int64_t sequences, std::int64_t rows);

  /// The sequence whose rows the next run reads and writes.
  void choose(std::size_t sequence) { chosen_ = sequence; }
  layline_cache_hooks hooks();

private:
  static constexpr std::int64_t kPageRows = 16; // as vLLM's default

  static layline_status pages(void *user, const layline_cache_request *request,
                              layline_pages *pages);

  std::vector<std::vector<std::int32_t>> tables_; ///< by sequence
  std::vector<std::int32_t> free_;
  std::int64_t poolPages_;
  /// By cache and rank: [page][row][head][element].
  std::map<std::pair<std::string, std::int64_t>, std::unique_ptr<char[]>>
      pools_;
  std::size_t chosen_ = 0;
};

} // namespace generate

#endif // LAYLINE_EXAMPLES_GENERATE_PAGEDCACHE_H
