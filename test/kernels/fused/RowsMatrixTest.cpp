// Every kernel of rows that there is, over ranks, rows and widths.
#include "fused/Check.h"

#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <vector>

using namespace layline::kernels;
using namespace layline::kernels::test;

namespace {

bool isOfRows(const Variant &variant) {
  return variant.family == Family::RowCollective ||
         variant.family == Family::OneShot;
}

/// Wide rows fill all vectors of some threads, and of the last ones not.
constexpr std::int64_t kWidths[] = {64, 576, 2880, 7168, 12288};
constexpr std::size_t kNarrow = 2; ///< the first of them
constexpr std::int64_t kMany[] = {33, 64};

/// Rows and their width.
using Cell = std::pair<std::int64_t, std::int64_t>;

/// About as many rows as there are ranks, none left out.
std::vector<std::int64_t> fewTokens(std::int64_t ranks) {
  return {1, ranks > 1 ? ranks - 1 : 2, ranks, ranks + 1, 3};
}

std::vector<Cell> allCells(std::int64_t ranks) {
  std::vector<Cell> cells;
  for (std::int64_t width : kWidths) {
    cells.push_back({0, width});
    for (std::int64_t tokens : fewTokens(ranks))
      cells.push_back({tokens, width});
    for (std::int64_t tokens : kMany)
      cells.push_back({tokens, width});
  }
  return cells;
}

/// Of those: every kernel meets every number of rows, and every width with
/// rows in it; for every type, number of ranks and width some kernels meet
/// each number of rows, of what is quantized many wide ones excepted. `number`
/// counts the `count` kernels of a type and of so many ranks: which cells are
/// whose goes round among them.
std::vector<Cell> chosenCells(std::int64_t ranks, std::size_t number,
                              std::size_t count, bool quantized) {
  constexpr std::size_t kAll = std::size(kWidths), kWide = kAll - kNarrow;
  std::vector<Cell> cells{{0, kWidths[number % kAll]}};
  std::vector<std::int64_t> few = fewTokens(ranks);
  for (std::size_t i = 0; i < few.size(); ++i)
    cells.push_back({few[i], kWidths[(number + i) % kAll]});
  for (std::size_t i = 0; i < std::size(kMany); ++i)
    cells.push_back({kMany[i], kWidths[(number + i) % kNarrow]});
  if (quantized)
    return cells;
  // Many wide rows are most of the emulator's time: each once. Mailboxes, the
  // last three of the list, move the rows of every rank to every rank: of two.
  const std::size_t first = ranks == 2 ? count - 3 : 0;
  for (std::size_t wide = 0; wide < kWide * std::size(kMany); ++wide)
    if ((wide + first) % count == number)
      cells.push_back({kMany[wide % std::size(kMany)],
                       kWidths[kNarrow + wide / std::size(kMany)]});
  return cells;
}

/// LAYLINE_KERNEL_MATRIX=full: all cells of all kernels.
bool isFull() {
  const char *matrix = std::getenv("LAYLINE_KERNEL_MATRIX");
  return matrix && std::string(matrix) == "full";
}

void runMatrix(DType dtype, bool quantized) {
  std::map<int, std::vector<const Kernel *>> byRanks;
  for (const Kernel &kernel : getKernels())
    if (isOfRows(kernel.variant) && kernel.variant.dtype == dtype &&
        (kernel.variant.scales != ScaleKind::None) == quantized)
      byRanks[kernel.variant.ranks].push_back(&kernel);
  CHECK(byRanks.size() == (quantized && dtype != DType::BF16 ? 1 : 5));
  std::uint64_t seed = 1;
  for (const auto &group : byRanks)
    for (std::size_t number = 0; number < group.second.size(); ++number) {
      const Variant &variant = group.second[number]->variant;
      for (const Cell &cell :
           isFull() ? allCells(variant.ranks)
                    : chosenCells(variant.ranks, number, group.second.size(),
                                  quantized)) {
        RowCase rowCase =
            caseOf(variant, problemOf(variant, cell.first, cell.second));
        if (cell.second > 576)
          rowCase.launches = 1;
        check(rowCase, Mode::Plain, seed++);
      }
    }
}

} // namespace

