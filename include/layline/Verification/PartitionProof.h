//===- PartitionProof.h - disjoint and complete, for every count *- C++ -*-===//
//
// Expressions of parts use the symbol "rank.<axis>" and, where the number of
// items is not known, the symbol "tokens" for it. All statements are about
// every number of items n >= 0, unless it is given. The cost does not depend
// on the number of ranks, unless a statement is wrong or has an unusual form:
// then ranks and counts are tried one by one.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_VERIFICATION_PARTITIONPROOF_H
#define LAYLINE_VERIFICATION_PARTITIONPROOF_H

#include "layline/Support/Partition.h"
#include "layline/Verification/Proof.h"
#include <optional>
#include <string>
#include <vector>

namespace layline {

/// Proves that of 0..n-1 each is held by exactly one of `ranks` ranks, where
/// rank k holds the items of all `segments` at rank.<axis> = k. Segments may be
/// empty, wherever they begin, and parts in any order. The counterexample has
/// the fewest items: `with 5 items over 4 ranks of "cp", item 4 is held by
/// nobody`.
Proof provePartition(const std::vector<SegmentExpr> &segments,
                     const std::string &axis, int64_t ranks,
                     std::optional<int64_t> items);

/// The same for the expressions that `getSegmentExprs` gives. Owner needs a
/// known number of items. Readers need one as well, and are proved as a cover:
/// each rank holds exactly what its Block part of the query heads reads.
/// FirstReaders are a partition of what Readers hold.
Proof provePartition(const Partition &partition, const std::string &axis,
                     int64_t ranks, std::optional<int64_t> items);

/// Proves that the segment holds, for each rank, exactly those of `items` KV
/// heads that the rank's part `queries` of the query heads reads: query head h
/// reads KV head h / (queryHeads / items). `queries` are a partition.
Proof proveReaders(const SegmentExpr &held, int64_t items,
                   const std::vector<SegmentExpr> &queries, int64_t queryHeads,
                   const std::string &axis, int64_t ranks);

/// Proves that the segments `kept` are a partition of `items` KV heads and that
/// each rank's is part of what it holds, `held`: heads that several ranks hold
/// are kept by one of them.
Proof proveFirstReaders(const SegmentExpr &kept, const SegmentExpr &held,
                        int64_t items, const std::string &axis, int64_t ranks);

/// One split of a chain: deals out the items of the part that the link before
/// it gives, or all items.
struct Link {
  Partition partition;
  std::string axis;
  int64_t ranks = 1;
  /// If not empty, these and not the partition's own: what a plan says. Their
  /// "tokens" are the items of the link before.
  std::vector<SegmentExpr> segments = {};
};

/// The link's segments, for a number of items that is the symbol "tokens" if it
/// is not given; empty for Owner, and for Readers of an unknown number.
std::vector<SegmentExpr> getLinkSegments(const Link &link,
                                         std::optional<int64_t> items);

/// Proves that the links, outermost first, give each item to exactly one rank
/// of the product of their axes, which are different: each link is a partition
/// of every number of items, so of whatever the link before hands it.
Proof proveChain(const std::vector<Link> &links, std::optional<int64_t> items);

} // namespace layline

#endif // LAYLINE_VERIFICATION_PARTITIONPROOF_H
