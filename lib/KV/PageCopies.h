//===- PageCopies.h - which pages a transfer moves ---------------*- C++
//-*-===//
#ifndef LAYLINE_LIB_KV_PAGECOPIES_H
#define LAYLINE_LIB_KV_PAGECOPIES_H

#include "kv/Plan.h"

#include <cstdint>
#include <vector>

namespace layline::kv {

/// Entries of a request's tables at the source and at the target.
struct PageCopy {
  std::int64_t source = 0, target = 0;
  /// Where in the target's page, over all its buffers, the first of these bytes
  /// lies: equal for ranks that write the same.
  std::int64_t region = 0;
};

/// By transfer: the pages of a request of so many tokens that bytes go from and
/// to, found from descriptors. Which table they are of does not matter: all of
/// a rank's are alike here.
std::vector<std::vector<PageCopy>> findPageCopies(const Plan &plan,
                                                  std::int64_t tokens);

} // namespace layline::kv

#endif // LAYLINE_LIB_KV_PAGECOPIES_H