TEST_CASE("the chosen cells are pairwise all") {
  for (std::int64_t ranks : {1, 2, 3, 4, 8})
    for (std::size_t count : {5U, 12U, 18U}) {
      std::set<Cell> met;
      for (std::size_t number = 0; number < count; ++number) {
        std::set<std::int64_t> tokens, widths;
        for (const Cell &cell : chosenCells(ranks, number, count, false)) {
          tokens.insert(cell.first);
          if (cell.first > 0)
            widths.insert(cell.second);
          met.insert(cell);
        }
        for (const Cell &cell : allCells(ranks))
          REQUIRE((tokens.count(cell.first) && widths.count(cell.second)));
      }
      for (const Cell &cell : allCells(ranks)) {
        INFO(cell.first << " rows of " << cell.second << ", " << ranks
                        << " ranks, " << count << " kernels");
        REQUIRE(met.count(cell));
      }
    }
}

TEST_CASE("a number that is two steps off is found") {
  Variant variant;
  variant.ranks = 2;
  variant.input = Input::Owed;
  variant.output = Output::Everyone;
  variant.norm = NormKind::Rms;
  variant.scales = ScaleKind::Row;
  RowCase rowCase = caseOf(variant, problemOf(variant, 3, 576));
  auto inputs = makeInputs<bf16>(rowCase, 1);
  RowResults<bf16> got;
  REQUIRE(runCatalogue<bf16>(rowCase, inputs, optionsOf(Mode::Plain, 1, 3), got)
              .ok());
  REQUIRE(outsideOf(rowCase, inputs, got) == "");
  auto refuse = [&](const char *what, auto change) {
    RowResults<bf16> changed = got;
    change(changed);
    INFO(what << ": " << outsideOf(rowCase, inputs, changed));
    REQUIRE(outsideOf(rowCase, inputs, changed).find(what) == 0);
  };
  refuse("values", [](auto &r) {
    auto &bits = r.values[1][0][577].bits;
    bits = static_cast<std::uint16_t>(bits + 2);
  });
  refuse("residual", [](auto &r) {
    auto &bits = r.residual[1][0][5].bits;
    bits = static_cast<std::uint16_t>(bits - 2);
  });
  refuse("quantized", [](auto &r) { r.scales[0][0][1] *= 1.0001F; });
  refuse("quantized", [](auto &r) { r.payload[0][0][70] ^= 2; });
}

TEST_CASE("rows in bf16", "[matrix]") { runMatrix(DType::BF16, false); }
TEST_CASE("rows in f16", "[matrix]") { runMatrix(DType::F16, false); }
TEST_CASE("rows in f32", "[matrix]") { runMatrix(DType::F32, false); }
TEST_CASE("rows quantized", "[matrix]") {
  for (DType dtype : {DType::BF16, DType::F16, DType::F32})
    runMatrix(dtype, true);
}

TEST_CASE("the shapes that a card would launch") {
  // Not the fewest threads that hold a row, but the block of the catalogue.
  for (int ranks : {2, 8})
    for (std::int64_t width : {64, 2880, 12288}) {
      Variant variant;
      variant.ranks = ranks;
      variant.input = Input::Owed;
      variant.output = Output::Everyone;
      variant.norm = NormKind::Rms;
      RowCase rowCase = caseOf(variant, problemOf(variant, ranks + 1, width));
      rowCase.shape = shapeOf(variant, rowCase.problem, 3);
      check(rowCase, Mode::Plain, 5);
    }
  Variant variant;
  variant.ranks = 4;
  variant.input = Input::Owed;
  variant.output = Output::Everyone;
  variant.norm = NormKind::Rms;
  check(caseOf(variant, problemOf(variant, 64, 7168), 8), Mode::Plain, 5);
}

TEST_CASE("sandwich norms and weights of 1 + w and scaled sums") {
  for (int ranks : {1, 4}) {
    Variant variant;
    variant.ranks = ranks;
    variant.input = ranks == 1 ? Input::Own : Input::Owed;
    variant.output = ranks == 1 ? Output::Own : Output::Everyone;
    variant.norm = NormKind::Rms;
    for (DType dtype : {DType::BF16, DType::F16, DType::F32}) {
      variant.dtype = dtype;
      RowCase rowCase = caseOf(variant, problemOf(variant, 7, 576));
      rowCase.problem.hasInnerNorm = true; // gemma2
      rowCase.weightOffset = 1;
      check(rowCase, Mode::Plain, 2);
      rowCase.problem.hasInnerNorm = false;
      rowCase.innerScale = 0.22F; // granite's residual multiplier
      rowCase.scale = 1.5F;
      check(rowCase, Mode::Plain, 3);
    }
  }
}
