// Cells of the kernels that a plan's steps run as where there is none of the
// catalogue: norms, rope, quantisation, gates. Two ranks in one launch. The
// other kernels of kernels/local are met by the golden models.
#include "Matrix.h"
#include "harness/Bounds.h"
#include "harness/RopeRows.h"
#include "harness/Rows.h"
#include "kernels/local/LocalParams.h"

#include <algorithm>

namespace layline::test {

using namespace layline::kernels;
using namespace layline::kernels::test;
using namespace layline::runtime::cuda;

namespace {

constexpr int kRanks = 2;
constexpr std::size_t kLaunches = 3;

template <typename T>
constexpr local::NumberType kTypeOf = local::NumberType::BF16;
template <> constexpr local::NumberType kTypeOf<float> = local::NumberType::F32;

std::string placeOf(std::size_t launch, int rank) {
  return "launch " + std::to_string(launch) + " on rank " +
         std::to_string(rank) + ", ";
}

local::Numbers numbers(const void *data, local::NumberType type) {
  return {const_cast<void *>(data), type};
}

/// Where a launch's operands lie on a rank's card.
struct Operands {
  const void *rows, *gate, *weight, *normBias;
  Address values, payload, scales;
};

/// Launches of one kernel, one behind another into the same memory: `fill`
/// makes a rank's parameters of its operands.
template <typename T, typename Params, typename Fill>
CellResult runRowWork(const CardSet &cards, const MatrixScope &scope,
                      const char *symbol, RowCase rowCase, unsigned blocks,
                      const Fill &fill) {
  rowCase.launches = kLaunches;
  const Problem &problem = rowCase.problem;
  const std::int64_t count = problem.tokens * problem.width,
                     valueBytes = problem.wantsValues
                                      ? count * std::int64_t(sizeof(T))
                                      : 0,
                     payloadBytes = problem.wantsValues ? 0 : count,
                     scaleCount = problem.tokens * rowCase.scaleColumns();
  CardGroup group(cards, kRanks, scope.waitNanoseconds);
  std::vector<RowInputs<T>> inputs;
  std::vector<Operands> work;
  for (int rank = 0; rank < kRanks; ++rank) {
    inputs.push_back(makeInputs<T>(
        rowCase, static_cast<std::uint32_t>(problem.tokens + rank)));
    Operands of{};
    of.weight = group.upload(rank, inputs.back().weight, "weight");
    of.normBias = group.upload(rank, inputs.back().normBias, "norm bias");
    of.values = group.room(rank, valueBytes, "values");
    of.payload = group.room(rank, payloadBytes, "payload");
    of.scales = group.room(rank, scaleCount * 4, "scales");
    work.push_back(of);
  }
  struct Seen {
    Address values, payload, scales;
  };
  std::vector<CardGroup::Launch> launches;
  std::vector<std::vector<Seen>> seen(kLaunches);
  for (std::size_t n = 0; n < kLaunches; ++n) {
    std::vector<Params> params;
    for (int rank = 0; rank < kRanks; ++rank) {
      Operands of = work[static_cast<std::size_t>(rank)];
      const RowInputs<T> &from = inputs[static_cast<std::size_t>(rank)];
      of.rows = group.upload(rank, from.rows[n][0], "rows");
      of.gate = group.upload(rank, from.gates[n][0], "gate");
      params.emplace_back();
      fill(params.back(), of);
      seen[n].push_back({group.room(rank, valueBytes, "seen"),
                         group.room(rank, payloadBytes, "seen"),
                         group.room(rank, scaleCount * 4, "seen")});
    }
    GroupShape shape;
    shape.blocks = blocks;
    shape.threads = local::kThreads;
    launches.push_back(group.prepare(symbol, shape, params));
  }
  for (std::size_t n = 0; n < kLaunches; ++n) {
    launches[n].enqueue();
    for (int rank = 0; rank < kRanks; ++rank) {
      const Operands &of = work[static_cast<std::size_t>(rank)];
      const Seen &to = seen[n][static_cast<std::size_t>(rank)];
      group.enqueueCopy(rank, to.values, of.values, valueBytes);
      group.enqueueCopy(rank, to.payload, of.payload, payloadBytes);
      group.enqueueCopy(rank, to.scales, of.scales, scaleCount * 4);
    }
  }
  group.synchronize(symbol);
  for (int rank = 0; rank < kRanks; ++rank) {
    RowResults<T> got;
    for (const std::vector<Seen> &launch : seen) {
      const Seen &from = launch[static_cast<std::size_t>(rank)];
      got.values.push_back({group.download<T>(
          rank, from.values, valueBytes / std::int64_t(sizeof(T)))});
      got.payload.push_back(
          {group.download<std::uint8_t>(rank, from.payload, payloadBytes)});
      got.scales.push_back(
          {group.download<float>(rank, from.scales, scaleCount)});
      got.residual.emplace_back(1);
    }
    std::string text =
        outsideOf(rowCase, inputs[static_cast<std::size_t>(rank)], got);
    if (!text.empty())
      return CellResult::failedIf("of the ranks in the launch number " +
                                  std::to_string(rank) + ", " + text);
  }
  return {};
}

RowCase caseOf(DType dtype, std::int64_t tokens, std::int64_t width) {
  RowCase rowCase;
  rowCase.variant.dtype = dtype;
  rowCase.problem.tokens = tokens;
  rowCase.problem.width = width;
  return rowCase;
}

template <typename T>
CellResult runNorm(const CardSet &cards, const MatrixScope &scope,
                   NormKind norm, RowCase rowCase) {
  rowCase.variant.norm = norm;
  rowCase.problem.hasNormBias = norm == NormKind::Layer;
  rowCase.weightOffset = norm == NormKind::Rms ? 1.0F : 0.0F; // gemma's
  return runRowWork<T, local::NormParams>(
      cards, scope, "layline_norm", rowCase, 8,
      [&](local::NormParams &p, const Operands &of) {
        p.input = numbers(of.rows, kTypeOf<T>);
        p.output = {reinterpret_cast<void *>(of.values), kTypeOf<T>};
        p.weight = numbers(of.weight, kTypeOf<T>);
        if (norm == NormKind::Layer)
          p.bias = numbers(of.normBias, kTypeOf<T>);
        p.rows = rowCase.problem.tokens;
        p.width = rowCase.problem.width;
        p.eps = rowCase.eps;
        p.weightOffset = rowCase.weightOffset;
        p.isRms = norm == NormKind::Rms;
      });
}

template <typename T>
CellResult runQuantize(const CardSet &cards, const MatrixScope &scope,
                       std::int64_t groupSize, RowCase rowCase) {
  rowCase.variant.scales = groupSize == 0 ? ScaleKind::Row : ScaleKind::Group;
  rowCase.problem.groupSize = groupSize;
  rowCase.problem.wantsValues = false;
  const Problem &problem = rowCase.problem;
  return runRowWork<T, local::QuantizeParams>(
      cards, scope, "layline_quantize", rowCase, 8,
      [&](local::QuantizeParams &p, const Operands &of) {
        p.input = numbers(of.rows, kTypeOf<T>);
        p.values = {reinterpret_cast<void *>(of.payload),
                    local::NumberType::E4M3};
        p.scales = {reinterpret_cast<void *>(of.scales),
                    local::NumberType::F32};
        p.width = groupSize == 0 ? problem.width : groupSize;
        p.groups = problem.tokens * problem.width / p.width;
      });
}

template <typename T>
CellResult runGate(const CardSet &cards, const MatrixScope &scope,
                   RowCase rowCase) {
  rowCase.variant.function = kernels::Function::Silu;
  rowCase.problem.hasGate = true;
  const Problem &problem = rowCase.problem;
  return runRowWork<T, local::ElementwiseParams>(
      cards, scope, "layline_elementwise", rowCase, 8,
      [&](local::ElementwiseParams &p, const Operands &of) {
        p.op = local::ElementwiseOp::Gate;
        p.function = local::Function::Silu;
        p.inputs[0] = numbers(of.rows, kTypeOf<T>);
        p.inputs[1] = numbers(of.gate, kTypeOf<T>);
        p.inputCount = 2;
        p.output = {reinterpret_cast<void *>(of.values), kTypeOf<T>};
        p.count = problem.tokens * problem.width;
      });
}

template <typename T>
CellResult runRope(const CardSet &cards, const MatrixScope &scope,
                   const RopeCase &rope) {
  static const char *const kSymbol = "layline_rope";
  const std::int64_t count = rope.tokens * rope.width(),
                     bytes = count * std::int64_t(sizeof(T));
  CardGroup group(cards, kRanks, scope.waitNanoseconds);
  std::vector<RopeInputs<T>> inputs;
  std::vector<CardGroup::Launch> launches;
  std::vector<Address> out, seen;
  for (int rank = 0; rank < kRanks; ++rank)
    out.push_back(group.room(rank, bytes, "rotated"));
  for (std::size_t n = 0; n < kLaunches; ++n) {
    std::vector<local::RopeParams> params;
    for (int rank = 0; rank < kRanks; ++rank) {
      inputs.push_back(makeRopeInputs<T>(
          rope, static_cast<std::uint32_t>(inputs.size()) + 1));
      local::RopeParams p;
      p.input =
          numbers(group.upload(rank, inputs.back().rows, "rows"), kTypeOf<T>);
      p.output = {reinterpret_cast<void *>(out[static_cast<std::size_t>(rank)]),
                  kTypeOf<T>};
      p.positions = group.upload(rank, inputs.back().positions, "positions");
      p.halfTurns = group.upload(rank, inputs.back().halfTurns, "half turns");
      p.rows = rope.tokens;
      p.heads = rope.heads;
      p.width = rope.headWidth;
      p.rotary = rope.rotary;
      p.style = static_cast<local::RopeStyle>(rope.variant.style);
      p.attentionFactor = rope.attentionFactor;
      params.push_back(p);
      seen.push_back(group.room(rank, bytes, "seen"));
    }
    GroupShape shape;
    shape.blocks = 8;
    shape.threads = local::kThreads;
    launches.push_back(group.prepare(kSymbol, shape, params));
  }
  for (std::size_t n = 0; n < kLaunches; ++n) {
    launches[n].enqueue();
    for (std::size_t rank = 0; rank < kRanks; ++rank)
      group.enqueueCopy(static_cast<int>(rank), seen[n * kRanks + rank],
                        out[rank], bytes);
  }
  group.synchronize(kSymbol);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const int rank = static_cast<int>(i % kRanks);
    std::string text =
        ropeOutsideOf(rope, inputs[i], group.download<T>(rank, seen[i], count));
    if (!text.empty())
      return CellResult::failedIf(placeOf(i / kRanks, rank) + text);
  }
  return {};
}

/// The cells of one type.
template <typename T>
void addCells(const MatrixScope &scope, DType dtype, std::vector<Cell> &cells) {
  // A thread adds at most 32 numbers of a row, as the bound has it.
  std::vector<std::int64_t> widths = {64, 576, 4096};
  if (scope.isEmulated)
    widths = {64};
  for (std::int64_t width : widths)
    for (std::int64_t tokens : tokensOf(kRanks, scope)) {
      const RowCase rowCase = caseOf(dtype, tokens, width);
      auto add = [&](const char *symbol, auto run) {
        cells.push_back({symbol, kRanks, tokens, width, run});
      };
      for (NormKind norm : {NormKind::Rms, NormKind::Layer})
        add("layline_norm", [=](const CardSet &cards) {
          return runNorm<T>(cards, scope, norm, rowCase);
        });
      for (std::int64_t groupSize : {0, 32})
        add("layline_quantize", [=](const CardSet &cards) {
          return runQuantize<T>(cards, scope, groupSize, rowCase);
        });
      add("layline_elementwise", [=](const CardSet &cards) {
        return runGate<T>(cards, scope, rowCase);
      });
    }
  for (RopeStyle style :
       {RopeStyle::Half, RopeStyle::Interleaved, RopeStyle::InterleavedToHalf})
    for (std::int64_t tokens : tokensOf(kRanks, scope)) {
      const RopeCase rope = {
          ropeOf(dtype, 1, style, false), tokens, 3, 80, 32, 100000, 1.19F};
      cells.push_back({"layline_rope", kRanks, tokens, rope.width(),
                       [=](const CardSet &cards) {
                         return runRope<T>(cards, scope, rope);
                       }});
    }
}

} // namespace

std::vector<Cell> cellsOfLocal(const MatrixScope &scope) {
  std::vector<Cell> cells;
  if (scope.cards > kRanks)
    return cells;
  addCells<bf16>(scope, DType::BF16, cells);
  addCells<float>(scope, DType::F32, cells);
  return cells;
}

} // namespace layline::test
