//===- Partition.h - which items of a dimension a rank holds ----*- C++ -*-===//
//
// n items are dealt out to the p ranks of a mesh axis (dialects/Grid: `split`).
// Items are counted, not elements: the elements of a head or a row follow from
// the unit of the split. All functions take n >= 0, p >= 1, 0 <= rank < p, and
// any n, also n < p: ranks that hold nothing are normal.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_SUPPORT_PARTITION_H
#define LAYLINE_SUPPORT_PARTITION_H

#include "layline/Support/Expr.h"
#include <cstdint>
#include <vector>

namespace layline {

/// Items [begin, begin + size).
struct Segment {
  int64_t begin = 0;
  int64_t size = 0;
  int64_t end() const { return begin + size; }
  bool operator==(const Segment &other) const {
    return begin == other.begin && size == other.size;
  }
};

struct Partition {
  enum class Kind {
    /// Balanced and contiguous. With q, r = divmod(n, p):
    /// size = q + (rank < r), begin = rank * q + min(rank, r).
    Block,
    /// The 2p parts of Block(n, 2p); a rank holds part `rank` and part
    /// 2p - 1 - rank, which evens out causal attention.
    Zigzag,
    /// Item i belongs to rank (i / interleave) mod p.
    Cyclic,
    /// Item i belongs to rank owners[i].
    Owner,
    /// The n KV heads that a rank's Block part of the query heads reads, where
    /// query head h reads KV head h / (queryHeads / n). With [b, e) the query
    /// heads and g = queryHeads / n: [b / g, ceil(e / g)). Parts may overlap.
    Readers,
    /// Of what Readers gives a rank, the items that no lower rank has: each KV
    /// head once, on the first rank that reads it. The ranks below read for the
    /// query heads [0, b), so that is [ceil(b / g), ceil(e / g)), the end of
    /// what Readers gives.
    FirstReaders,
    /// Rows that were dispatched to the ranks of their experts: each rank has a
    /// place for every item, and which of them are filled the data say.
    Routed
  };

  static Partition block() { return {Kind::Block, 0, {}}; }
  static Partition zigzag() { return {Kind::Zigzag, 0, {}}; }
  static Partition cyclic(int64_t interleave) {
    return {Kind::Cyclic, interleave, {}};
  }
  static Partition owner(std::vector<int64_t> owners) {
    return {Kind::Owner, 0, std::move(owners)};
  }
  /// `queryHeads` is a multiple of the number of items.
  static Partition readers(int64_t queryHeads) {
    return {Kind::Readers, queryHeads, {}};
  }
  static Partition firstReaders(int64_t queryHeads) {
    return {Kind::FirstReaders, queryHeads, {}};
  }

  static Partition routed(int64_t experts) {
    return {Kind::Routed, experts, {}};
  }

  Kind kind = Kind::Block;
  /// Cyclic: interleave, (First)Readers: query heads, Routed: experts.
  int64_t argument = 0;
  std::vector<int64_t> owners;
};

/// The items of a rank, in ascending order; segments are not empty. Block,
/// Readers and FirstReaders give at most one, Zigzag at most two.
std::vector<Segment> getSegments(const Partition &partition, int64_t items,
                                 int64_t ranks, int64_t rank);

/// How many items a rank holds.
int64_t getExtent(const Partition &partition, int64_t items, int64_t ranks,
                  int64_t rank);

/// The most items that any rank holds: what memory has to be planned for.
int64_t getLargestExtent(const Partition &partition, int64_t items,
                         int64_t ranks);

/// Part `rank` of Block.
Segment getBlock(int64_t items, int64_t ranks, int64_t rank);
/// The rank whose part of Block has item 0 <= `item` < `items`.
int64_t getBlockOwner(int64_t items, int64_t ranks, int64_t item);

/// Items of a rank as expressions in `rank` and `items`: contiguous, or, with
/// `stride` > 0, runs of `block` items whose begins are `stride` apart. The
/// rank's item number j (0 <= j < size) is begin + j, or
/// begin + (j div block) * stride + j mod block.
struct SegmentExpr {
  Expr begin;
  Expr size;
  int64_t block = 0;
  int64_t stride = 0;
};
SegmentExpr getBlockExpr(const Expr &items, int64_t ranks, const Expr &rank);
SegmentExpr getReadersExpr(int64_t items, int64_t queryHeads, int64_t ranks,
                           const Expr &rank);
SegmentExpr getFirstReadersExpr(int64_t items, int64_t queryHeads,
                                int64_t ranks, const Expr &rank);
/// All segments of a rank, in ascending order of their items: one, or two for
/// Zigzag. They may be empty. None for Owner, whose parts have no closed form,
/// and for (First)Readers of a number of items that is not known.
std::vector<SegmentExpr> getSegmentExprs(const Partition &partition,
                                         const Expr &items, int64_t ranks,
                                         const Expr &rank);

} // namespace layline

#endif // LAYLINE_SUPPORT_PARTITION_H
