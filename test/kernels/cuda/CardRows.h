// Runs of row_collective and one_shot as device cuda launches them: all ranks
// of a card in one cooperative launch, parameters from an array in its memory.
#ifndef LAYLINE_TEST_KERNELS_CUDA_CARDROWS_H
#define LAYLINE_TEST_KERNELS_CUDA_CARDROWS_H

#include "devices/cuda/Card.h"
#include "harness/Rows.h"
#include "kernels/FusedKernels.h"

#include <memory>
#include <string>
#include <vector>

namespace layline::test {

using Cards = std::vector<std::unique_ptr<runtime::cuda::Card>>;

/// The first `count` of the machine.
Cards openCards(int count);
int countCards();

/// A case for a kernel as a card would launch it: the grid that is left to each
/// of its ranks, at most `maxGrid`, and, unless `fewThreads`, the block of the
/// catalogue.
kernels::test::RowCase cardCase(const Cards &cards,
                                const kernels::FusedKernel &kernel,
                                const kernels::Problem &problem,
                                unsigned maxGrid, bool fewThreads);

/// A launch of a case on cards, whose ranks are dealt out over them in blocks.
class CardLaunches {
public:
  virtual ~CardLaunches() = default;
  /// Once more, on the streams of the cards; nothing is waited for.
  virtual void enqueue() = 0;
};

/// The first launch of a case, on operands that hold anything: for its time.
/// `streams`, by card, and all else must outlive it. Throws Error.
std::unique_ptr<CardLaunches> prepareOnCards(
    const Cards &cards, const std::vector<runtime::cuda::OwnedStream> &streams,
    const kernels::FusedKernel &kernel, const kernels::test::RowCase &rowCase);

/// Runs all launches of a case, and gives the results; `late`: what a kernel
/// that waited in vain wrote, "" if none did. T is of the kernel's type. Throws
/// Error.
template <typename T>
kernels::test::RowResults<T>
runOnCards(const Cards &cards, const kernels::FusedKernel &kernel,
           const kernels::test::RowCase &rowCase,
           const kernels::test::RowInputs<T> &inputs, std::string &late);

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_CARDROWS_H
