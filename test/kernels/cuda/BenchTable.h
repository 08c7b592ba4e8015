// What the bench prints, and how it takes a time.
#ifndef LAYLINE_TEST_KERNELS_CUDA_BENCHTABLE_H
#define LAYLINE_TEST_KERNELS_CUDA_BENCHTABLE_H

#include "Bench.h"
#include "CardGroup.h"

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace layline::test {

/// Median over rounds of the time of one call, in microseconds, by the clock of
/// the first card. `call` enqueues on all cards. Throws Error.
double microseconds(const CardSet &cards, const BenchOptions &options,
                    const std::function<void()> &call);

/// "8 cards, card 0 (NVIDIA H200), up to 1980 MHz, kernels of ..."
std::string describeCards(const CardSet &cards);

/// The table, row by row. Its last line says how many there are: a file without
/// it was cut.
class BenchTable {
public:
  BenchTable(std::ostream &out, const std::string &machine,
             const BenchOptions &options);
  void add(const std::string &op, int ranks, std::int64_t bytes, double us,
           const std::string &algorithm);
  void end();

private:
  std::ostream &out_;
  std::size_t rows_ = 0;
};

/// Kernels beside what they replace: a line a form, ranks and bytes.
class BenchComparison {
public:
  struct Line {
    std::string form;
    int ranks;
    std::size_t cards;
    std::int64_t bytes;
    double us;           ///< of the one kernel
    std::string instead; ///< what it replaces: "three kernels", "copies"
    double usInstead;
    double usNccl = 0; ///< 0: not taken
  };
  void add(const Line &line) { lines_.push_back(line); }
  void print(std::ostream &out) const;

private:
  std::vector<Line> lines_;
};

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_BENCHTABLE_H
