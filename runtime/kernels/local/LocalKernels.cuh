// The local kernels as launches: blockIdx.y is the rank among those of a card.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_LOCALKERNELS_CUH
#define LAYLINE_RUNTIME_KERNELS_LOCAL_LOCALKERNELS_CUH

#include "kernels/local/Attention.cuh"
#include "kernels/local/Elementwise.cuh"
#include "kernels/local/Experts.cuh"
#include "kernels/local/GroupBarrier.cuh"
#include "kernels/local/LatentAttention.cuh"
#include "kernels/local/LocalKernels.h"
#include "kernels/local/Move.cuh"
#include "kernels/local/Pages.cuh"
#include "kernels/local/Routing.cuh"
#include "kernels/local/Rows.cuh"

#define LAYLINE_LOCAL_ENTRY(symbol, params, function)                          \
  extern "C" LAYLINE_KERNEL(layline::local::kThreads, 4,                       \
                            symbol(const layline::local::params *ofRank),      \
                            layline::local::function(ofRank[blockIdx.y]))
LAYLINE_LOCAL_KERNELS(LAYLINE_LOCAL_ENTRY)
#undef LAYLINE_LOCAL_ENTRY

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_LOCALKERNELS_CUH
