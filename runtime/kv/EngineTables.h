// Page tables as engines have them, turned into those of a binding.
#ifndef LAYLINE_RUNTIME_KV_ENGINETABLES_H
#define LAYLINE_RUNTIME_KV_ENGINETABLES_H

#include <cstdint>
#include <vector>

namespace layline::kv {

/// Pages of token slots (page * pageTokens + slot in the page), in order of the
/// request's tokens. Throws runtime::Error if the slots of a page do not follow
/// one another from its first on.
std::vector<std::int32_t> getPagesOfSlots(const std::int64_t *slots,
                                          std::int64_t count,
                                          std::int64_t pageTokens);

/// Pages that a rank keeps of a cache whose page numbers are divided among
/// ranks: number n lives on rank n mod ranks as the rank's page n / ranks.
struct StripedPages {
  std::vector<std::int32_t> pages;     ///< of the rank
  std::vector<std::int64_t> positions; ///< in the request, ascending
};
StripedPages selectStripedPages(const std::int32_t *pages, std::int64_t count,
                                std::int64_t ranks, std::int64_t rank);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_ENGINETABLES_H
