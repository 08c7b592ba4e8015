#include "Matrix.h"

#include "plan/Error.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

namespace layline::test {

using runtime::Error;

const std::vector<MatrixFamily> &families() {
  static const std::vector<MatrixFamily> all = {
      {"row_chain", "norms and activations of one rank", cellsOfChains},
      {"local", "norms, rope, quantisation and elementwise of kernels/local",
       cellsOfLocal},
      {"rope", "rope of own rows", cellsOfRope},
      {"experts", "choices sorted by expert, rows permuted and merged",
       cellsOfExperts},
      {"gather_rows", "all_gather of rows of bytes", cellsOfGatherRows},
      {"collective", "reduce_scatter, all_gather, all_reduce",
       cellsOfCollectives},
      {"fused_rows", "the same with row-wise work inside", cellsOfFusedRows},
      {"one_shot", "all_reduce of few rows through mailboxes", cellsOfOneShot},
      {"quantize", "rows in FP8, a scale a row or a group", cellsOfQuantized},
      {"multimem", "by the switch", cellsOfMultimem},
      {"broadcast", "from one rank, chunk by chunk", cellsOfBroadcast},
      {"pages", "rows of a KV cache packed, sent and scattered", cellsOfPages},
      {"waits", "a rank that does not come, and the launch after it",
       cellsOfWaits},
  };
  return all;
}

namespace {

bool isAsked(const MatrixOptions &options, const MatrixFamily &family,
             const Cell &cell) {
  return std::string(family.name).find(options.filter) != std::string::npos ||
         cell.kernel.find(options.filter) != std::string::npos;
}

std::vector<Cell> askedCells(const MatrixOptions &options,
                             const MatrixFamily &family,
                             const MatrixScope &scope) {
  std::vector<Cell> cells = family.cells(scope);
  cells.erase(std::remove_if(cells.begin(), cells.end(),
                             [&](const Cell &cell) {
                               return !isAsked(options, family, cell);
                             }),
              cells.end());
  return cells;
}

std::size_t countKernels(const std::vector<Cell> &cells) {
  std::set<std::string> kernels;
  for (const Cell &cell : cells)
    kernels.insert(cell.kernel);
  return kernels.size();
}

struct Failure {
  std::string family, text;
  Cell cell;
  int cards;
};

std::string describe(const Cell &cell, int cards) {
  std::ostringstream text;
  text << cell.kernel << ", " << cell.ranks << " ranks on " << cards
       << (cards == 1 ? " card, " : " cards, ") << cell.tokens << " rows of "
       << cell.width;
  return text.str();
}

/// A card whose kernel did what it must not answers nothing any more.
bool answers(const CardSet &cards) {
  try {
    for (std::size_t c = 0; c < cards.size(); ++c) {
      cards[c].use();
      cards.stream(c).synchronize("the stream of a failed kernel");
    }
    return true;
  } catch (const Error &) {
    return false;
  }
}

class Matrix {
public:
  Matrix(const MatrixOptions &options, std::ostream &out,
         const CellWatch &watch)
      : options_(options), out_(out), watch_(watch) {}

  MatrixCounts run() {
    const int most = std::min(countCards(), options_.scope.cards);
    // By the switch groups of four want four.
    std::set<int> counts = {1, std::min(2, most), std::min(4, most), most};
    out_ << std::left << std::setw(13) << "family" << std::right << std::setw(6)
         << "cards" << std::setw(9) << "kernels" << std::setw(8) << "cells"
         << std::setw(8) << "passed" << std::setw(8) << "failed" << std::setw(9)
         << "skipped" << std::setw(9) << "seconds" << std::endl;
    for (int count : counts)
      if (isUsable_)
        runOn(count);
    if (watch_)
      watch_({}, 0);
    printFailures();
    out_ << all_.passed + all_.failed + all_.skipped << " cells, "
         << all_.passed << " passed, " << all_.failed << " failed, "
         << all_.skipped << " skipped";
    if (!isUsable_)
      out_ << "; the rest was not run: a card no longer answers";
    out_ << std::endl;
    return all_;
  }

private:
  void runOn(int count) {
    MatrixScope scope = options_.scope;
    scope.cards = count;
    const CardSet cards(count);
    for (const MatrixFamily &family : families())
      if (isUsable_)
        runFamily(cards, family, scope);
  }

