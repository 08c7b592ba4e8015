#include "kv/EngineTables.h"

#include "plan/Error.h"

#include <limits>

namespace layline::kv {

using runtime::fail;

std::vector<std::int32_t> getPagesOfSlots(const std::int64_t *slots,
                                          std::int64_t count,
                                          std::int64_t pageTokens) {
  if (count < 0 || pageTokens < 1 || (count > 0 && !slots))
    fail(LAYLINE_BAD_ARGUMENT, count, " slots in pages of ", pageTokens,
         " tokens are given; 0 or more slots and pages of 1 token or more are "
         "expected");
  std::vector<std::int32_t> pages;
  pages.reserve(count / pageTokens + 1);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t page = slots[i] / pageTokens;
    if (slots[i] < 0 || page > std::numeric_limits<std::int32_t>::max())
      fail(LAYLINE_BAD_ARGUMENT, "token ", i, " is in slot ", slots[i],
           "; 0 or more, of a page below 2^31, is expected");
    if (i % pageTokens == 0)
      pages.push_back(static_cast<std::int32_t>(page));
    std::int64_t expected = pages.back() * pageTokens + i % pageTokens;
    if (slots[i] != expected)
      fail(LAYLINE_BAD_ARGUMENT, "token ", i, " is in slot ", slots[i],
           "; slot ", expected, ", the next of page ", pages.back(),
           ", is expected");
  }
  return pages;
}

StripedPages selectStripedPages(const std::int32_t *pages, std::int64_t count,
                                std::int64_t ranks, std::int64_t rank) {
  if (ranks < 1 || rank < 0 || rank >= ranks || count < 0 ||
      (count > 0 && !pages))
    fail(LAYLINE_BAD_ARGUMENT, "pages of rank ", rank, " of ", ranks,
         " are asked for; 0 to ", ranks - 1, " is expected");
  StripedPages own;
  for (std::int64_t i = 0; i < count; ++i) {
    if (pages[i] < 0)
      fail(LAYLINE_BAD_ARGUMENT, "entry ", i, " is page ", pages[i],
           "; 0 or more is expected");
    if (pages[i] % ranks != rank)
      continue;
    own.pages.push_back(static_cast<std::int32_t>(pages[i] / ranks));
    own.positions.push_back(i);
  }
  return own;
}

} // namespace layline::kv
