#include "kv/PageLayout.h"

#include <algorithm>

namespace layline::kv {

/// Slots of a page that a plane has.
static std::int64_t countSlots(const Plane &plane, std::int64_t pageTokens) {
  return plane.isState ? 1 : pageTokens;
}

PageExtent getExtent(const Plane &plane, std::int64_t pageTokens,
                     const Placement &place) {
  std::int64_t row = place.offset + (place.heads - 1) * place.headStride;
  return {place.offset,
          row + (countSlots(plane, pageTokens) - 1) * place.tokenStride +
              plane.headBytes,
          row + plane.headBytes};
}

bool isApart(const Plane &plane, std::int64_t pageTokens,
             const Placement &place) {
  std::int64_t slots = countSlots(plane, pageTokens);
  std::int64_t extent = plane.headBytes;
  auto fits = [&](std::int64_t stride, std::int64_t count) {
    if (count == 1)
      return true;
    if (stride < extent)
      return false;
    extent += (count - 1) * stride;
    return true;
  };
  bool isHeadInner =
      place.heads == 1 || slots == 1 || place.headStride <= place.tokenStride;
  return isHeadInner ? fits(place.headStride, place.heads) &&
                           fits(place.tokenStride, slots)
                     : fits(place.tokenStride, slots) &&
                           fits(place.headStride, place.heads);
}

bool doOverlap(const Plane &a, const Placement &placeOfA, const Plane &b,
               const Placement &placeOfB, std::int64_t pageTokens) {
  if (placeOfA.buffer != placeOfB.buffer)
    return false;
  PageExtent one = getExtent(a, pageTokens, placeOfA);
  PageExtent two = getExtent(b, pageTokens, placeOfB);
  if (one.end <= two.begin || two.end <= one.begin)
    return false;
  std::int64_t begin = std::min(one.begin, two.begin);
  return placeOfA.tokenStride != placeOfB.tokenStride ||
         (one.rowEnd > two.begin && two.rowEnd > one.begin) ||
         std::max(one.rowEnd, two.rowEnd) - begin > placeOfA.tokenStride;
}

} // namespace layline::kv
