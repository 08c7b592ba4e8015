// Runs of row_collective and one_shot as device cuda launches them.
#ifndef LAYLINE_TEST_KERNELS_CUDA_CARDROWS_H
#define LAYLINE_TEST_KERNELS_CUDA_CARDROWS_H

#include "CardGroup.h"
#include "harness/Rows.h"

#include <memory>
#include <string>

namespace layline::test {

/// A case for a kernel as a card would launch it: the grid that is left to each
/// of its ranks, at most `maxGrid`, and, unless `fewThreads`, the block of the
/// catalogue. Throws Error.
kernels::test::RowCase cardCase(const CardSet &cards,
                                const kernels::FusedKernel &kernel,
                                const kernels::Problem &problem,
                                unsigned maxGrid, bool fewThreads);

/// Whether a kernel needs a multicast range.
bool isBySwitch(const kernels::Variant &variant);

/// A launch of a case on cards, whose ranks are dealt out over them in blocks.
class CardLaunches {
public:
  virtual ~CardLaunches() = default;
  /// Once more, on the streams of the cards; nothing is waited for.
  virtual void enqueue() = 0;
};

/// The first launch of a case of bf16, on operands that hold anything: for its
/// time. All else must outlive it. Throws Error.
std::unique_ptr<CardLaunches>
prepareOnCards(const CardSet &cards, const kernels::FusedKernel &kernel,
               const kernels::test::RowCase &rowCase);

/// How a case went that was run.
struct RowsOnCards {
  std::string late;    ///< what a kernel that waited in vain wrote, or ""
  std::string unicast; ///< why there is no multicast range that it needs, or ""
};

/// Runs all launches of a case, one behind another in one workspace: nothing is
/// waited for between them; before each its rows are put where the kernel takes
/// them, behind it its results are put aside, in the cards' streams. T is of
/// the kernel's type. Throws Error.
template <typename T>
RowsOnCards runOnCards(const CardSet &cards, const kernels::FusedKernel &kernel,
                       const kernels::test::RowCase &rowCase,
                       const kernels::test::RowInputs<T> &inputs,
                       std::uint64_t waitNanoseconds,
                       kernels::test::RowResults<T> &results);

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_CARDROWS_H
