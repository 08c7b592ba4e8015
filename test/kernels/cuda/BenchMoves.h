// Launches of kernels that move bytes or work on one rank's rows, prepared for
// their time: on operands that hold anything that is no index.
#ifndef LAYLINE_TEST_KERNELS_CUDA_BENCHMOVES_H
#define LAYLINE_TEST_KERNELS_CUDA_BENCHMOVES_H

#include "CardRows.h"

namespace layline::test {

using Prepared = std::unique_ptr<CardLaunches>;

/// `bytes` from rank 0 to all ranks.
Prepared prepareBroadcast(const CardSet &cards, int ranks, std::int64_t bytes);
/// The same as a copy for each peer, in the stream of rank 0's card.
Prepared prepareCopies(const CardSet &cards, int ranks, std::int64_t bytes);
/// `tokens` rows of all ranks, to all of them.
Prepared prepareGather(const CardSet &cards, int ranks, std::int64_t tokens,
                       std::int64_t rowBytes);
/// Rows of 256 bytes (a KV head of 128 in bf16) of two planes, packed from
/// pages of 16 tokens on one card.
Prepared preparePack(const CardSet &cards, std::int64_t tokens);
/// Choices of 8 of 256 experts, all here: sorted, rows permuted and merged.
Prepared prepareExperts(const CardSet &cards, std::int64_t tokens,
                        std::int64_t width);
/// Heads of 64, all rotated: the kernel of the catalogue, or that of
/// kernels/local.
Prepared prepareRope(const CardSet &cards, std::int64_t tokens,
                     std::int64_t width, bool isFused);

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_BENCHMOVES_H
