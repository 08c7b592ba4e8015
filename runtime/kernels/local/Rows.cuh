// A block a row: norms and their statistics, RoPE, quantisation.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_ROWS_CUH
#define LAYLINE_RUNTIME_KERNELS_LOCAL_ROWS_CUH

#include "kernels/Rotation.cuh"
#include "kernels/local/Numbers.cuh"

namespace layline::local {

/// Sum over a row of f(x) with x the row's numbers.
template <typename Of>
__device__ __forceinline__ float sumOfRow(const Numbers &input,
                                          std::int64_t begin,
                                          std::int64_t width, const Of &of) {
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x)
    sum += of(load(input, begin + i));
  return combineOfBlock(sum, Plus());
}

struct Itself {
  __device__ __forceinline__ float operator()(float x) const { return x; }
};
struct SquaredDistance {
  float mean;
  __device__ __forceinline__ float operator()(float x) const {
    return (x - mean) * (x - mean);
  }
};

__device__ __forceinline__ void norm(const NormParams &p) {
  for (std::int64_t r = blockIdx.x; r < p.rows; r += gridDim.x) {
    std::int64_t begin = r * p.width;
    float count = static_cast<float>(p.width), mean = 0;
    if (!p.isRms)
      mean = sumOfRow(p.input, begin, p.width, Itself()) / count;
    float squares = sumOfRow(p.input, begin, p.width, SquaredDistance{mean});
    float inverse = 1.0F / sqrtf(squares / count + p.eps);
    std::int64_t w = r % p.weightRows * p.width;
    std::int64_t b = r % p.biasRows * p.width;
    for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
      float y = (load(p.input, begin + i) - mean) * inverse *
                (p.weightOffset + load(p.weight, w + i));
      if (p.bias.data)
        y += load(p.bias, b + i);
      store(p.output, begin + i, y);
    }
  }
}

/// A rank without features has addends of zero.
__device__ __forceinline__ void rowSquares(const RowSquaresParams &p) {
  for (std::int64_t r = blockIdx.x; r < p.rows; r += gridDim.x) {
    float squares = sumOfRow(p.input, r * p.width, p.width, SquaredDistance{0});
    if (threadIdx.x == 0)
      store(p.output, r, squares);
  }
}

__device__ __forceinline__ void normBy(const NormByParams &p) {
  for (std::int64_t r = blockIdx.x; r < p.rows; r += gridDim.x) {
    float inverse = 1.0F / sqrtf(load(p.statistics, r) / p.count + p.eps);
    for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x)
      store(p.output, r * p.width + i,
            load(p.input, r * p.width + i) * inverse * load(p.weight, i));
  }
}

/// A block a row and head; a pair may come out in other places than it stood
/// in, perhaps of the same buffer, so that all of a head's pairs are read
/// before one is written.
__device__ __forceinline__ void rope(const RopeParams &p) {
  std::int64_t pairs = p.rotary / 2;
  bool fromHalf = p.style == RopeStyle::Half;
  bool toHalf = p.style != RopeStyle::Interleaved;
  LAYLINE_SHARED(float, head, kMaxHeadWidth);
  for (std::int64_t rh = blockIdx.x; rh < p.rows * p.heads; rh += gridDim.x) {
    std::int64_t begin = rh * p.width;
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x)
      head[i] = load(p.input, begin + i);
    __syncthreads();
    const std::int64_t position = device::ld(p.positions + rh / p.heads);
    for (std::int64_t i = threadIdx.x; i < pairs; i += blockDim.x) {
      const kernels::Rotation by = kernels::rotation(
          position, device::ld(p.halfTurns + i), p.attentionFactor);
      float a = head[fromHalf ? i : 2 * i];
      float b = head[fromHalf ? i + pairs : 2 * i + 1];
      store(p.output, begin + (toHalf ? i : 2 * i),
            a * by.cosine - b * by.sine);
      store(p.output, begin + (toHalf ? i + pairs : 2 * i + 1),
            b * by.cosine + a * by.sine);
    }
    for (std::int64_t i = p.rotary + threadIdx.x; i < p.width; i += blockDim.x)
      store(p.output, begin + i, head[i]);
  }
}

/// What the narrow formats hold at most.
__device__ __forceinline__ float largestOf(NumberType format) {
  return format == NumberType::E4M3 ? 448.0F : 57344.0F;
}
__device__ __forceinline__ float rounded(NumberType format, float x) {
  return format == NumberType::E4M3
             ? device::to_float(device::from_float<e4m3>(x))
             : device::to_float(device::from_float<e5m2>(x));
}

/// A block a group. A group of zeros has the scale 0 and the values 0.
__device__ __forceinline__ void quantize(const QuantizeParams &p) {
  for (std::int64_t g = blockIdx.x; g < p.groups; g += gridDim.x) {
    std::int64_t begin = g * p.width;
    float largest = 0;
    for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x)
      largest = LargestOrNaN()(fabsf(load(p.input, begin + i)), largest);
    largest = combineOfBlock(largest, LargestOrNaN());
    float scale = largest / largestOf(p.format);
    if (threadIdx.x == 0)
      store(p.scales, g, scale);
    for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x)
      store(p.values, begin + i,
            scale == 0.0F
                ? 0.0F
                : rounded(p.format, load(p.input, begin + i) / scale));
  }
}

__device__ __forceinline__ void dequantize(const DequantizeParams &p) {
  for (std::int64_t i = firstOfThread(); i < p.groups * p.width;
       i += strideOfGrid())
    store(p.output, i, load(p.values, i) * load(p.scales, i / p.width));
}

} // namespace layline::local

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_ROWS_CUH
