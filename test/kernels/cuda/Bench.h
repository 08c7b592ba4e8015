// Times on this machine's GPUs, as a table that `layline calibrate` reads.
#ifndef LAYLINE_TEST_KERNELS_CUDA_BENCH_H
#define LAYLINE_TEST_KERNELS_CUDA_BENCH_H

#include <cstdint>
#include <iosfwd>

namespace layline::test {

struct BenchOptions {
  int repeats = 20, rounds = 7;
  /// A row of Llama-3.1-70B.
  std::int64_t width = 8192;
  std::int64_t mostRows = 8192;
};

/// Prints the table to `table` and what it is of to `notes`. Throws Error where
/// there is no card, or the build has no kernels.
///
///   op,ranks,bytes,us,algorithm
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
