// Page tables of a cache that ranks divide by the numbers of its pages: which
// entries are a rank's, and what it calls them.
#ifndef LAYLINE_RUNTIME_KV_NUMBEREDPAGES_H
#define LAYLINE_RUNTIME_KV_NUMBEREDPAGES_H

#include "kv/Regions.h"
#include "kv/Tokens.h"

#include <cstdint>
#include <vector>

namespace layline::kv {

/// What one rank has of a table that all of its group share.
class NumberedPages {
public:
  /// Of pages [span.begin, span.end) of a table that has been checked. The part
  /// is one by page number.
  NumberedPages(const TokenPart &part, const PageTable &table, PageSpan span,
                std::int64_t pageTokens);

  /// The rank's own numbers, in the shared table's order; -1 for pages that are
  /// another's. Valid as long as this is.
  PageTable getTable() const {
    return {pages.data(), static_cast<std::int64_t>(pages.size()), first};
  }
  /// The tokens of the rank's pages, ascending, neighbours joined. The last
  /// ones may be behind the request's end.
  const std::vector<Interval> &getTokens() const { return tokens; }

private:
  std::vector<std::int32_t> pages;
  std::int64_t first = 0;
  std::vector<Interval> tokens;
};

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_NUMBEREDPAGES_H