  void runFamily(const CardSet &cards, const MatrixFamily &family,
                 const MatrixScope &scope) {
    using Clock = std::chrono::steady_clock;
    const std::vector<Cell> cells = askedCells(options_, family, scope);
    if (cells.empty())
      return;
    const Clock::time_point begin = Clock::now();
    MatrixCounts counts;
    std::map<std::string, int> skips;
    for (const Cell &cell : cells) {
      const CellResult result = runCell(cards, cell, scope.cards);
      switch (result.kind) {
      case CellResult::Kind::Passed:
        ++counts.passed;
        break;
      case CellResult::Kind::Skipped:
        ++counts.skipped;
        ++skips[result.text];
        break;
      case CellResult::Kind::Failed:
        ++counts.failed;
        failures_.push_back({family.name, result.text, cell, scope.cards});
      }
      if (!isUsable_)
        break;
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    out_ << std::left << std::setw(13) << family.name << std::right
         << std::setw(6) << scope.cards << std::setw(9) << countKernels(cells)
         << std::setw(8) << cells.size() << std::setw(8) << counts.passed
         << std::setw(8) << counts.failed << std::setw(9) << counts.skipped
         << std::setw(9) << std::fixed << std::setprecision(1) << took.count()
         << std::endl;
    for (const auto &[why, number] : skips)
      out_ << "  skipped " << number << ": " << why << std::endl;
    all_.passed += counts.passed;
    all_.failed += counts.failed;
    all_.skipped += counts.skipped;
  }

  CellResult runCell(const CardSet &cards, const Cell &cell, int count) {
    if (watch_)
      watch_(describe(cell, count), options_.scope.waitNanoseconds);
    try {
      return cell.run(cards);
    } catch (const Error &error) {
      isUsable_ = answers(cards);
      return CellResult::failedIf(error.what());
    }
  }

  void printFailures() const {
    if (failures_.empty())
      return;
    out_ << "\nfailed:\n";
    for (const Failure &failure : failures_)
      out_ << "  " << std::left << std::setw(12) << failure.family << std::right
           << ' ' << describe(failure.cell, failure.cards) << "\n    "
           << failure.text << '\n';
    out_ << std::endl;
  }

  const MatrixOptions &options_;
  std::ostream &out_;
  const CellWatch &watch_;
  MatrixCounts all_;
  std::vector<Failure> failures_;
  bool isUsable_ = true;
};

} // namespace

MatrixCounts runMatrix(const MatrixOptions &options, std::ostream &out,
                       const CellWatch &watch) {
  return Matrix(options, out, watch).run();
}

bool hasFamily(const MatrixOptions &options, const MatrixFamily &family) {
  MatrixScope scope = options.scope;
  scope.cards = 1;
  return !askedCells(options, family, scope).empty();
}

void listMatrix(const MatrixOptions &options, std::ostream &out) {
  MatrixScope scope = options.scope;
  scope.cards = 1;
  for (const MatrixFamily &family : families()) {
    const std::vector<Cell> cells = askedCells(options, family, scope);
    if (cells.empty())
      continue;
    out << family.name << ": " << family.what
        << "; kernels: " << countKernels(cells) << ", cells: " << cells.size()
        << '\n';
    std::map<std::string, int> kernels;
    for (const Cell &cell : cells)
      ++kernels[cell.kernel];
    for (const auto &[kernel, number] : kernels)
      out << "  " << kernel << ", " << number << '\n';
  }
  out.flush();
}

} // namespace layline::test
