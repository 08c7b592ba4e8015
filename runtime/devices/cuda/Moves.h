// Values that go from one place to another, as runs of one dimension's items.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_MOVES_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_MOVES_H

#include "devices/cuda/Steps.h"

namespace layline::runtime::cuda {

/// The dimensions in front of `dim`, `dim` itself, and those behind it.
struct SplitShape {
  std::int64_t outer = 1, items = 1, inner = 1;
};
SplitShape splitAt(const Shape &shape, std::size_t dim);

/// Where one rank's values come from and go to.
struct Move {
  std::vector<Address> sources;
  NumberType type = NumberType::F32;
  bool isInteger = false;
  Numbers output;
  std::int64_t outer = 1, inner = 1;
  std::int64_t outputItems = 0;
  /// `before` is filled in; runs without items are dropped.
  std::vector<local::MoveRun> runs;

  local::MoveRun &add(std::int32_t source, std::int64_t sourceItems,
                      std::int64_t from, std::int64_t to, std::int64_t count);
};

/// The runs in the card's memory, without those that have no items, and how
/// many items they have.
struct RunTable {
  const local::MoveRun *runs = nullptr;
  std::int64_t count = 0, items = 0;
};
RunTable runTable(ProgramBuilder &builder, const RankView &rank,
                  const std::vector<local::MoveRun> &runs);

/// Fills the kernel's parameters; returns the blocks that there is work for.
std::int64_t fill(ProgramBuilder &builder, const RankView &rank,
                  const Move &move, local::MoveParams &p);

/// A move of every rank: `describe(rank)` gives it.
template <typename Describe>
void addMove(ProgramBuilder &builder, const Describe &describe) {
  builder.kernel<local::MoveParams>(
      "layline_move", [&](const RankView &rank, local::MoveParams &p) {
        return fill(builder, rank, describe(rank), p);
      });
}

/// The addresses and types of a move within a rank.
Move moveWithin(const RankView &rank, const Operand &input,
                const Operand &output);

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_MOVES_H
