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
  std::vector<std::vector<Address>> ofRank; ///< [place][member]
};

/// All members' values where each of them can be read, once they have met.
Shown show(ProgramBuilder &builder, const Step &step, const Operand &input) {
  Shown shown;
  for (const RankView &rank : builder.ranks()) {
    std::vector<Address> members;
    for (std::int64_t peer : rank.instances[step.attrs.group]->ranks) {
      const RankView *here = findRank(builder.ranks(), peer);
      members.push_back(here ? here->address(input.index) : 0);
    }
    shown.ofRank.push_back(std::move(members));
  }
  if (needsNccl(builder, step.attrs.group))
    gatherByNccl(builder, step.attrs.group, shown.ofRank,
                 [&](const RankShape &rank) { return rank.bytes(input); });
  return shown;
}

Shown showAll(ProgramBuilder &builder, const Step &step) {
  Shown shown = show(builder, step, step.arg("input"));
  meet(builder, step.attrs.group);
  return shown;
}

void endShow(ProgramBuilder &builder, const Step &step) {
  meet(builder, step.attrs.group);
}

Move moveFrom(const RankView &rank, const Step &step, const Shown &shown) {
  Move move = moveWithin(rank, step.arg("input"), step.arg("output"));
  move.sources = shown.ofRank[rank.place];
  return move;
}

/// What the range deals out to each member of this rank's group.
std::vector<Items> itemsOfMembers(const RankView &rank, int range,
                                  std::size_t members) {
  const Plan &plan = *rank.run->plan;
  // A member differs from this rank on the range's axis only, so that a range
  // around it gives all of them the same items.
  std::vector<std::int64_t> coordinates = rank.coordinates;
  Environment environment = rank.environment();
  environment.coordinates = coordinates.data();
  std::vector<Items> result;
  for (std::size_t member = 0; member < members; ++member) {
    coordinates[plan.ranges[range].axis] = static_cast<std::int64_t>(member);
    result.push_back(plan.ownItems(range, environment));
  }
  return result;
}

/// Where a rank reads the members' values, as an array on its card.
template <typename T>
T *tableOf(ProgramBuilder &builder, const RankView &rank, const Shown &shown) {
  return reinterpret_cast<T *>(
      builder.table(rank.cardNumber, shown.ofRank[rank.place]));
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
    sums.push_back(isInPlace ? builder.scratch(rank, rank.bytes(output))
                             : rank.address(output.index));
  addMove(builder, [&](const RankView &rank) {
    Move move = moveFrom(rank, step, shown);
    move.output.data = reinterpret_cast<void *>(sums[rank.place]);
    std::int64_t count = elements(rank.shape(output));
    move.outputItems = count;
    move.add(local::kAllSources, count, 0, 0, count);
    return move;
  });
  endShow(builder, step);
  if (isInPlace)
    for (const RankView &rank : builder.ranks())
      builder.copy(rank, sums[rank.place], rank.address(output.index),
                   rank.bytes(output));
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
  Shown shown = showAll(builder, step);
  addMove(builder, [&](const RankView &rank) {
    Move move = moveFrom(rank, step, shown);
    SplitShape to = splitAt(rank.shape(output), dim);
    move.outer = to.outer;
    move.inner = to.inner;
    move.outputItems = to.items;
    std::vector<Items> ofMember =
        itemsOfMembers(rank, layout.range, move.sources.size());
    for (std::size_t member = 0; member < ofMember.size(); ++member) {
      Items items = scaled(ofMember[member], layout.unit);
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

/// Every rank has the ids of all rows before it, and takes what is for its
/// experts: no counts go ahead of the rows. NCCL brings all of them.
void addDispatch(ProgramBuilder &builder, const Step &step) {
  const Operand &input = step.arg("input"), &ids = step.arg("ids"),
                &weights = step.arg("weights");
  Shown rows = show(builder, step, input), chosen = show(builder, step, ids),
        scales = show(builder, step, weights);
  meet(builder, step.attrs.group);
  builder.kernel<local::DispatchParams>(
      "layline_dispatch", [&](const RankView &rank, local::DispatchParams &p) {
        p.ids = tableOf<const std::int64_t *const>(builder, rank, chosen);
        p.inputs = tableOf<const void *const>(builder, rank, rows);
        p.weights = tableOf<const void *const>(builder, rank, scales);
        p.inputType = rank.numbers(input).type;
        p.weightType = rank.numbers(weights).type;
        p.output = rank.numbers(step.arg("output"));
        p.outputWeights = rank.numbers(step.arg("output_weights"));
        p.outputIds = rank.integers(step.arg("output_ids"));
        std::size_t members = rank.instances[step.attrs.group]->ranks.size();
        std::vector<Items> ofMember =
            itemsOfMembers(rank, step.attrs.range, members);
        std::vector<local::MoveRun> runs;
        for (std::size_t member = 0; member < members; ++member) {
          std::int64_t row = 0;
          for (Part part : ofMember[member]) {
            local::MoveRun run;
            run.source = static_cast<std::int32_t>(member);
            run.from = row;
            run.to = part.begin;
            run.count = part.size;
            runs.push_back(run);
            row += part.size;
          }
        }
        RunTable table = runTable(builder, rank, runs);
        p.runs = table.runs;
        p.runCount = table.count;
        p.items = table.items;
        p.width = rank.shape(input).back();
        p.slots = rank.shape(ids).back();
        p.experts = step.attrs.experts;
        p.members = static_cast<std::int64_t>(members);
        p.member = rank.members[step.attrs.group];
        p.fault = builder.faultPlace(rank);
        return p.items;
      });
  endShow(builder, step);
}

void addCombine(ProgramBuilder &builder, const Step &step) {
  const Operand &input = step.arg("input"), &ids = step.arg("ids"),
                &output = step.arg("output");
  Shown made = showAll(builder, step);
  builder.kernel<local::CombineParams>(
      "layline_combine", [&](const RankView &rank, local::CombineParams &p) {
        p.inputs = tableOf<const void *const>(builder, rank, made);
        p.inputType = rank.numbers(input).type;
        p.ids = rank.integers(ids);
        p.output = rank.numbers(output);
        std::vector<local::MoveRun> runs;
        std::int64_t row = 0;
        for (Part part : rank.own(output.layout.dims[0])) {
          local::MoveRun run;
          run.from = part.begin;
          run.to = row;
          run.count = part.size;
          runs.push_back(run);
          row += part.size;
        }
        RunTable table = runTable(builder, rank, runs);
        p.runs = table.runs;
        p.runCount = table.count;
        p.items = table.items;
        p.width = rank.shape(output).back();
        p.slots = rank.shape(ids).back();
        p.experts = step.attrs.experts;
        p.members = static_cast<std::int64_t>(
            rank.instances[step.attrs.group]->ranks.size());
        return p.items;
      });
  endShow(builder, step);
}

} // namespace layline::runtime::cuda
