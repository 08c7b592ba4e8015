// Times on this machine's GPUs: a table that `layline calibrate` reads, and
// fused kernels beside what they replace.
#ifndef LAYLINE_TEST_KERNELS_CUDA_BENCH_H
#define LAYLINE_TEST_KERNELS_CUDA_BENCH_H

#include <cstdint>
#include <iosfwd>

namespace layline::test {

struct BenchOptions {
  int repeats = 20;     ///< calls between two events
  int rounds = 7;       ///< whose median counts
  int warmUpRounds = 2; ///< before them
  /// A row of Llama-3.1-70B.
  std::int64_t width = 8192;
  std::int64_t mostRows = 8192;
};

/// Prints the table to `table`; what it is of, and how fused kernels compare,
/// to `notes`. Throws Error where there is no card, or the build has no
/// kernels.
///
///   # layline-gpu-bench: 8 cards, card 0 (NVIDIA H200), up to 1980 MHz, ...
///   op,ranks,bytes,us,algorithm
///   row_kernel,1,32768,2.9,layline_norm
///   ...
///   # end: 312 rows
///
/// row_kernel: work on all rows of one card, bytes read and written. The others
/// by the bytes of all rows in bf16: all_reduce, reduce_scatter, all_gather,
/// and the forms of fused kernels (docs/cost-model.md), as one kernel (fused)
/// and as one after another (three_kernels). `one_card`: all ranks share a
/// card, so that no link is in the time.
void bench(const BenchOptions &options, std::ostream &table,
           std::ostream &notes);

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_BENCH_H
