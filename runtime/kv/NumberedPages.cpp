#include "kv/NumberedPages.h"

#include "kv/EngineTables.h"

namespace layline::kv {

NumberedPages::NumberedPages(const TokenPart &part, const PageTable &table,
                             PageSpan span, std::int64_t pageTokens)
    : pages(static_cast<std::size_t>(span.end - span.begin), -1),
      first(span.begin) {
  if (pages.empty())
    return;
  StripedPages own = selectStripedPages(table.at(first), span.end - first,
                                        part.parts, part.index);
  for (std::size_t i = 0; i < own.pages.size(); ++i) {
    pages[own.positions[i]] = own.pages[i];
    std::int64_t begin = (first + own.positions[i]) * pageTokens;
    if (!tokens.empty() && tokens.back().end == begin)
      tokens.back().end += pageTokens;
    else
      tokens.push_back({begin, begin + pageTokens});
  }
}

} // namespace layline::kv
