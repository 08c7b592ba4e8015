// Collectives, step by step: what fused kernels fall back to, and what is left
// of a plan's collectives beside them. Where the members share one card, the
// launches of a stream are all the order that is needed; where their cards
// reach one another's memory, the members meet before they read and after; else
// NCCL brings the members' values together first. docs/cuda.md.
#include "devices/cuda/Groups.h"
#include "devices/cuda/Moves.h"

#include "plan/Error.h"

namespace layline::runtime::cuda {
namespace {

/// What every member shows: where each rank can read every member's input.
struct Shown {
  std::vector<std::vector<Address>> ofRank; ///< [rank][member]
};

std::size_t bytesOf(const RankView &rank, const Operand &operand) {
  std::int64_t each = isInteger(operand.dtype)
                          ? 8
                          : local::numberBytes(rank.numbers(operand).type);
  return static_cast<std::size_t>(
      checkedMul(elements(rank.shape(operand)), each, "size of a value"));
}

/// All members' inputs where each of them can be read.
Shown showAll(ProgramBuilder &builder, const Step &step) {
  const Operand &input = step.arg("input");
  Shown shown;
  for (const RankView &rank : builder.ranks()) {
    std::vector<Address> members;
    for (std::int64_t peer : rank.instances[step.attrs.group]->ranks)
      members.push_back(
          builder.ranks()[static_cast<std::size_t>(peer)].address(input.index));
    shown.ofRank.push_back(std::move(members));
  }
  if (needsNccl(builder, step.attrs.group))
    gatherByNccl(builder, step.attrs.group, shown.ofRank,
                 [&](const RankView &rank) { return bytesOf(rank, input); });
  else
    meet(builder, step.attrs.group);
  return shown;
}

void endShow(ProgramBuilder &builder, const Step &step) {
  if (!needsNccl(builder, step.attrs.group))
    meet(builder, step.attrs.group);
}

Move moveFrom(const RankView &rank, const Step &step, const Shown &shown) {
  Move move = moveWithin(rank, step.arg("input"), step.arg("output"));
  move.sources = shown.ofRank[static_cast<std::size_t>(rank.rank)];
  return move;
}

} // namespace

/// Every rank sums all elements, in rank order: the same bits everywhere. Where
/// an output may be an input that others still read, the sums go to scratch
/// memory first.
void addAllReduce(ProgramBuilder &builder, const Step &step) {
  const Operand &input = step.arg("input"), &output = step.arg("output");
  Shown shown = showAll(builder, step);
  bool isInPlace = input.index == output.index;
  std::vector<Address> sums;
  for (const RankView &rank : builder.ranks())
    sums.push_back(isInPlace ? builder.scratch(rank, bytesOf(rank, output))
                             : rank.address(output.index));
  addMove(builder, [&](const RankView &rank) {
    Move move = moveFrom(rank, step, shown);
    move.output.data =
        reinterpret_cast<void *>(sums[static_cast<std::size_t>(rank.rank)]);
    std::int64_t count = elements(rank.shape(output));
    move.outputItems = count;
    move.add(local::kAllSources, count, 0, 0, count);
    return move;
  });
  endShow(builder, step);
  if (isInPlace)
    for (const RankView &rank : builder.ranks())
      builder.copy(rank, sums[static_cast<std::size_t>(rank.rank)],
                   rank.address(output.index), bytesOf(rank, output));
}

void addReduceScatter(ProgramBuilder &builder, const Step &step) {
  auto dim = static_cast<std::size_t>(step.attrs.dim);
  Shown shown = showAll(builder, step);
  addMove(builder, [&](const RankView &rank) {
    Move move = moveFrom(rank, step, shown);
    SplitShape from = splitAt(rank.shape(step.arg("input")), dim),
               to = splitAt(rank.shape(step.arg("output")), dim);
    move.outer = from.outer;
    move.inner = from.inner;
    move.outputItems = to.items;
    std::int64_t at = 0;
    for (Part run : rank.own(step.arg("output").layout.dims[dim])) {
      move.add(local::kAllSources, from.items, run.begin, at, run.size);
      at += run.size;
    }
    return move;
  });
  endShow(builder, step);
}

void addAllGather(ProgramBuilder &builder, const Step &step) {
  const Operand &input = step.arg("input"), &output = step.arg("output");
  auto dim = static_cast<std::size_t>(step.attrs.dim);
  const DimLayout &layout = input.layout.dims[dim];
  const Plan &plan = *builder.run().plan;
  Shown shown = showAll(builder, step);
  addMove(builder, [&](const RankView &rank) {
    Move move = moveFrom(rank, step, shown);
    SplitShape to = splitAt(rank.shape(output), dim);
    move.outer = to.outer;
    move.inner = to.inner;
    move.outputItems = to.items;
    // A member differs from this rank on the range's axis only, so that a range
    // around it gives all of them the same items.
    std::vector<std::int64_t> coordinates = rank.coordinates;
    Environment environment = rank.environment();
    environment.coordinates = coordinates.data();
    auto members = static_cast<std::int64_t>(move.sources.size());
    for (std::int64_t member = 0; member < members; ++member) {
      coordinates[plan.ranges[layout.range].axis] = member;
      Items items =
          scaled(plan.ownItems(layout.range, environment), layout.unit);
      std::int64_t held = 0, at = 0;
      for (Part run : items)
        held += run.size;
      for (Part run : items) {
        move.add(static_cast<std::int32_t>(member), held, at, run.begin,
                 run.size);
        at += run.size;
      }
    }
    return move;
  });
  endShow(builder, step);
}

/// The root's own output may be its input: every element is then stored over
/// itself, and nobody else writes it.
void addBroadcast(ProgramBuilder &builder, const Step &step) {
  Shown shown = showAll(builder, step);
  addMove(builder, [&](const RankView &rank) {
    Move move = moveFrom(rank, step, shown);
    std::int64_t count = elements(rank.shape(step.arg("output")));
    move.outputItems = count;
    bool isInPlace = step.arg("input").index == step.arg("output").index;
    if (!isInPlace || rank.members[step.attrs.group] != step.attrs.root)
      move.add(static_cast<std::int32_t>(step.attrs.root), count, 0, 0, count);
    return move;
  });
  endShow(builder, step);
}

} // namespace layline::runtime::cuda
