// The entries of the kernels that are compiled for cards (FusedKernels.h).
#ifndef LAYLINE_RUNTIME_KERNELS_FUSED_FUSED_CUH
#define LAYLINE_RUNTIME_KERNELS_FUSED_FUSED_CUH

#include "kernels/Broadcast.cuh"
#include "kernels/Experts.cuh"
#include "kernels/FusedKernels.h"
#include "kernels/GatherRows.cuh"
#include "kernels/OneShot.cuh"
#include "kernels/PagedRows.cuh"
#include "kernels/Rope.cuh"
#include "kernels/RowCollective.cuh"

namespace layline::kernels {

template <DType> struct NumberOf { using type = float; };
template <> struct NumberOf<DType::BF16> { using type = bf16; };
template <DType kType> using Number = typename NumberOf<kType>::type;
template <DType kType> constexpr int kVectorsOf = vectorsPerThread(kType);

} // namespace layline::kernels

/// No store of a kernel changes its parameters, and it reads them again rather
/// than keep all of them in registers.
#define LAYLINE_FUSED_ENTRY(symbol, threads, Params)                           \
  extern "C" __global__ void __launch_bounds__(threads, 1)                     \
      symbol(const layline::kernels::Params *__restrict__ ofRank)

#define LAYLINE_FUSED_ROWS_ENTRY(T, P, IN, OUT, NORM, FUNCTION, SCALES)        \
  LAYLINE_FUSED_ENTRY(                                                         \
      LAYLINE_FUSED_ROWS_SYMBOL(T, P, IN, OUT, NORM, FUNCTION, SCALES),        \
      layline::kernels::kMaxThreads, RowParams<P>) {                           \
    using namespace layline::kernels;                                          \
    run_row_collective<                                                        \
        Number<DType::T>, P, Input::IN, Output::OUT,                           \
        Chain<NormKind::NORM, Function::FUNCTION, ScaleKind::SCALES>,          \
        kVectorsOf<DType::T>, Sound>(ofRank[blockIdx.y]);                      \
  }
#define LAYLINE_FUSED_ONE_SHOT_ENTRY(T, P, NORM, SCALES)                       \
  LAYLINE_FUSED_ENTRY(LAYLINE_FUSED_ONE_SHOT_SYMBOL(T, P, NORM, SCALES),       \
                      layline::kernels::kMaxThreads, OneShotParams<P>) {       \
    using namespace layline::kernels;                                          \
    run_one_shot<Number<DType::T>, P,                                          \
                 Chain<NormKind::NORM, Function::None, ScaleKind::SCALES>,     \
                 kVectorsOf<DType::T>, Sound>(ofRank[blockIdx.y]);             \
  }
#define LAYLINE_FUSED_ROPE_ENTRY(T, P, OUT, STYLE, WIDTH)                      \
  LAYLINE_FUSED_ENTRY(LAYLINE_FUSED_ROPE_SYMBOL(T, P, OUT, STYLE, WIDTH),      \
                      layline::kernels::kCopyThreads, RopeParams<P>) {         \
    using namespace layline::kernels;                                          \
    run_rope<Number<DType::T>, P, RopeStyle::STYLE, Output::OUT, WIDTH,        \
             Sound>(ofRank[blockIdx.y]);                                       \
  }
#define LAYLINE_FUSED_BROADCAST_ENTRY(P)                                       \
  LAYLINE_FUSED_ENTRY(layline_fused_broadcast_x##P,                            \
                      layline::kernels::kCopyThreads, BroadcastParams<P>) {    \
    layline::kernels::run_broadcast<P, layline::kernels::Sound>(               \
        ofRank[blockIdx.y]);                                                   \
  }
#define LAYLINE_FUSED_GATHER_ENTRY(P, BY, IS_BY_WORD)                          \
  LAYLINE_FUSED_ENTRY(layline_fused_gather_rows_x##P##_by_##BY,                \
                      layline::kernels::kCopyThreads, GatherParams<P>) {       \
    using namespace layline::kernels;                                          \
    run_gather_rows<P, Output::Everyone, IS_BY_WORD, Sound>(                   \
        ofRank[blockIdx.y]);                                                   \
  }
#define LAYLINE_FUSED_PAGES_ENTRY(COPY)                                        \
  LAYLINE_FUSED_ENTRY(layline_fused_pages_##COPY,                              \
                      layline::kernels::kCopyThreads, PagedRowsParams) {       \
    using namespace layline::kernels;                                          \
    run_paged_rows<PagedCopy::COPY, Sound>(ofRank[blockIdx.y], blockIdx.z);    \
  }
#define LAYLINE_FUSED_SORT_ENTRY()                                             \
  LAYLINE_FUSED_ENTRY(layline_fused_sort_by_expert,                            \
                      layline::kernels::kCopyThreads, ExpertParams) {          \
    layline::kernels::run_sort_by_expert<layline::kernels::Sound>(             \
        ofRank[blockIdx.y]);                                                   \
  }
#define LAYLINE_FUSED_EXPERTS_ENTRY(FAMILY, FUNCTION, T)                       \
  LAYLINE_FUSED_ENTRY(layline_fused_##FUNCTION##_##T,                          \
                      layline::kernels::kCopyThreads, ExpertParams) {          \
    using namespace layline::kernels;                                          \
    run_##FUNCTION<Number<DType::T>, Sound>(ofRank[blockIdx.y]);               \
  }

#endif // LAYLINE_RUNTIME_KERNELS_FUSED_FUSED_CUH
