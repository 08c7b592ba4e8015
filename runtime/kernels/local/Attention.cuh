// Attention over cached keys: a block a query row and head, tiles of keys, a
// softmax that is corrected as larger scores come. Correct for every mask and
// shape; a serving engine brings its own kernel.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_ATTENTION_CUH
#define LAYLINE_RUNTIME_KERNELS_LOCAL_ATTENTION_CUH

#include "kernels/local/Numbers.cuh"

namespace layline::local {

__device__ __forceinline__ bool
isVisible(const AttentionParams &p, std::int64_t position, std::int64_t key) {
  return (!p.causal || key <= position) &&
         (p.window == 0 || position - key < p.window);
}

/// Weighted values of one row and head. `query`, `accumulated`: shared, as wide
/// as kMaxHeadWidth; `scores`: a tile's.
__device__ __forceinline__ void attention(const AttentionParams &p) {
  LAYLINE_SHARED(float, query, kMaxHeadWidth);
  LAYLINE_SHARED(float, accumulated, kMaxHeadWidth);
  LAYLINE_SHARED(float, scores, kThreads);
  const float hidden = -INFINITY;
  for (std::int64_t th = blockIdx.x; th < p.rows * p.heads; th += gridDim.x) {
    std::int64_t t = th / p.heads, h = th % p.heads;
    std::int64_t position = device::ld(p.positions + t);
    std::int64_t keyHead = (p.firstHead + h) / p.headsPerKeyHead;
    std::int64_t keyBegin = (keyHead - p.firstKeyHead) * p.width;
    std::int64_t valueBegin = (keyHead - p.firstValueHead) * p.valueWidth;
    // The row before is no longer read.
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x)
      query[i] = load(p.query, th * p.width + i);
    for (std::int64_t i = threadIdx.x; i < p.valueWidth; i += blockDim.x)
      accumulated[i] = 0;
    __syncthreads();

    float sink = p.sinks.data ? load(p.sinks, h) : hidden;
    float largest = sink, sum = p.sinks.data ? 1.0F : 0.0F;
    bool seesAny = false;
    for (std::int64_t tile = 0; tile < p.keyRows; tile += kThreads) {
      std::int64_t s = tile + threadIdx.x;
      float score = hidden;
      if (s < p.keyRows &&
          isVisible(p, position, device::ld(p.keyPositions + s))) {
        score = 0;
        for (std::int64_t i = 0; i < p.width; ++i)
          score += query[i] * load(p.keys, s * p.keyStride + keyBegin + i);
        score *= p.scale;
        if (p.softcap != 0)
          score = p.softcap * tanhf(score / p.softcap);
      }
      float ofTile = combineOfBlock(score, Largest());
      if (ofTile == hidden)
        continue; // the same on all threads
      seesAny = true;
      float next = largest > ofTile ? largest : ofTile;
      float correction = largest == hidden ? 0.0F : expf(largest - next);
      largest = next;
      float weight = score == hidden ? 0.0F : expf(score - largest);
      scores[threadIdx.x] = weight;
      sum = sum * correction + combineOfBlock(weight, Plus());
      // combineOfBlock's barriers stand between the weights and their readers.
      std::int64_t count =
          p.keyRows - tile < kThreads ? p.keyRows - tile : kThreads;
      for (std::int64_t i = threadIdx.x; i < p.valueWidth; i += blockDim.x) {
        float value = accumulated[i] * correction;
        for (std::int64_t k = 0; k < count; ++k)
          if (scores[k] != 0)
            value += scores[k] * load(p.values, (tile + k) * p.valueStride +
                                                    valueBegin + i);
        accumulated[i] = value;
      }
      __syncthreads();
    }
    if (!seesAny && threadIdx.x == 0)
      report(p.fault, Fault::QuerySeesNoKey, t, position);
    for (std::int64_t i = threadIdx.x; i < p.valueWidth; i += blockDim.x)
      store(p.output, th * p.valueWidth + i, accumulated[i] / sum);
  }
}

} // namespace layline::local

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_ATTENTION_CUH
