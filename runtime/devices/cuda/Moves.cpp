#include "devices/cuda/Moves.h"

namespace layline::runtime::cuda {

SplitShape splitAt(const Shape &shape, std::size_t dim) {
  SplitShape result;
  for (std::size_t i = 0; i < shape.size(); ++i)
    (i < dim    ? result.outer
     : i == dim ? result.items
                : result.inner) *= shape[i];
  return result;
}

local::MoveRun &Move::add(std::int32_t source, std::int64_t sourceItems,
                          std::int64_t from, std::int64_t to,
                          std::int64_t count) {
  local::MoveRun run;
  run.source = source;
  run.sourceItems = sourceItems;
  run.from = from;
  run.to = to;
  run.count = count;
  runs.push_back(run);
  return runs.back();
}

RunTable runTable(ProgramBuilder &builder, const RankView &rank,
                  const std::vector<local::MoveRun> &runs) {
  std::vector<local::MoveRun> kept;
  std::int64_t items = 0;
  for (const local::MoveRun &run : runs)
    if (run.count > 0) {
      kept.push_back(run);
      kept.back().before = items;
      items += run.count;
    }
  return {builder.table(rank.cardNumber, kept),
          static_cast<std::int64_t>(kept.size()), items};
}

std::int64_t fill(ProgramBuilder &builder, const RankView &rank,
                  const Move &move, local::MoveParams &p) {
  p.sources = reinterpret_cast<const void *const *>(
      builder.table(rank.cardNumber, move.sources));
  p.sourceCount = static_cast<std::int32_t>(move.sources.size());
  p.integerBytes = move.isInteger ? 8 : 0;
  p.type = move.type;
  p.output = move.output;
  RunTable runs = runTable(builder, rank, move.runs);
  p.runs = runs.runs;
  p.runCount = runs.count;
  p.items = runs.items;
  p.outer = move.outer;
  p.inner = move.inner;
  p.outputItems = move.outputItems;
  return blocksForElements(p.outer * p.items * p.inner);
}

Move moveWithin(const RankView &rank, const Operand &input,
                const Operand &output) {
  Move move;
  move.isInteger = isInteger(input.dtype);
  if (move.isInteger) {
    move.sources = {rank.address(input.index)};
    move.output.data = reinterpret_cast<void *>(rank.address(output.index));
    return move;
  }
  Numbers from = rank.numbers(input);
  move.sources = {reinterpret_cast<Address>(from.data)};
  move.type = from.type;
  move.output = rank.numbers(output);
  return move;
}

} // namespace layline::runtime::cuda
