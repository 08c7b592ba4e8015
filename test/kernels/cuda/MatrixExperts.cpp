// Cells of the local side of a mixture, and of rope: kernels of one rank, of
// which two run in one launch.
#include "Matrix.h"
#include "harness/ExpertRows.h"
#include "harness/RopeRows.h"
#include "kernels/platform/Numeric.h"

#include <algorithm>

namespace layline::test {

using namespace layline::kernels;
using namespace layline::kernels::test;
using namespace layline::runtime::cuda;

namespace {

using device::bf16;

constexpr int kRanks = 2;
constexpr std::size_t kLaunches = 3;

std::string placeOf(std::size_t launch, int rank) {
  return "launch " + std::to_string(launch) + " on rank " +
         std::to_string(rank) + ", ";
}

const FusedKernel *find(Family family) {
  for (const FusedKernel &kernel : fusedKernels())
    if (kernel.variant.family == family)
      return &kernel;
  return nullptr;
}

// ---- Experts
// -------------------------------------------------------------------

struct ExpertKernels {
  const FusedKernel *sort, *permute, *merge;
};

/// The choices of all ranks are sorted, permuted and merged again: each rank
/// has half of the experts.
CellResult runExperts(const CardSet &cards, const MatrixScope &scope,
                      const ExpertKernels &kernels, const ExpertCase &all) {
  CardGroup group(cards, kRanks, scope.waitNanoseconds);
  auto caseOf = [&](int rank) {
    ExpertCase own = all;
    own.localExperts = all.experts / kRanks;
    own.firstExpert = rank * own.localExperts;
    own.hasShared = all.hasShared && rank == 0;
    return own;
  };
  struct Outputs {
    Address places, offsets, sorted, merged;
  };
  const std::int64_t choices = all.tokens * all.chosen,
                     rowBytes = std::int64_t(all.width) * 2;
  auto makeOutputs = [&](int rank) {
    const std::int64_t offsets = (caseOf(rank).localExperts + 1) * 8;
    return Outputs{group.room(rank, choices * 8, "places"),
                   group.room(rank, offsets, "offsets"),
                   group.room(rank, choices * rowBytes, "sorted"),
                   group.room(rank, all.tokens * rowBytes, "merged")};
  };
  std::vector<Outputs> work; // the same in every launch
  for (int rank = 0; rank < kRanks; ++rank)
    work.push_back(makeOutputs(rank));
  struct Launch {
    ExpertInputs<bf16> inputs;
    CardGroup::Launch sort, permute, merge;
    std::vector<Outputs> seen;
  };
  std::vector<Launch> launches;
  for (std::size_t n = 0; n < kLaunches; ++n) {
    Launch launch;
    launch.inputs =
        makeExpertInputs<bf16>(all, static_cast<std::uint32_t>(n) + 1);
    std::vector<ExpertParams> params;
    for (int rank = 0; rank < kRanks; ++rank) {
      const ExpertCase own = caseOf(rank);
      const Outputs &out = work[static_cast<std::size_t>(rank)];
      ExpertParams p{};
      p.ids = group.upload(rank, launch.inputs.ids, "ids");
      p.tokens = own.tokens;
      p.chosen = own.chosen;
      p.firstExpert = own.firstExpert;
      p.experts = own.localExperts;
      p.places = reinterpret_cast<std::int64_t *>(out.places);
      p.offsets = reinterpret_cast<std::int64_t *>(out.offsets);
      p.rows = group.upload(rank, launch.inputs.rows, "rows");
      p.sorted = reinterpret_cast<void *>(out.sorted);
      p.width = own.width;
      p.results = p.sorted;
      p.weights = group.upload(rank, launch.inputs.weights, "weights");
      if (own.hasShared)
        p.shared = group.upload(rank, launch.inputs.shared, "shared rows");
      p.scale = own.scale;
      p.merged = reinterpret_cast<void *>(out.merged);
      params.push_back(p);
      launch.seen.push_back(makeOutputs(rank));
    }
    GroupShape shape;
    shape.threads = scope.isEmulated ? 64 : kCopyThreads;
    shape.blocks = static_cast<unsigned>(all.experts / kRanks);
    launch.sort = group.prepare(kernels.sort->symbol, shape, params);
    shape.blocks = scope.isEmulated ? 3 : 64;
    launch.permute = group.prepare(kernels.permute->symbol, shape, params);
    launch.merge = group.prepare(kernels.merge->symbol, shape, params);
    launches.push_back(std::move(launch));
  }
  for (const Launch &launch : launches) {
    launch.sort.enqueue();
    launch.permute.enqueue();
    launch.merge.enqueue();
    for (int rank = 0; rank < kRanks; ++rank) {
      const Outputs &from = work[static_cast<std::size_t>(rank)],
                    &to = launch.seen[static_cast<std::size_t>(rank)];
      group.enqueueCopy(rank, to.places, from.places, choices * 8);
      group.enqueueCopy(rank, to.offsets, from.offsets,
                        (caseOf(rank).localExperts + 1) * 8);
      group.enqueueCopy(rank, to.sorted, from.sorted, choices * rowBytes);
      group.enqueueCopy(rank, to.merged, from.merged, all.tokens * rowBytes);
    }
  }
  group.synchronize(kernels.merge->symbol);
  for (std::size_t n = 0; n < kLaunches; ++n)
    for (int rank = 0; rank < kRanks; ++rank) {
      const Outputs &seen = launches[n].seen[static_cast<std::size_t>(rank)];
      ExpertResults<bf16> got;
      got.places = group.download<std::int64_t>(rank, seen.places, choices);
      got.offsets = group.download<std::int64_t>(rank, seen.offsets,
                                                 caseOf(rank).localExperts + 1);
      got.sorted = group.download<bf16>(rank, seen.sorted, choices * all.width);
      got.merged =
          group.download<bf16>(rank, seen.merged, all.tokens * all.width);
      std::string text = differenceOf(caseOf(rank), launches[n].inputs, got);
      if (!text.empty())
        return CellResult::failedIf(placeOf(n, rank) + text);
    }
  return {};
}

// ---- Rope
// ----------------------------------------------------------------------

CellResult runRope(const CardSet &cards, const MatrixScope &scope,
                   const char *symbol, const RopeCase &rope) {
  CardGroup group(cards, kRanks, scope.waitNanoseconds);
  const std::int64_t count = rope.tokens * rope.width();
  std::vector<Address> out, seen;
  for (int rank = 0; rank < kRanks; ++rank)
    out.push_back(group.room(rank, count * 2, "rotated"));
  std::vector<RopeInputs<bf16>> inputs;
  std::vector<CardGroup::Launch> launches;
  for (std::size_t n = 0; n < kLaunches; ++n) {
    std::vector<RopeParams<1>> params;
    for (int rank = 0; rank < kRanks; ++rank) {
      inputs.push_back(makeRopeInputs<bf16>(
          rope, static_cast<std::uint32_t>(inputs.size()) + 1));
      RopeParams<1> p{};
      p.rows = group.upload(rank, inputs.back().rows, "rows");
      p.positions = group.upload(rank, inputs.back().positions, "positions");
      p.halfTurns = group.upload(rank, inputs.back().halfTurns, "half turns");
      p.attentionFactor = rope.attentionFactor;
      p.tokens = rope.tokens;
      p.heads = rope.heads;
      p.headWidth = rope.headWidth;
      p.rotary = rope.rotary;
      p.out[0] = reinterpret_cast<void *>(out[static_cast<std::size_t>(rank)]);
      params.push_back(p);
      seen.push_back(group.room(rank, count * 2, "seen"));
    }
    GroupShape shape;
    shape.blocks = scope.isEmulated ? 2 : 64;
    shape.threads = scope.isEmulated ? 64 : kCopyThreads;
    launches.push_back(group.prepare(symbol, shape, params));
  }
  for (std::size_t n = 0; n < kLaunches; ++n) {
    launches[n].enqueue();
    for (int rank = 0; rank < kRanks; ++rank) {
      auto r = static_cast<std::size_t>(rank);
      group.enqueueCopy(rank, seen[n * kRanks + r], out[r], count * 2);
    }
  }
  group.synchronize(symbol);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const int rank = static_cast<int>(i) % kRanks;
    std::string text = ropeOutsideOf(
        rope, inputs[i], group.download<bf16>(rank, seen[i], count));
    if (!text.empty())
      return CellResult::failedIf(placeOf(i / kRanks, rank) + text);
  }
  return {};
}

} // namespace

