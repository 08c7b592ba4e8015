//===- SymbolicParts.h - partitions with an unknown rank --------*- C++ -*-===//
//
// Certificates that parts are disjoint and complete, for all ranks and numbers
// of items at once. Which certificate fits is found by trying; a certificate
// that fits proves, one that does not says nothing.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_VERIFICATION_SYMBOLICPARTS_H
#define LAYLINE_LIB_VERIFICATION_SYMBOLICPARTS_H

#include "AffineCases.h"
#include "layline/Support/Partition.h"

namespace layline {

class SymbolicParts {
public:
  SymbolicParts(const std::vector<SegmentExpr> &segments, std::string axis,
                int64_t ranks, std::optional<int64_t> items);

  /// Whether for each single rank the expressions are affine in the number of
  /// items.
  bool isAffine();
  /// The certificate that fits: "chain" or "strided"; none, an empty string.
  std::string prove();
  /// "chain" if the parts of ranks 0, 1, .. follow one another, each rank's
  /// segments in their order: what a concatenation in rank order takes for
  /// granted.
  std::string proveRankOrder();
  /// The least number of items for which the parts, taken as a chain in rank
  /// order (of two segments: the second ones backward), have a gap. Looks at
  /// each rank by itself, which is exact.
  std::optional<int64_t> findLeastGap();

  int64_t numQueries() const { return queries; }

private:
  using Relation = AffineCases::Relation;
  /// A segment of each rank, in the order of the ranks or backward.
  struct Family {
    size_t segment;
    bool isBackward;
  };

  Expr at(const Expr &expr, const Expr &rank) const;
  std::vector<AffineCases::Unknown> getUnknowns(int64_t lastRank) const;
  bool holdsAtSamples(const Expr &lhs, Relation relation, const Expr &rhs,
                      int64_t lastRank) const;
  /// For all ranks 0..lastRank, which `given` may leave fewer of.
  bool prove(const Expr &lhs, Relation relation, const Expr &rhs,
             int64_t lastRank, const std::vector<Expr> &given = {});
  bool hasGoodSizes();
  std::vector<std::vector<Family>> getChains() const;
  Expr getBegin(size_t segment, bool isClamped) const;
  bool proveClamped();
  bool proveChain(const std::vector<Family> &chain, bool isClamped);
  bool proveInterleaved(bool isClamped);
  bool proveStrided(bool isReversed);

  std::vector<SegmentExpr> segments;
  std::string axis;
  int64_t ranks;
  std::optional<int64_t> items;
  Expr count;
  Expr rank;
  int64_t queries = 0;
};

} // namespace layline

#endif // LAYLINE_LIB_VERIFICATION_SYMBOLICPARTS_H
