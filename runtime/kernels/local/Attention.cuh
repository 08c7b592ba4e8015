// Attention over cached keys: a block a query row and head, tiles of keys, a
// softmax that is corrected as larger scores come. Correct for every mask and
// shape; a serving engine brings its own kernel.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_ATTENTION_CUH
#define LAYLINE_RUNTIME_KERNELS_LOCAL_ATTENTION_CUH

#include "kernels/local/Pages.cuh"

namespace layline::local {

__device__ __forceinline__ bool isVisible(bool causal, std::int64_t window,
                                          std::int64_t position,
                                          std::int64_t key) {
  return (!causal || key <= position) &&
         (window == 0 || position - key < window);
}

/// Of a softmax over the keys so far: the largest score, and the sum of the
/// exponentials of all relative to it.
struct Softmax {
  float largest = -INFINITY, sum = 0;
  bool seesAny = false;
};

/// Adds to `accumulated`, `width` elements, the values of all keys, each times
/// the exponential of its score. `score(s)` is -INFINITY where a key is hidden;
/// `value(s, i)` an element of a key's value. `scores`: memory for a tile's.
/// Both arrays are shared; every thread of the block must call it, and may read
/// them behind it.
template <typename Scores, typename Accumulated, typename Score, typename Value>
__device__ __forceinline__ void
attend(std::int64_t keyRows, std::int64_t width, Softmax &softmax,
       Scores &scores, Accumulated &accumulated, const Score &scoreOf,
       const Value &valueOf) {
  const float hidden = -INFINITY;
  for (std::int64_t tile = 0; tile < keyRows; tile += kThreads) {
    std::int64_t s = tile + threadIdx.x;
    float score = s < keyRows ? scoreOf(s) : hidden;
    float ofTile = combineOfBlock(score, Largest());
    if (ofTile == hidden)
      continue; // the same on all threads
    softmax.seesAny = true;
    float next = softmax.largest > ofTile ? softmax.largest : ofTile;
    float correction =
        softmax.largest == hidden ? 0.0F : expf(softmax.largest - next);
    softmax.largest = next;
    float weight = score == hidden ? 0.0F : expf(score - next);
    scores[threadIdx.x] = weight;
    softmax.sum = softmax.sum * correction + combineOfBlock(weight, Plus());
    // combineOfBlock's barriers stand between the weights and their readers.
    std::int64_t count = keyRows - tile < kThreads ? keyRows - tile : kThreads;
    for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) {
      float value = accumulated[i] * correction;
      for (std::int64_t k = 0; k < count; ++k)
        if (scores[k] != 0)
          value += scores[k] * valueOf(tile + k, i);
      accumulated[i] = value;
    }
    __syncthreads();
  }
}

/// Weighted values of one row and head. `query`, `accumulated`: shared, as wide
/// as kMaxHeadWidth; `scores`: a tile's.
__device__ __forceinline__ void attention(const AttentionParams &p) {
  LAYLINE_SHARED(float, query, kMaxHeadWidth);
  LAYLINE_SHARED(float, accumulated, kMaxHeadWidth);
  LAYLINE_SHARED(float, scores, kThreads);
  for (std::int64_t th = blockIdx.x; th < p.rows * p.heads; th += gridDim.x) {
    std::int64_t t = th / p.heads, h = th % p.heads;
    std::int64_t position = device::ld(p.positions + t);
    std::int64_t keyHead = (p.firstHead + h) / p.headsPerKeyHead;
    // The row before is no longer read.
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x)
      query[i] = load(p.query, th * p.width + i);
    for (std::int64_t i = threadIdx.x; i < p.valueWidth; i += blockDim.x)
      accumulated[i] = 0;
    __syncthreads();

    Softmax softmax;
    if (p.sinks.data) {
      softmax.largest = load(p.sinks, h);
      softmax.sum = 1;
    }
    attend(
        p.keyRows, p.valueWidth, softmax, scores, accumulated,
        [&](std::int64_t s) {
          float score = -INFINITY;
          if (isVisible(p.causal, p.window, position,
                        integerAt(p.keyPositions, s))) {
            score = 0;
            std::int64_t key = rowAt(p.keys, s, keyHead - p.firstKeyHead);
            for (std::int64_t i = 0; i < p.width; ++i)
              score += query[i] * load(p.keys.rows, key + i);
            score *= p.scale;
            if (p.softcap != 0)
              score = p.softcap * tanhf(score / p.softcap);
          }
          return score;
        },
        [&](std::int64_t s, std::int64_t i) {
          return load(p.values.rows,
                      rowAt(p.values, s, keyHead - p.firstValueHead) + i);
        });
    if (!softmax.seesAny && threadIdx.x == 0)
      report(p.fault, Fault::QuerySeesNoKey, t, position);
    for (std::int64_t i = threadIdx.x; i < p.valueWidth; i += blockDim.x)
      store(p.output, th * p.valueWidth + i, accumulated[i] / softmax.sum);
  }
}

} // namespace layline::local

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_ATTENTION_CUH
