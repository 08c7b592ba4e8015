// Mixtures of experts on one rank: choice of experts, their products, biases.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_EXPERTS_CUH
#define LAYLINE_RUNTIME_KERNELS_LOCAL_EXPERTS_CUH

#include "kernels/local/Numbers.cuh"

namespace layline::local {

/// The place of the largest of [begin, end), the lower of equals; it is never
/// taken again. One thread.
template <typename Merits>
__device__ __forceinline__ std::int64_t
takeLargest(Merits &merits, std::int64_t begin, std::int64_t end) {
  std::int64_t best = begin;
  for (std::int64_t e = begin + 1; e < end; ++e)
    if (merits[e] > merits[best])
      best = e;
  merits[best] = -INFINITY;
  return best;
}

/// The groups that stay are the best by their best expert or the sum of their
/// two best; experts of the others are never taken. One thread.
template <typename Merits>
__device__ __forceinline__ void dropGroups(const RouterParams &p,
                                           Merits &merits, Merits &ofGroup) {
  if (p.groups == 0)
    return;
  std::int64_t size = p.experts / p.groups;
  for (std::int64_t g = 0; g < p.groups; ++g) {
    float first = -INFINITY, second = -INFINITY;
    for (std::int64_t e = g * size; e < (g + 1) * size; ++e) {
      float merit = merits[e];
      if (merit > first) {
        second = first;
        first = merit;
      } else if (merit > second) {
        second = merit;
      }
    }
    ofGroup[g] = p.top2Sum ? first + second : first;
  }
  // Those that are taken become -inf; the others lose their experts.
  for (std::int64_t i = 0; i < p.chosenGroups; ++i)
    takeLargest(ofGroup, 0, p.groups);
  for (std::int64_t e = 0; e < p.experts; ++e)
    if (ofGroup[e / size] != -INFINITY)
      merits[e] = -INFINITY;
}

/// A block a row: scores by all threads, the choice by one.
__device__ __forceinline__ void router(const RouterParams &p) {
  LAYLINE_SHARED(float, scores, kMaxExperts);
  LAYLINE_SHARED(float, merits, kMaxExperts);
  LAYLINE_SHARED(float, ofGroup, kMaxExperts);
  for (std::int64_t t = blockIdx.x; t < p.rows; t += gridDim.x) {
    float largest = -INFINITY;
    __syncthreads();
    for (std::int64_t e = threadIdx.x; e < p.experts; e += blockDim.x) {
      float x = load(p.logits, t * p.experts + e);
      if (x != x)
        report(p.fault, Fault::RouterLogitNotANumber, t, e);
      scores[e] = p.sigmoid ? 1.0F / (1.0F + expf(-x)) : x;
      largest = Largest()(x, largest);
    }
    if (!p.sigmoid) {
      largest = combineOfBlock(largest, Largest());
      float sum = 0;
      for (std::int64_t e = threadIdx.x; e < p.experts; e += blockDim.x) {
        float weight = expf(scores[e] - largest);
        scores[e] = weight;
        sum += weight;
      }
      sum = combineOfBlock(sum, Plus());
      for (std::int64_t e = threadIdx.x; e < p.experts; e += blockDim.x)
        scores[e] = scores[e] / sum;
    }
    for (std::int64_t e = threadIdx.x; e < p.experts; e += blockDim.x)
      merits[e] = scores[e] + (p.bias.data ? load(p.bias, e) : 0.0F);
    __syncthreads();
    if (threadIdx.x != 0)
      continue;
    dropGroups(p, merits, ofGroup);
    float sum = 0;
    for (std::int64_t k = 0; k < p.topK; ++k) {
      std::int64_t best = takeLargest(merits, 0, p.experts);
      device::st(p.ids + t * p.topK + k, best);
      ofGroup[k] = scores[best];
      sum += scores[best];
    }
    for (std::int64_t k = 0; k < p.topK; ++k)
      store(p.weights, t * p.topK + k,
            (p.renormalize ? ofGroup[k] / sum : ofGroup[k]) * p.scale);
  }
}

/// Product of a row of numbers with a row of a matrix.
template <typename Row>
__device__ __forceinline__ float product(const Row &row, const Numbers &matrix,
                                         std::int64_t begin,
                                         std::int64_t width) {
  float sum = 0;
  for (std::int64_t i = 0; i < width; ++i)
    sum += row(i) * load(matrix, begin + i);
  return sum;
}

/// What expert `e` of those that are held makes of a row in front of its last
/// product: gated[0, inner).
template <typename Row>
__device__ __forceinline__ void applyGate(const ExpertWeights &p,
                                          std::int64_t e, const Row &input,
                                          float *gated) {
  for (std::int64_t f = threadIdx.x; f < p.inner; f += blockDim.x) {
    std::int64_t row = e * p.inner + f;
    float gate = product(input, p.gate, row * p.in, p.in);
    float up = product(input, p.up, row * p.in, p.in);
    if (p.gateBias.data) {
      gate += load(p.gateBias, row);
      up += load(p.upBias, row);
    }
    if (p.limit != 0) {
      gate = gate < p.limit ? gate : p.limit;
      up = up < -p.limit ? -p.limit : up > p.limit ? p.limit : up;
    }
    float value = p.alpha == 1 ? apply(p.function, gate)
                               : gate / (1.0F + expf(-p.alpha * gate));
    device::st(gated + f, value * (up + p.upOffset));
  }
}

/// A block a row; slot after slot, in their order. Experts of other ranks are
/// passed over: the output owes their sum.
__device__ __forceinline__ void experts(const ExpertsParams &p) {
  for (std::int64_t t = blockIdx.x; t < p.rows; t += gridDim.x) {
    bool isHole =
        p.isRouted && p.slots > 0 && device::ld(p.ids + t * p.slots) == -1;
    for (std::int64_t o = threadIdx.x; o < p.out; o += blockDim.x)
      store(p.output, t * p.out + o, isHole ? NAN : 0.0F);
    if (isHole)
      continue;
    float *gated = p.scratch + t * p.inner;
    auto input = [&](std::int64_t i) { return load(p.input, t * p.in + i); };
    auto hidden = [&](std::int64_t i) { return device::ld(gated + i); };
    for (std::int64_t k = 0; k < p.slots; ++k) {
      std::int64_t expert = device::ld(p.ids + t * p.slots + k);
      if ((expert < 0 || expert >= p.experts) && threadIdx.x == 0)
        report(p.fault, Fault::ExpertOutsideCount, t, expert);
      if (expert < p.first || expert >= p.first + p.held)
        continue; // the same on all threads
      std::int64_t e = expert - p.first;
      __syncthreads();
      applyGate(p, e, input, gated);
      __syncthreads();
      float weight = load(p.weights, t * p.slots + k);
      for (std::int64_t o = threadIdx.x; o < p.out; o += blockDim.x) {
        float y = product(hidden, p.down, (e * p.out + o) * p.inner, p.inner);
        store(p.output, t * p.out + o,
              load(p.output, t * p.out + o) + weight * y);
      }
    }
  }
}

/// An id that is none of an expert's is no choice either way.
__device__ __forceinline__ void choices(const ChoicesParams &p) {
  for (std::int64_t i = firstOfThread(); i < p.rows * p.slots;
       i += strideOfGrid()) {
    const std::int64_t expert = device::ld(p.ids + i);
    const bool isOne = expert >= 0 && expert < p.experts;
    if (!isOne)
      report(p.fault, Fault::ExpertOutsideCount, i / p.slots, expert);
    device::st(p.narrowIds + i, isOne ? static_cast<std::int32_t>(expert) : -1);
    device::st(p.floats + i, load(p.weights, i));
  }
}

/// A block a row of those that are sorted: neighbours read the same expert.
__device__ __forceinline__ void sortedExperts(const SortedExpertsParams &p) {
  std::int64_t e = 0;
  const std::int64_t rows = device::ld(p.offsets + p.held);
  for (std::int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    while (device::ld(p.offsets + e + 1) <= i)
      ++e;
    float *gated = p.scratch + i * p.inner;
    auto input = [&](std::int64_t j) { return load(p.sorted, i * p.in + j); };
    auto hidden = [&](std::int64_t f) { return device::ld(gated + f); };
    applyGate(p, e, input, gated);
    __syncthreads();
    for (std::int64_t o = threadIdx.x; o < p.out; o += blockDim.x)
      store(p.results, i * p.out + o,
            product(hidden, p.down, (e * p.out + o) * p.inner, p.inner));
  }
}

__device__ __forceinline__ void expertBias(const ExpertBiasParams &p) {
  for (std::int64_t t = blockIdx.x; t < p.rows; t += gridDim.x)
    for (std::int64_t o = threadIdx.x; o < p.width; o += blockDim.x) {
      float y = load(p.input, t * p.width + o);
      for (std::int64_t k = 0; k < p.slots; ++k) {
        std::int64_t expert = device::ld(p.ids + t * p.slots + k);
        if (expert < 0 || expert >= p.experts) {
          report(p.fault, Fault::ExpertOutsideCount, t, expert);
          continue;
        }
        y += load(p.weights, t * p.slots + k) *
             load(p.bias, expert * p.width + o);
      }
      store(p.output, t * p.width + o, y);
    }
}

} // namespace layline::local

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_EXPERTS_CUH
