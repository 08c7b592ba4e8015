//===- Partition.cpp - which items of a dimension a rank holds ------------===//
#include "layline/Support/Partition.h"
#include <algorithm>

using namespace layline;

Segment layline::getBlock(int64_t items, int64_t ranks, int64_t rank) {
  int64_t quotient = items / ranks, remainder = items % ranks;
  return {rank * quotient + std::min(rank, remainder),
          quotient + (rank < remainder)};
}

int64_t layline::getBlockOwner(int64_t items, int64_t ranks, int64_t item) {
  int64_t quotient = items / ranks, remainder = items % ranks;
  // The first ranks hold one more.
  int64_t larger = remainder * (quotient + 1);
  return item < larger ? item / (quotient + 1)
                       : remainder + (item - larger) / quotient;
}

static Segment getReaders(int64_t items, int64_t queryHeads, int64_t ranks,
                          int64_t rank) {
  if (items == 0)
    return {};
  Segment heads = getBlock(queryHeads, ranks, rank);
  int64_t group = queryHeads / items;
  int64_t begin = heads.begin / group;
  // Without heads, begin is queryHeads: the end of the last group, so that
  // this is empty without a special case.
  return {begin, (heads.end() + group - 1) / group - begin};
}

static Segment getFirstReaders(int64_t items, int64_t queryHeads, int64_t ranks,
                               int64_t rank) {
  if (items == 0)
    return {};
  Segment heads = getBlock(queryHeads, ranks, rank);
  int64_t group = queryHeads / items;
  int64_t begin = (heads.begin + group - 1) / group;
  return {begin, (heads.end() + group - 1) / group - begin};
}

static std::vector<Segment> getOwned(const std::vector<int64_t> &owners,
                                     int64_t rank) {
  std::vector<Segment> segments;
  for (int64_t i = 0, e = owners.size(); i < e; ++i) {
    if (owners[i] != rank)
      continue;
    if (!segments.empty() && segments.back().end() == i)
      ++segments.back().size;
    else
      segments.push_back({i, 1});
  }
  return segments;
}

std::vector<Segment> layline::getSegments(const Partition &partition,
                                          int64_t items, int64_t ranks,
                                          int64_t rank) {
  std::vector<Segment> segments;
  auto add = [&](Segment segment) {
    if (segment.size > 0)
      segments.push_back(segment);
  };
  switch (partition.kind) {
  case Partition::Kind::Block:
    add(getBlock(items, ranks, rank));
    break;
  case Partition::Kind::Zigzag:
    add(getBlock(items, 2 * ranks, rank));
    add(getBlock(items, 2 * ranks, 2 * ranks - 1 - rank));
    break;
  case Partition::Kind::Cyclic:
    for (int64_t begin = rank * partition.argument; begin < items;
         begin += ranks * partition.argument)
      add({begin, std::min(partition.argument, items - begin)});
    break;
  case Partition::Kind::Owner:
    return getOwned(partition.owners, rank);
  case Partition::Kind::Readers:
    add(getReaders(items, partition.argument, ranks, rank));
    break;
  case Partition::Kind::FirstReaders:
    add(getFirstReaders(items, partition.argument, ranks, rank));
    break;
  case Partition::Kind::Routed:
    add({0, items});
    break;
  }
  return segments;
}

int64_t layline::getExtent(const Partition &partition, int64_t items,
                           int64_t ranks, int64_t rank) {
  int64_t extent = 0;
  for (Segment segment : getSegments(partition, items, ranks, rank))
    extent += segment.size;
  return extent;
}

int64_t layline::getLargestExtent(const Partition &partition, int64_t items,
                                  int64_t ranks) {
  if (partition.kind == Partition::Kind::Block)
    return (items + ranks - 1) / ranks;
  int64_t largest = 0;
  for (int64_t rank = 0; rank < ranks; ++rank)
    largest = std::max(largest, getExtent(partition, items, ranks, rank));
  return largest;
}

SegmentExpr layline::getBlockExpr(const Expr &items, int64_t ranks,
                                  const Expr &rank) {
  Expr quotient = floorDiv(items, ranks), remainder = mod(items, ranks);
  // Even parts: no first ranks that hold one more.
  if (remainder.isConstant(0))
    return {rank * quotient, quotient};
  // q + (rank < r) in closed form: (n + p - 1 - rank) div p.
  return {rank * quotient + min(rank, remainder),
          floorDiv(items + (Expr(ranks - 1) - rank), ranks)};
}

SegmentExpr layline::getReadersExpr(int64_t items, int64_t queryHeads,
                                    int64_t ranks, const Expr &rank) {
  if (items == 0)
    return {0, 0};
  SegmentExpr heads = getBlockExpr(queryHeads, ranks, rank);
  int64_t group = queryHeads / items;
  Expr begin = floorDiv(heads.begin, group);
  // A rank whose heads are whole groups holds as many KV heads, wherever its
  // part begins.
  if (heads.size.isConstant() && heads.size.constant() % group == 0)
    return {rank * Expr(heads.size.constant() / group),
            heads.size.constant() / group};
  return {begin, ceilDiv(heads.begin + heads.size, group) - begin};
}

SegmentExpr layline::getFirstReadersExpr(int64_t items, int64_t queryHeads,
                                         int64_t ranks, const Expr &rank) {
  if (items == 0)
    return {0, 0};
  SegmentExpr heads = getBlockExpr(queryHeads, ranks, rank);
  int64_t group = queryHeads / items;
  // Whole groups: no two ranks read one KV head.
  if (heads.size.isConstant() && heads.size.constant() % group == 0)
    return getReadersExpr(items, queryHeads, ranks, rank);
  Expr begin = ceilDiv(heads.begin, group);
  return {begin, ceilDiv(heads.begin + heads.size, group) - begin};
}

/// Items dealt out in runs of `interleave`: whole periods first, then what the
/// last, cut off one leaves for this rank.
static SegmentExpr getCyclicExpr(const Expr &items, int64_t interleave,
                                 int64_t ranks, const Expr &rank) {
  int64_t period = ranks * interleave;
  Expr begin = rank * Expr(interleave);
  Expr rest = max(0, min(interleave, mod(items, period) - begin));
  return {begin, floorDiv(items, period) * Expr(interleave) + rest, interleave,
          period};
}

std::vector<SegmentExpr> layline::getSegmentExprs(const Partition &partition,
                                                  const Expr &items,
                                                  int64_t ranks,
                                                  const Expr &rank) {
  switch (partition.kind) {
  case Partition::Kind::Block:
    return {getBlockExpr(items, ranks, rank)};
  case Partition::Kind::Zigzag:
    return {getBlockExpr(items, 2 * ranks, rank),
            getBlockExpr(items, 2 * ranks, Expr(2 * ranks - 1) - rank)};
  case Partition::Kind::Cyclic:
    return {getCyclicExpr(items, partition.argument, ranks, rank)};
  case Partition::Kind::Readers:
    if (items.isConstant())
      return {
          getReadersExpr(items.constant(), partition.argument, ranks, rank)};
    return {};
  case Partition::Kind::FirstReaders:
    if (items.isConstant())
      return {getFirstReadersExpr(items.constant(), partition.argument, ranks,
                                  rank)};
    return {};
  case Partition::Kind::Routed:
    return {{0, items}};
  case Partition::Kind::Owner:
    return {};
  }
  return {};
}
