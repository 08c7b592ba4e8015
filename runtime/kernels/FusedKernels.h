// The kernels of the catalogue that are compiled for cards: what nvcc makes, by
// the names that the device looks up in what was made. Host code without CUDA.
//
// The emulator runs all of the catalogue. Compiled for four architectures a
// kernel costs a build about a second, so that cards have those that plans of
// the models that are served ask for (kernels/plan/StepMatch.h says what may be
// asked for): collectives and RMS norms of bf16, layer norms where the rows are
// summed for everyone, and of f32, in which plans are checked, what is summed
// for everyone. By the switch and in FP8: groups of 4 and 8. No plan runs in
// f16. What is not here runs step by step.
//
// One list for both sides: X(...) is an entry in the .cu files of fused/ and a
// row of fusedKernels(). Arguments are enumerators of Params.h.
#ifndef LAYLINE_RUNTIME_KERNELS_FUSEDKERNELS_H
#define LAYLINE_RUNTIME_KERNELS_FUSEDKERNELS_H

#include "Catalogue.h"

/// row_collective of P ranks: X(type, P, input, output, norm, function, scales)
#define LAYLINE_FUSED_ALL_REDUCE(X, T, P)                                      \
  X(T, P, Owed, Everyone, None, None, None)                                    \
  X(T, P, Owed, Everyone, Rms, None, None)
#define LAYLINE_FUSED_HALVES(X, T, P)                                          \
  X(T, P, Owed, Everyone, Layer, None, None)                                   \
  X(T, P, Owed, Own, None, None, None)                                         \
  X(T, P, Owed, Own, Rms, None, None)                                          \
  X(T, P, Own, Everyone, None, None, None)                                     \
  X(T, P, Own, Everyone, Rms, None, None)
#define LAYLINE_FUSED_SWITCH(X, T, P)                                          \
  X(T, P, OwedMulticast, EveryoneMulticast, None, None, None)                  \
  X(T, P, OwedMulticast, EveryoneMulticast, Rms, None, None)                   \
  X(T, P, OwedMulticast, Own, Rms, None, None)                                 \
  X(T, P, Own, EveryoneMulticast, None, None, None)
#define LAYLINE_FUSED_FP8(X, T, P)                                             \
  X(T, P, Owed, Everyone, Rms, None, Row)                                      \
  X(T, P, Owed, Everyone, Rms, None, Group)                                    \
  X(T, P, Own, Everyone, None, None, Row)                                      \
  X(T, P, Own, Everyone, None, None, Group)
#define LAYLINE_FUSED_FP8_SWITCH(X, T, P)                                      \
  X(T, P, OwedMulticast, EveryoneMulticast, Rms, None, Row)                    \
  X(T, P, OwedMulticast, EveryoneMulticast, Rms, None, Group)                  \
  X(T, P, Own, EveryoneMulticast, None, None, Row)                             \
  X(T, P, Own, EveryoneMulticast, None, None, Group)

/// The same of one rank.
#define LAYLINE_FUSED_LOCAL(X, T)                                              \
  X(T, 1, Own, Own, None, None, None)                                          \
  X(T, 1, Own, Own, Rms, None, None)                                           \
  X(T, 1, Own, Own, Layer, None, None)                                         \
  X(T, 1, Own, Own, None, Silu, None)                                          \
  X(T, 1, Own, Own, None, GeluTanh, None)                                      \
  X(T, 1, Own, Own, None, None, Row)                                           \
  X(T, 1, Own, Own, None, None, Group)

/// one_shot: X(type, P, norm, scales)
#define LAYLINE_FUSED_ONE_SHOT(X, T, P)                                        \
  X(T, P, None, None)                                                          \
  X(T, P, Rms, None)
#define LAYLINE_FUSED_LAYER_ONE_SHOT(X, T, P) X(T, P, Layer, None)
#define LAYLINE_FUSED_FP8_ONE_SHOT(X, T, P) X(T, P, Rms, Row)

/// rope: X(type, P, output, style, width), width that of a vector, or 1 where
/// pairs are no whole vectors.
#define LAYLINE_FUSED_ROPE(X, T, WIDTH)                                        \
  X(T, 1, Own, Half, WIDTH)                                                    \
  X(T, 1, Own, Interleaved, WIDTH)                                             \
  X(T, 1, Own, InterleavedToHalf, WIDTH)

/// A list of the groups' sizes: the last argument of LIST is P.
#define LAYLINE_FUSED_GROUPS(LIST, ...)                                        \
  LIST(__VA_ARGS__, 2)                                                         \
  LIST(__VA_ARGS__, 3)                                                         \
  LIST(__VA_ARGS__, 4)                                                         \
  LIST(__VA_ARGS__, 8)
