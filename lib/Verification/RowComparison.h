//===- RowComparison.h - two row maps, symbolic and by counts ---*- C++ -*-===//
#ifndef LAYLINE_LIB_VERIFICATION_ROWCOMPARISON_H
#define LAYLINE_LIB_VERIFICATION_ROWCOMPARISON_H

#include "MeshPoints.h"

namespace layline {

/// The sizes of all segments of a rank.
Expr getTotalSize(const std::vector<SegmentExpr> &segments);

/// Two row maps at the first place where they differ.
struct Difference {
  int64_t tokens = 0;
  MeshPoints::Coordinates coordinates;
  int64_t row = 0;
  /// The row in both; of a row that only one has, nothing.
  std::optional<int64_t> first, second;
  size_t firstSize = 0, secondSize = 0;
};

/// Compares both, count by count, rank by rank.
class Comparison {
public:
  Comparison(Links first, Links second);

  std::optional<Difference> find(int64_t numTokens) const;
  /// With the fewest tokens. If there is none for fewer than `last` tokens,
  /// nothing.
  std::optional<Difference> findSmallest(int64_t &last) const;
  /// `with T = 3 over 2 ranks of "cp": `
  std::string introduce(int64_t numTokens) const;
  const MeshPoints &getPoints() const { return points; }

private:
  Links first, second;
  MeshPoints points;
};

/// One link of each of two maps, for all counts and ranks.
class LinkComparison {
public:
  LinkComparison(const Link &first, const Link &second);

  /// With rank and row as unknowns. Adds the number of queries.
  bool prove(int64_t &queries) const;
  /// Rank by rank. Where both repeat, equal for three periods is equal for
  /// ever: sizes, and begins where a size is not 0, are linear in the number of
  /// periods.
  bool proveByPeriods() const;

private:
  bool isEqualSegment(const SegmentExpr &left, const SegmentExpr &right,
                      int64_t rank, int64_t limit) const;

  std::string rankSymbol;
  int64_t ranks;
  std::vector<SegmentExpr> a, b;
  bool isComparable;
};

} // namespace layline

#endif // LAYLINE_LIB_VERIFICATION_ROWCOMPARISON_H
