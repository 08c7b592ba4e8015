// What is asked of an engine that keeps a cache itself (layline_cache_hooks),
// and whether its answer can be.
#ifndef LAYLINE_RUNTIME_ENGINE_CACHEREQUESTS_H
#define LAYLINE_RUNTIME_ENGINE_CACHEREQUESTS_H

#include "engine/Hooks.h"
#include "plan/Plan.h"

#include <cstdint>

namespace layline::runtime {

/// What one rank holds of a row of a cache.
struct CacheSlice {
  const Cache *cache = nullptr; ///< must outlive this
  std::int64_t rank = 0;
  layline_dtype dtype = LAYLINE_F32; ///< of the elements in this engine
  std::int64_t items = 1, itemElements = 1;

  std::int64_t rowElements() const { return items * itemElements; }
  layline_cache_request request(std::int64_t first, std::int64_t rows,
                                HookMessage &message) const;
};

/// `localRow`: what the rank holds of a row. Heads are the first of two
/// dimensions; latents and positions have none.
CacheSlice sliceOf(const Cache &cache, std::int64_t rank, layline_dtype dtype,
                   const Shape &localRow);

/// Throws Error for what a hook of this name returned.
void checkHook(const CacheSlice &slice, layline_status status,
               const HookMessage &message, const char *hook);

/// Whether the page numbers of a table are memory of the host.
enum class PageTable : std::uint8_t { OfHost, OfDevice };

/// Asks where rows [0, rows) lie. Throws Error where the hook fails, or gives
/// what contradicts itself or the slice.
layline_pages locate(const CacheSlice &slice, const layline_cache_hooks &hooks,
                     std::int64_t rows, PageTable table);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_ENGINE_CACHEREQUESTS_H
