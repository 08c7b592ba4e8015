//===- Parts.h - what a rank holds of a dimension ---------------*- C++ -*-===//
#ifndef LAYLINE_LIB_EXACT_PARTS_H
#define LAYLINE_LIB_EXACT_PARTS_H

#include "layline/Exact/Program.h"

namespace layline::exact {

/// The value of an extent, or none: a symbol other than tokens and past, or an
/// overflow.
std::optional<int64_t> evaluateExtent(const Expr &extent, int64_t tokens,
                                      int64_t past);

/// Whether two extents are equal, as far as a few token counts can tell.
bool isSameExtent(const Expr &a, const Expr &b);

/// "4096", or "tokens", or "an expression".
std::string describeExtent(const Expr &extent);

/// The elements of a dimension of `extent` elements that the rank with these
/// coordinates holds, in local order. Sets `fault` and returns nothing if the
/// layout makes no sense there.
std::vector<Segment> getLocalSegments(const Program &program,
                                      const DimLayout &layout, int64_t extent,
                                      const std::vector<int64_t> &coordinates,
                                      std::string &fault);

/// What a rank holds of a sampled dimension. Local tensors store the sampled
/// elements only, one behind another.
struct DimPart {
  /// True global numbers of the stored elements, in local order, ...
  std::vector<int64_t> labels;
  /// ... and the true local positions where the rank has them.
  std::vector<int64_t> offsets;
  int64_t extent = 0;  ///< true number of elements held, without padding
  int64_t padding = 0; ///< true number of elements of padding
  int64_t padStored = 0;
  Digest digest; ///< of all of the above
  std::string fault;

  /// Stored elements.
  int64_t size() const { return int64_t(labels.size()) + padStored; }
  /// The stored position of element `label`, or -1.
  int64_t find(int64_t label) const;
  /// As long as the other one, in truth and as stored.
  bool fits(const DimPart &other) const {
    return extent + padding == other.extent + other.padding &&
           size() == other.size();
  }
};

/// `items` are the sampled elements in ascending order, or null for all.
DimPart getDimPart(const std::vector<Segment> &segments,
                   const std::vector<int64_t> *items, int64_t pad);

} // namespace layline::exact

#endif // LAYLINE_LIB_EXACT_PARTS_H
