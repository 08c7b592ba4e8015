// Page tables read as fast as they come out of memory: a bind looks at every
// entry before it uses one.
#ifndef LAYLINE_RUNTIME_KV_PAGEKERNELS_H
#define LAYLINE_RUNTIME_KV_PAGEKERNELS_H

#include <cstdint>

namespace layline::kv {

struct PageRange {
  std::int32_t least = 0, largest = 0;
  bool isAscending = true; ///< strictly: no page stands twice
};

/// Of `count` pages, at least one.
PageRange findRange(const std::int32_t *pages, std::int64_t count);

/// How many of the first pages follow one another, in both tables: at least 1,
/// at most `count`. No page may be negative.
std::int64_t countRun(const std::int32_t *source, const std::int32_t *target,
                      std::int64_t count);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_PAGEKERNELS_H
