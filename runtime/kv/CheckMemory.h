// What a caller gives for a request: counts, addresses and page tables, before
// anything is computed with them.
#ifndef LAYLINE_RUNTIME_KV_CHECKMEMORY_H
#define LAYLINE_RUNTIME_KV_CHECKMEMORY_H

#include "kv/Binding.h"

#include <cstdint>
#include <string>

namespace layline::kv {

/// Throws runtime::Error.
void checkRequest(const Request &request);

/// That the rank exists and has as many addresses and tables as it needs.
void checkMemory(const char *who, const Side &side, int rank,
                 const RankMemory &memory);

/// That the pages of a table are there, up to the last one that is used, in the
/// pool, and each once. `poolPages`: 0 if it is not known; `parts`: of how many
/// ranks that keep a page of `parts` each. Returns the largest of them, -1 if
/// none is used.
std::int64_t checkTable(const char *who, int rank, const std::string &name,
                        const PageTable &table, PageSpan used,
                        std::int64_t poolPages, std::int64_t pageBytes,
                        std::int64_t parts);

/// That no address of `pages` pages from `base` on leaves 64 bits.
void checkAddress(const char *who, std::uint64_t base, std::int64_t pageBytes,
                  std::int64_t pages);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_CHECKMEMORY_H
