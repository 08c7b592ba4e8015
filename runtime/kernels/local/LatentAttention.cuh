// Attention over cached latent rows, and the choice of the keys that it sees.
// As Attention.cuh: correct for every mask and shape, not fast.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_LATENTATTENTION_CUH
#define LAYLINE_RUNTIME_KERNELS_LOCAL_LATENTATTENTION_CUH

#include "kernels/local/Attention.cuh"

namespace layline::local {

/// Whether a row's selection names a key. That it may name one twice makes no
/// difference.
__device__ __forceinline__ bool isSelected(const LatentAttentionParams &p,
                                           std::int64_t row, std::int64_t key) {
  if (!p.selection)
    return true;
  for (std::int64_t k = 0; k < p.selected; ++k)
    if (device::ld(p.selection + row * p.selected + k) == key)
      return true;
  return false;
}

/// A block a row and head. Instead of keys and values from latents, the query
/// is brought to the latents, and their weighted sum to a value: products of a
/// head's weights once a row, not once a key (DeepSeek-V2, arXiv 2405.04434,
/// section 2.1.2).
__device__ __forceinline__ void
latentAttention(const LatentAttentionParams &p) {
  LAYLINE_SHARED(float, query, kMaxHeadWidth);
  LAYLINE_SHARED(float, accumulated, kMaxHeadWidth);
  LAYLINE_SHARED(float, scores, kThreads);
  for (std::int64_t th = blockIdx.x; th < p.rows * p.heads; th += gridDim.x) {
    std::int64_t t = th / p.heads, h = th % p.heads;
    std::int64_t position = device::ld(p.positions + t);
    std::int64_t keyUp = h * p.width * p.latentWidth;
    std::int64_t valueUp = h * p.valueWidth * p.latentWidth;
    // The row before is no longer read.
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < p.latentWidth; i += blockDim.x) {
      float sum = 0;
      for (std::int64_t w = 0; w < p.width; ++w)
        sum += load(p.nope, th * p.width + w) *
               load(p.keyUp, keyUp + w * p.latentWidth + i);
      query[i] = sum;
      accumulated[i] = 0;
    }
    for (std::int64_t i = threadIdx.x; i < p.rotary; i += blockDim.x)
      query[p.latentWidth + i] = load(p.rope, th * p.rotary + i);
    if (p.selection)
      for (std::int64_t k = threadIdx.x; k < p.selected; k += blockDim.x) {
        std::int64_t key = device::ld(p.selection + t * p.selected + k);
        if (key >= p.keyRows)
          report(p.fault, Fault::SelectedNoKey, t, key);
      }
    __syncthreads();

    Softmax softmax;
    attend(
        p.keyRows, p.latentWidth, softmax, scores, accumulated,
        [&](std::int64_t s) {
          if (!isVisible(p.causal, 0, position, integerAt(p.keyPositions, s)) ||
              !isSelected(p, t, s))
            return -INFINITY;
          float score = 0;
          std::int64_t latent = rowAt(p.latent, s), rope = rowAt(p.ropeKey, s);
          for (std::int64_t i = 0; i < p.latentWidth; ++i)
            score += query[i] * load(p.latent.rows, latent + i);
          for (std::int64_t i = 0; i < p.rotary; ++i)
            score += query[p.latentWidth + i] * load(p.ropeKey.rows, rope + i);
          return score * p.scale;
        },
        [&](std::int64_t s, std::int64_t i) {
          return load(p.latent.rows, rowAt(p.latent, s) + i);
        });
    if (!softmax.seesAny && threadIdx.x == 0)
      report(p.fault, Fault::QuerySeesNoKey, t, position);
    for (std::int64_t v = threadIdx.x; v < p.valueWidth; v += blockDim.x) {
      float sum = 0;
      for (std::int64_t i = 0; i < p.latentWidth; ++i)
        sum +=
            accumulated[i] * load(p.valueUp, valueUp + v * p.latentWidth + i);
      store(p.output, th * p.valueWidth + v, sum / softmax.sum);
    }
  }
}

