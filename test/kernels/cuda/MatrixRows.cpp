// Cells of row_collective and one_shot: chains of one rank, plain collectives,
// fused ones, quantized rows, and what goes by the switch.
#include "CardRows.h"
#include "Matrix.h"

#include <algorithm>

namespace layline::test {

using namespace layline::kernels;
using namespace layline::kernels::test;

namespace {

/// One more than one_shot has mailboxes: each that was used is used again.
constexpr int kLaunches = 4;
/// As device cuda takes one_shot (kernels/plan/LaunchPlan.h).
constexpr std::int64_t kMostBytesOfOneShot = std::int64_t(1) << 20;
/// Elements of a tensor: references take 50 ns for each of every launch.
constexpr std::int64_t kMostElements = 240000;

/// Why a kernel by the switch does not run on these cards, or "".
std::string whyNoSwitch(const CardSet &cards, int ranks) {
  if (cards.size() < static_cast<std::size_t>(ranks))
    return "kernels by the switch need a card for each of their ranks";
  for (std::size_t c = 0; c < cards.size(); ++c)
    if (!cards[c].hasMulticast())
      return cards[c].name() + " has no multicast";
  return {};
}

template <typename T>
CellResult runCell(const CardSet &cards, const MatrixScope &scope,
                   const FusedKernel &kernel, const Problem &problem,
                   std::uint32_t salt) {
  const Variant &variant = kernel.variant;
  if (isBySwitch(variant))
    if (std::string why = whyNoSwitch(cards, variant.ranks); !why.empty())
      return CellResult::skipped(why);
  RowCase rowCase = cardCase(cards, kernel, problem, scope.isEmulated ? 3 : 64,
                             scope.isEmulated);
  rowCase.launches = kLaunches;
  const RowInputs<T> inputs = makeInputs<T>(rowCase, salt);
  RowResults<T> got;
  RowsOnCards done =
      runOnCards<T>(cards, kernel, rowCase, inputs, scope.waitNanoseconds, got);
  if (!done.unicast.empty())
    return CellResult::skipped(done.unicast);
  if (!done.late.empty())
    return CellResult::failedIf(done.late);
  std::string text = disagreementOf(rowCase, got);
  if (!text.empty())
    return CellResult::failedIf("ranks disagree: " + text);
  text = outsideOf(rowCase, inputs, got);
  if (!text.empty() || variant.input == Input::OwedMulticast)
    return CellResult::failedIf(text);
  // The emulator rounds as the reference does. A card's functions may differ in
  // the last place, but not from run to run.
  if (scope.isEmulated) {
    text = differenceOf(got, expectOrdered(rowCase, inputs));
    return CellResult::failedIf(text.empty() ? "" : "other bits: " + text);
  }
  RowResults<T> again;
  done = runOnCards<T>(cards, kernel, rowCase, inputs, scope.waitNanoseconds,
                       again);
  text = done.late.empty() ? differenceOf(again, got) : done.late;
  return CellResult::failedIf(text.empty() ? "" : "in a second run: " + text);
}

CellResult runCell(const CardSet &cards, const MatrixScope &scope,
                   const FusedKernel &kernel, const Problem &problem,
                   std::uint32_t salt) {
  return kernel.variant.dtype == DType::BF16
             ? runCell<bf16>(cards, scope, kernel, problem, salt)
             : runCell<float>(cards, scope, kernel, problem, salt);
}

std::vector<std::int64_t> widthsOf(const MatrixScope &scope) {
  if (scope.isEmulated)
    return {64};
  return scope.isSmall ? std::vector<std::int64_t>{64, 7168}
                       : std::vector<std::int64_t>{64, 576, 2880, 7168, 12288};
}

bool isTaken(const Variant &variant, std::int64_t tokens, std::int64_t width) {
  if (variant.family == Family::OneShot &&
      tokens * width * bytesOf(variant.dtype) > kMostBytesOfOneShot)
    return false;
  return tokens * width <= kMostElements;
}

/// Cells of the kernels of rows that `is` says yes to.
template <typename Is>
std::vector<Cell> cellsOf(const MatrixScope &scope, const Is &is) {
  std::vector<Cell> cells;
  std::uint32_t salt = 1;
  for (const FusedKernel &kernel : fusedKernels()) {
    const Variant &variant = kernel.variant;
    if ((variant.family != Family::RowCollective &&
         variant.family != Family::OneShot) ||
        variant.ranks < scope.cards || !is(variant))
      continue;
    for (std::int64_t width : widthsOf(scope))
      for (std::int64_t tokens : tokensOf(variant.ranks, scope))
        if (isTaken(variant, tokens, width)) {
          Problem problem = problemOf(variant, tokens, width);
          const FusedKernel *of = &kernel;
          const std::uint32_t number = salt++;
          cells.push_back({kernel.symbol, variant.ranks, tokens, width,
                           [=](const CardSet &cards) {
                             return runCell(cards, scope, *of, problem, number);
                           }});
        }
  }
  return cells;
}

bool isQuantized(const Variant &variant) {
  return variant.scales != ScaleKind::None;
}
bool isRowCollective(const Variant &variant) {
  return variant.family == Family::RowCollective && variant.ranks > 1 &&
         !isQuantized(variant) && !isBySwitch(variant);
}

} // namespace

std::vector<std::int64_t> tokensOf(int ranks, const MatrixScope &scope) {
  if (scope.isEmulated)
    return {0, 1, ranks + 1};
  std::vector<std::int64_t> tokens = {0,         1,  ranks - 1, ranks,
                                      ranks + 1, 33, 64};
  if (scope.isSmall)
    tokens = {0, ranks + 1, 33};
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

std::vector<Cell> cellsOfChains(const MatrixScope &scope) {
  return cellsOf(scope, [](const Variant &variant) {
    return variant.ranks == 1 && !isQuantized(variant);
  });
}

std::vector<Cell> cellsOfCollectives(const MatrixScope &scope) {
  return cellsOf(scope, [](const Variant &variant) {
    return isRowCollective(variant) && variant.norm == NormKind::None;
  });
}

std::vector<Cell> cellsOfFusedRows(const MatrixScope &scope) {
  return cellsOf(scope, [](const Variant &variant) {
    return isRowCollective(variant) && variant.norm != NormKind::None;
  });
}

std::vector<Cell> cellsOfOneShot(const MatrixScope &scope) {
  return cellsOf(scope, [](const Variant &variant) {
    return variant.family == Family::OneShot && !isQuantized(variant);
  });
}

std::vector<Cell> cellsOfQuantized(const MatrixScope &scope) {
  std::vector<Cell> cells = cellsOf(scope, [](const Variant &variant) {
    return isQuantized(variant) && !isBySwitch(variant);
  });
  bool hasGiven = false;
  for (const FusedKernel &kernel : fusedKernels())
    hasGiven |= kernel.variant.scales == ScaleKind::Tensor;
  if (!hasGiven && scope.cards == 1)
    cells.push_back(
        {"(FP8 with a given scale)", 1, 0, 0, [](const CardSet &) {
           return CellResult::skipped(
               "no kernel with a given scale is compiled for cards");
         }});
  return cells;
}

std::vector<Cell> cellsOfMultimem(const MatrixScope &scope) {
  return cellsOf(scope, isBySwitch);
}

} // namespace layline::test