std::vector<Cell> cellsOfExperts(const MatrixScope &scope) {
  std::vector<Cell> cells;
  const ExpertKernels kernels = {find(Family::SortByExpert),
                                 find(Family::PermuteRows),
                                 find(Family::MergeExperts)};
  if (scope.cards > kRanks || !kernels.sort || !kernels.permute ||
      !kernels.merge)
    return cells;
  std::vector<ExpertCase> cases = {
      {0, 2, 8, 0, 0, 64, true},      {1, 2, 8, 0, 0, 64, true},
      {33, 2, 8, 0, 0, 64, true},     {7, 1, 2, 0, 0, 72, false},
      {33, 8, 128, 0, 0, 2880, true}, {1000, 8, 256, 0, 0, 512, false}};
  if (scope.isEmulated || scope.isSmall)
    cases = {{7, 2, 8, 0, 0, 64, true}};
  for (const ExpertCase &of : cases)
    cells.push_back({std::string(kernels.sort->symbol) + ", " +
                         kernels.permute->symbol + ", " + kernels.merge->symbol,
                     kRanks, of.tokens, of.width, [=](const CardSet &cards) {
                       return runExperts(cards, scope, kernels, of);
                     }});
  return cells;
}

std::vector<Cell> cellsOfRope(const MatrixScope &scope) {
  std::vector<Cell> cells;
  for (const FusedKernel &kernel : fusedKernels()) {
    if (kernel.variant.family != Family::Rope || kernel.variant.ranks != 1 ||
        scope.cards > kRanks)
      continue;
    // Whole heads and parts of them; of stablelm-3b a quarter of 80, whose
    // pairs are no whole vectors. Positions that floats do not hold.
    std::vector<RopeCase> shapes = {
        {kernel.variant, 0, 3, 64, 64},
        {kernel.variant, 0, 2, 80, 32, 100000, 1.19F},
        {kernel.variant, 0, 32, 128, 128, 1000000}};
    if (kernel.variant.byElement)
      shapes = {{kernel.variant, 0, 2, 80, 20, 100000},
                {kernel.variant, 0, 32, 80, 20}};
    if (scope.isEmulated)
      shapes.resize(1);
    for (RopeCase rope : shapes)
      for (std::int64_t tokens : tokensOf(1, scope)) {
        rope.tokens = tokens;
        const char *symbol = kernel.symbol;
        cells.push_back(
            {symbol, kRanks, tokens, rope.width(), [=](const CardSet &cards) {
               return runRope(cards, scope, symbol, rope);
             }});
      }
  }
  return cells;
}

} // namespace layline::test
