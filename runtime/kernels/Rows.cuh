// A row in the registers of a block: thread i of b holds its vectors i, i + b,
// ..., widened to float.
#ifndef LAYLINE_RUNTIME_KERNELS_ROWS_CUH
#define LAYLINE_RUNTIME_KERNELS_ROWS_CUH

#include "Protocol.cuh"

// An array stays in registers where all loops over it are unrolled. On the host
// it is memory anyway, and unrolling would only cost time to compile.
#if defined(__CUDACC__)
#define LAYLINE_IN_REGISTERS LAYLINE_UNROLL
#else
#define LAYLINE_IN_REGISTERS
#endif

namespace layline::kernels {

/// Elements of a vector.
template <typename T> constexpr int kWidth = 16 / static_cast<int>(sizeof(T));

/// VPT: vectors that a thread holds at most.
template <typename T, int VPT> struct Row {
  float x[VPT][kWidth<T>];
  std::int32_t width;   ///< elements
  std::int32_t vectors; ///< width / kWidth
};

/// Lower and upper half of a word.
template <typename T>
__device__ __forceinline__ void widen_pair(std::uint32_t word, float &low,
                                           float &high) {
  low = to_float(T{static_cast<std::uint16_t>(word)});
  high = to_float(T{static_cast<std::uint16_t>(word >> 16)});
}
template <>
__device__ __forceinline__ void widen_pair<bf16>(std::uint32_t word, float &low,
                                                 float &high) {
  low = float_of_bits(word << 16);
  high = float_of_bits(word & 0xffff0000U);
}

template <typename T>
__device__ __forceinline__ void widen(const Vec16 &v, float (&x)[kWidth<T>]) {
  const std::uint32_t words[] = {v.x, v.y, v.z, v.w};
  LAYLINE_IN_REGISTERS
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == 4)
      x[i] = float_of_bits(words[i]);
    else
      widen_pair<T>(words[i], x[2 * i], x[2 * i + 1]);
  }
}

template <typename T>
__device__ __forceinline__ Vec16 narrow(const float (&x)[kWidth<T>]) {
  std::uint32_t words[4];
  LAYLINE_IN_REGISTERS
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == 4)
      words[i] = float_bits(x[i]);
    else
      words[i] = pack_pair<T>(x[2 * i], x[2 * i + 1]);
  }
  return {words[0], words[1], words[2], words[3]};
}

/// Vector `vector` of row `row` of a tensor of rows.
template <typename T, typename Protocol>
__device__ __forceinline__ const T *
vector_of(const void *rows, std::int64_t row, std::int32_t width, int vector) {
  return static_cast<const T *>(rows) + Protocol::offset(row, width) +
         vector * kWidth<T>;
}
template <typename T, typename Protocol>
__device__ __forceinline__ T *vector_of(void *rows, std::int64_t row,
                                        std::int32_t width, int vector) {
  return static_cast<T *>(rows) + Protocol::offset(row, width) +
         vector * kWidth<T>;
}

/// Calls body(x, vector) for each vector of the row that this thread holds.
template <typename Protocol, typename T, int VPT, typename Body>
__device__ __forceinline__ void for_each_vector(Row<T, VPT> &row, Body body) {
  LAYLINE_IN_REGISTERS
  for (int k = 0; k < VPT; ++k) {
    int vector = static_cast<int>(threadIdx.x + k * blockDim.x);
    if (Protocol::holds(vector, row.vectors))
      body(row.x[k], vector);
  }
}

/// Calls body(x, a, vector): the same with the vectors of another row (of
/// weights: `index` 0) beside it.
template <typename Protocol, typename T, int VPT, typename Body>
__device__ __forceinline__ void with_row(Row<T, VPT> &row, const void *others,
                                         std::int64_t index, Body body) {
  for_each_vector<Protocol>(row, [&](float(&x)[kWidth<T>], int vector) {
    float a[kWidth<T>];
    widen<T>(ld_v4(vector_of<T, Protocol>(others, index, row.width, vector)),
             a);
    LAYLINE_IN_REGISTERS
    for (int j = 0; j < kWidth<T>; ++j)
      body(x[j], a[j]);
  });
}

/// Sum over this thread's elements of what body(x) says, in their order.
template <typename Protocol, typename T, int VPT, typename Body>
__device__ __forceinline__ float sum_of(Row<T, VPT> &row, Body body) {
  float sum = 0;
  for_each_vector<Protocol>(row, [&](float(&x)[kWidth<T>], int) {
    LAYLINE_IN_REGISTERS
    for (int j = 0; j < kWidth<T>; ++j)
      sum += body(x[j]);
  });
  return sum;
}

template <typename Protocol, typename T, int VPT, typename Body>
__device__ __forceinline__ void map_row(Row<T, VPT> &row, Body body) {
  for_each_vector<Protocol>(row, [&](float(&x)[kWidth<T>], int) {
    LAYLINE_IN_REGISTERS
    for (int j = 0; j < kWidth<T>; ++j)
      x[j] = body(x[j]);
  });
}

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_ROWS_CUH
