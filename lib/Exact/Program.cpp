//===- Program.cpp - what all ranks of a mesh compute ---------------------===//
#include "layline/Exact/Program.h"
#include <algorithm>
#include <atomic>

using namespace layline;
using namespace layline::exact;

/// What layline::getSegments expects, checked, for programs may be wrong.
static bool canSplit(const Partition &partition, int64_t items) {
  switch (partition.kind) {
  case Partition::Kind::Cyclic:
    return partition.argument >= 1;
  case Partition::Kind::Owner:
    return int64_t(partition.owners.size()) == items;
  case Partition::Kind::Readers:
  case Partition::Kind::FirstReaders:
    return items == 0 ||
           (partition.argument >= items && partition.argument % items == 0);
  case Partition::Kind::Block:
  case Partition::Kind::Zigzag:
  case Partition::Kind::Routed:
    return true;
  }
  return false;
}

Link exact::makeLink(unsigned axis, const Partition &partition) {
  Link link;
  link.axis = axis;
  link.segments = std::make_shared<const SegmentFunction>(
      [partition](int64_t items, int64_t ranks, int64_t coordinate) {
        // A segment that is not there makes a fault of it.
        if (!canSplit(partition, items))
          return std::vector<Segment>{{items, 1}};
        return getSegments(partition, items, ranks, coordinate);
      });
  link.identity = Hasher("partition")
                      .add(uint64_t(partition.kind))
                      .add(uint64_t(partition.argument))
                      .add(partition.owners)
                      .digest();
  return link;
}

Link exact::makeLink(unsigned axis, SegmentFunction segments) {
  static std::atomic<uint64_t> count{0};
  Link link;
  link.axis = axis;
  link.segments = std::make_shared<const SegmentFunction>(std::move(segments));
  link.identity = Hasher("function").add(count++).digest();
  return link;
}

const char *exact::kindName(OpKind kind) {
  // In the order of OpKind.
  static const char *const names[] = {"input",
                                      "weight",
                                      "embedding",
                                      "norm",
                                      "row_squares",
                                      "norm_by",
                                      "linear",
                                      "split_heads",
                                      "merge_heads",
                                      "rope",
                                      "cache",
                                      "attention",
                                      "latent_attention",
                                      "indexer",
                                      "activation",
                                      "gated_activation",
                                      "router",
                                      "experts",
                                      "add_expert_bias",
                                      "add",
                                      "mul",
                                      "add_bias",
                                      "scale",
                                      "cast",
                                      "quantize",
                                      "dequantize",
                                      "slice_columns",
                                      "concat_columns",
                                      "row_scale",
                                      "pad",
                                      "unpad",
                                      "slice",
                                      "all_reduce",
                                      "reduce_scatter",
                                      "all_gather",
                                      "broadcast",
                                      "dispatch",
                                      "combine",
                                      "relabel"};
  return names[static_cast<unsigned>(kind)];
}

bool Program::hasSensibleMesh() const {
  constexpr int64_t kMostRanks = 4096;
  int64_t ranks = 1;
  for (const Axis &axis : axes) {
    if (axis.size < 1 || axis.size > kMostRanks / ranks)
      return false;
    ranks *= axis.size;
  }
  return true;
}

int64_t Program::ranks() const {
  int64_t ranks = 1;
  for (const Axis &axis : axes)
    ranks *= axis.size;
  return ranks;
}

std::vector<int64_t> Program::coordinates(int64_t rank) const {
  std::vector<int64_t> coordinates(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    coordinates[i] = rank % axes[i].size;
    rank /= axes[i].size;
  }
  return coordinates;
}

std::vector<int64_t> Program::group(int64_t rank,
                                    const std::vector<unsigned> &over) const {
  std::vector<int64_t> group = {0};
  std::vector<int64_t> own = coordinates(rank);
  for (unsigned i = 0; i < axes.size(); ++i) {
    bool varies = std::find(over.begin(), over.end(), i) != over.end();
    std::vector<int64_t> next;
    for (int64_t before : group)
      for (int64_t c = 0; c < axes[i].size; ++c)
        if (varies || c == own[i])
          next.push_back(before * axes[i].size + c);
    group = std::move(next);
  }
  return group;
}

ValueId Program::addValue(Value value) {
  value.dims.resize(value.shape.size());
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size() - 1);
}

Op &Program::addOp(OpKind kind, std::vector<ValueId> operands,
                   std::vector<ValueId> results, Attributes attrs) {
  Op op;
  op.kind = kind;
  op.attrs = std::move(attrs);
  op.operands = std::move(operands);
  op.results = std::move(results);
  ops.push_back(std::move(op));
  return ops.back();
}
