// Where the bytes of planes lie in a page: asked by the reader, the dialect and
// the proof alike.
#ifndef LAYLINE_RUNTIME_KV_PAGELAYOUT_H
#define LAYLINE_RUNTIME_KV_PAGELAYOUT_H

#include "kv/Plan.h"

#include <cstdint>

namespace layline::kv {

/// Bytes of a plane in a page.
struct PageExtent {
  std::int64_t begin = 0, end = 0; ///< of all of them
  std::int64_t rowEnd = 0;         ///< of the first token's
};

/// Of so many tokens; a state is one item. Counts and strides are not negative,
/// their products in 64 bits.
PageExtent getExtent(const Plane &plane, std::int64_t pageTokens,
                     const Placement &place);

/// Items of a plane do not lie on one another: those of the smaller stride fit
/// into the larger one.
bool isApart(const Plane &plane, std::int64_t pageTokens,
             const Placement &place);

/// Planes of one buffer that lie neither one behind the other nor take turns
/// token by token.
bool doOverlap(const Plane &a, const Placement &placeOfA, const Plane &b,
               const Placement &placeOfB, std::int64_t pageTokens);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_PAGELAYOUT_H
