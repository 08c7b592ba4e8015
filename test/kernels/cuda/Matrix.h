// The kernels that are compiled for cards, family by family, over ranks, rows
// and widths: each launched as device cuda launches it, several times one
// behind another in one workspace with other inputs each time, and held against
// the references of test/kernels/harness. On one card all ranks of a group are
// one cooperative launch, on several they are real.
#ifndef LAYLINE_TEST_KERNELS_CUDA_MATRIX_H
#define LAYLINE_TEST_KERNELS_CUDA_MATRIX_H

#include "CardGroup.h"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace layline::test {

/// What decides which cells there are, and how they are run.
struct MatrixScope {
  int cards = 1;
  /// A few cells of each kernel, not all.
  bool isSmall = false;
  /// Kernels run on the emulator: few threads, and the reference's bits.
  bool isEmulated = false;
  /// Longest wait in a kernel for another rank.
  std::uint64_t waitNanoseconds = 10000000000;
};

/// How a cell ended.
struct CellResult {
  enum class Kind { Passed, Failed, Skipped } kind = Kind::Passed;
  /// Of a failure: where, what was found, what was expected; of a skip: why.
  std::string text;

  static CellResult failedIf(const std::string &text) {
    return {text.empty() ? Kind::Passed : Kind::Failed, text};
  }
  static CellResult skipped(const std::string &why) {
    return {Kind::Skipped, why};
  }
};

/// One kernel on one kind of data.
struct Cell {
  std::string kernel; ///< its symbol
  int ranks = 1;
  std::int64_t tokens = 0; ///< of all ranks
  std::int64_t width = 0;  ///< elements of a row, or bytes of one that is bytes
  /// Throws Error where the driver refuses.
  std::function<CellResult(const CardSet &cards)> run;
};

struct MatrixFamily {
  const char *name;
  const char *what;
  std::vector<Cell> (*cells)(const MatrixScope &scope);
};

/// In the order in which they are run: what others rest on comes first.
const std::vector<MatrixFamily> &families();

// Of families(), by file.
std::vector<Cell> cellsOfChains(const MatrixScope &scope);
std::vector<Cell> cellsOfCollectives(const MatrixScope &scope);
std::vector<Cell> cellsOfFusedRows(const MatrixScope &scope);
std::vector<Cell> cellsOfOneShot(const MatrixScope &scope);
std::vector<Cell> cellsOfQuantized(const MatrixScope &scope);
std::vector<Cell> cellsOfMultimem(const MatrixScope &scope);
std::vector<Cell> cellsOfRope(const MatrixScope &scope);
std::vector<Cell> cellsOfBroadcast(const MatrixScope &scope);
std::vector<Cell> cellsOfGatherRows(const MatrixScope &scope);
std::vector<Cell> cellsOfPages(const MatrixScope &scope);
std::vector<Cell> cellsOfExperts(const MatrixScope &scope);
std::vector<Cell> cellsOfLocal(const MatrixScope &scope);
std::vector<Cell> cellsOfWaits(const MatrixScope &scope);

/// Rows that every family meets: none, one, about as many as there are ranks,
/// an odd number and many.
std::vector<std::int64_t> tokensOf(int ranks, const MatrixScope &scope);

/// What a run of the matrix is asked for.
struct MatrixOptions {
  MatrixScope scope; ///< `cards`: at most so many
  /// Part of a family's or a kernel's name; empty: all.
  std::string filter;
};

struct MatrixCounts {
  int passed = 0, failed = 0, skipped = 0;
};

/// Is told what begins, for who watches that it ends; "": all has ended.
using CellWatch =
    std::function<void(const std::string &cell, std::uint64_t waitNanoseconds)>;

/// Runs the cells on one card, on two, four and all, as far as there are: a
/// line a family, why cells were skipped, and a table of those that failed.
/// Throws Error where no card can be used at all.
MatrixCounts runMatrix(const MatrixOptions &options, std::ostream &out,
                       const CellWatch &watch = {});
/// Whether any cell of it is asked for.
bool hasFamily(const MatrixOptions &options, const MatrixFamily &family);
/// The families with their kernels and number of cells, without a card.
void listMatrix(const MatrixOptions &options, std::ostream &out);

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_MATRIX_H