#define LAYLINE_FUSED_LARGE_GROUPS(LIST, ...)                                  \
  LIST(__VA_ARGS__, 4)                                                         \
  LIST(__VA_ARGS__, 8)

/// What the files of fused/ hold.
#define LAYLINE_FUSED_OF_BF16(ROWS, ONE_SHOT)                                  \
  LAYLINE_FUSED_GROUPS(LAYLINE_FUSED_ALL_REDUCE, ROWS, BF16)                   \
  LAYLINE_FUSED_GROUPS(LAYLINE_FUSED_HALVES, ROWS, BF16)                       \
  LAYLINE_FUSED_GROUPS(LAYLINE_FUSED_ONE_SHOT, ONE_SHOT, BF16)                 \
  LAYLINE_FUSED_GROUPS(LAYLINE_FUSED_LAYER_ONE_SHOT, ONE_SHOT, BF16)
#define LAYLINE_FUSED_OF_LARGE_GROUPS(ROWS, ONE_SHOT)                          \
  LAYLINE_FUSED_LARGE_GROUPS(LAYLINE_FUSED_SWITCH, ROWS, BF16)                 \
  LAYLINE_FUSED_LARGE_GROUPS(LAYLINE_FUSED_FP8, ROWS, BF16)                    \
  LAYLINE_FUSED_LARGE_GROUPS(LAYLINE_FUSED_FP8_SWITCH, ROWS, BF16)             \
  LAYLINE_FUSED_LARGE_GROUPS(LAYLINE_FUSED_FP8_ONE_SHOT, ONE_SHOT, BF16)
#define LAYLINE_FUSED_OF_F32(ROWS, ONE_SHOT)                                   \
  LAYLINE_FUSED_GROUPS(LAYLINE_FUSED_ALL_REDUCE, ROWS, F32)                    \
  LAYLINE_FUSED_GROUPS(LAYLINE_FUSED_ONE_SHOT, ONE_SHOT, F32)
#define LAYLINE_FUSED_OF_ONE_RANK(ROWS, ROPE)                                  \
  LAYLINE_FUSED_LOCAL(ROWS, BF16)                                              \
  LAYLINE_FUSED_ROPE(ROPE, BF16, 8)                                            \
  LAYLINE_FUSED_ROPE(ROPE, BF16, 1)
/// BROADCAST(P), GATHER(P, by, byWord), PAGES(copy), SORT(), EXPERTS(family,
/// function, type)
#define LAYLINE_FUSED_OF_BYTES(BROADCAST, GATHER, PAGES, SORT, EXPERTS)        \
  GATHER(2, vector, false)                                                     \
  GATHER(3, vector, false)                                                     \
  GATHER(4, vector, false)                                                     \
  GATHER(8, vector, false)                                                     \
  GATHER(2, word, true)                                                        \
  GATHER(3, word, true)                                                        \
  GATHER(4, word, true)                                                        \
  GATHER(8, word, true)                                                        \
  BROADCAST(2)                                                                 \
  BROADCAST(3)                                                                 \
  BROADCAST(4)                                                                 \
  BROADCAST(8)                                                                 \
  PAGES(Pack)                                                                  \
  PAGES(Scatter)                                                               \
  SORT()                                                                       \
  EXPERTS(PermuteRows, permute_rows, BF16)                                     \
  EXPERTS(MergeExperts, merge_experts, BF16)

/// Symbols of the entries.
#define LAYLINE_FUSED_ROWS_SYMBOL(T, P, IN, OUT, NORM, FUNCTION, SCALES)       \
  layline_fused_rows_##T##_x##P##_##IN##_##OUT##_##NORM##_##FUNCTION##_##SCALES
#define LAYLINE_FUSED_ONE_SHOT_SYMBOL(T, P, NORM, SCALES)                      \
  layline_fused_one_shot_##T##_x##P##_##NORM##_##SCALES
#define LAYLINE_FUSED_ROPE_SYMBOL(T, P, OUT, STYLE, WIDTH)                     \
  layline_fused_rope_##T##_x##P##_##OUT##_##STYLE##_by##WIDTH

namespace layline::kernels {

/// A kernel as cards have it: an entry that takes `const Params<ranks> *ofRank`
/// in the card's memory, with the parameters of rank blockIdx.y. So that the
/// ranks of one card are one launch; of a card for each rank the grid's y is 1.
/// The planes of pack_pages and scatter_pages are the grid's z.
struct FusedKernel {
  Variant variant;
  const char *symbol;
};

const std::vector<FusedKernel> &fusedKernels();
/// Null with the reason in `error` if that kernel is not compiled for cards.
const FusedKernel *findFusedKernel(const Variant &variant, std::string &error);

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_FUSEDKERNELS_H