/// How much a key means to a row of the indexer.
__device__ __forceinline__ float
indexerScore(const IndexerParams &p, std::int64_t row, std::int64_t key) {
  float score = 0;
  std::int64_t begin = rowAt(p.keys, key);
  for (std::int64_t h = 0; h < p.heads; ++h) {
    std::int64_t query = (row * p.heads + h) * p.width;
    float product = 0;
    for (std::int64_t i = 0; i < p.width; ++i)
      product += load(p.query, query + i) * load(p.keys.rows, begin + i);
    score += load(p.weights, row * p.heads + h) * p.scale *
             (product > 0 ? product : 0);
  }
  return score;
}

/// How many of `count` numbers, which descend, are not below `score`.
__device__ __forceinline__ std::int64_t
countNotBelow(const float *descending, std::int64_t count, float score) {
  std::int64_t begin = 0;
  while (begin < count) {
    std::int64_t middle = begin + (count - begin) / 2;
    if (device::ld(descending + middle) >= score)
      begin = middle + 1;
    else
      count = middle;
  }
  return begin;
}

/// A block a row: tile after tile of keys is merged into the best so far, by
/// the number of those that come before. Of equal scores the lower key row
/// does, so that those of the tiles in front do.
__device__ __forceinline__ void indexer(const IndexerParams &p) {
  LAYLINE_SHARED(float, scores, kThreads);
  LAYLINE_SHARED(std::int32_t, isSeen, kThreads);
  for (std::int64_t t = blockIdx.x; t < p.rows; t += gridDim.x) {
    std::int64_t position = device::ld(p.positions + t);
    std::int64_t from = t * p.topK, to = (p.rows + t) * p.topK, held = 0;
    for (std::int64_t tile = 0; tile < p.keyRows; tile += kThreads) {
      std::int64_t s = tile + threadIdx.x;
      bool sees = s < p.keyRows && isVisible(p.causal, 0, position,
                                             integerAt(p.keyPositions, s));
      float score = sees ? indexerScore(p, t, s) : 0.0F;
      if (score != score)
        report(p.fault, Fault::IndexerScoreNotANumber, t, s);
      // The tile before is no longer read; what it merged is there.
      __syncthreads();
      scores[threadIdx.x] = score;
      isSeen[threadIdx.x] = sees;
      __syncthreads();
      std::int64_t added = 0;
      for (int j = 0; j < kThreads; ++j)
        added += isSeen[j];
      for (std::int64_t i = threadIdx.x; i < held; i += blockDim.x) {
        float best = device::ld(p.bestScores + from + i);
        std::int64_t place = i;
        for (int j = 0; j < kThreads; ++j)
          place += isSeen[j] && scores[j] > best;
        if (place >= p.topK)
          continue;
        device::st(p.bestScores + to + place, best);
        device::st(p.bestKeys + to + place, device::ld(p.bestKeys + from + i));
      }
      if (sees) {
        std::int64_t place = countNotBelow(p.bestScores + from, held, score);
        for (int j = 0; j < kThreads; ++j)
          place += isSeen[j] &&
                   (scores[j] > score ||
                    (scores[j] == score && j < static_cast<int>(threadIdx.x)));
        if (place < p.topK) {
          device::st(p.bestScores + to + place, score);
          device::st(p.bestKeys + to + place, s);
        }
      }
      held = held + added < p.topK ? held + added : p.topK;
      std::int64_t other = from;
      from = to;
      to = other;
    }
    __syncthreads();
    for (std::int64_t k = threadIdx.x; k < p.topK; k += blockDim.x) {
      bool isThere = k < held;
      device::st(p.selection + t * p.topK + k,
                 isThere ? device::ld(p.bestKeys + from + k) : -1);
      store(p.scores, t * p.topK + k,
            isThere ? device::ld(p.bestScores + from + k) : 0.0F);
    }
  }
}

} // namespace layline::local

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_LATENTATTENTION_CUH
