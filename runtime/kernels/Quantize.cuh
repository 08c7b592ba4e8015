// Rows in FP8 with scales, as a plan's `quantize` has it: scale = max |y| / L
// with the format's largest number L, payload = y / scale to nearest, ties to
// even; of zeros the scale and the payload are 0.
#ifndef LAYLINE_RUNTIME_KERNELS_QUANTIZE_CUH
#define LAYLINE_RUNTIME_KERNELS_QUANTIZE_CUH

#include "Reduce.cuh"
#include "Rows.cuh"

namespace layline::kernels {

template <typename Format> inline constexpr float kLargest = 0;
template <> inline constexpr float kLargest<e4m3> = 448;   // OCP FP8, table 1
template <> inline constexpr float kLargest<e5m2> = 57344; // the same

template <typename T>
__device__ __forceinline__ float largest_of(const float (&x)[kWidth<T>]) {
  float largest = 0;
  LAYLINE_IN_REGISTERS
  for (int j = 0; j < kWidth<T>; ++j)
    largest = Max::join(largest, fabsf(x[j]));
  return largest;
}

/// The bytes of one vector.
template <typename Format, typename T>
__device__ __forceinline__ std::uint64_t payload_of(const float (&x)[kWidth<T>],
                                                    float scale) {
  float y[kWidth<T>];
  LAYLINE_IN_REGISTERS
  for (int j = 0; j < kWidth<T>; ++j)
    y[j] = scale == 0.0F ? 0.0F : x[j] / scale;
  std::uint64_t bytes = 0;
  LAYLINE_IN_REGISTERS
  for (int j = 0; j < kWidth<T>; j += 2)
    bytes |= static_cast<std::uint64_t>(pack_pair<Format>(y[j], y[j + 1]))
             << (8 * j);
  return bytes;
}

/// Gives sink.scale(group, scale) and sink.payload(vector, bytes). A group is
/// as wide as a power of two of vectors, so that neighbouring lanes hold it.
/// All lanes of a warp take part, also those behind the row's end.
template <ScaleKind kScales, typename Format, typename Protocol, typename T,
          int VPT, typename Sink>
__device__ __forceinline__ void quantize(Row<T, VPT> &row, const RowOperands &o,
                                         Sink &sink) {
  float scale = 0;
  if constexpr (kScales == ScaleKind::Tensor)
    scale = ld(o.tensorScale);
  if constexpr (kScales == ScaleKind::Row) {
    float largest = 0;
    for_each_vector<Protocol>(row, [&](float(&x)[kWidth<T>], int) {
      largest = Max::join(largest, largest_of<T>(x));
    });
    scale = join_block<Max, Protocol>(largest) / kLargest<Format>;
    if (threadIdx.x == 0)
      sink.scale(0, scale);
  }
  const int lanes = kScales == ScaleKind::Group ? o.groupSize / kWidth<T> : 1;
  LAYLINE_IN_REGISTERS
  for (int k = 0; k < VPT; ++k) {
    int vector = static_cast<int>(threadIdx.x + k * blockDim.x);
    bool held = vector < row.vectors;
    if constexpr (kScales == ScaleKind::Group) {
      // Threads of a block agree on whether anyone of them holds a vector here.
      if (static_cast<int>(k * blockDim.x) >= row.vectors)
        break;
      float largest = held ? largest_of<T>(row.x[k]) : 0.0F;
      scale = join_lanes<Max, Protocol>(largest, lanes) / kLargest<Format>;
      if (held && vector % lanes == 0)
        sink.scale(vector / lanes, scale);
    }
    if (held)
      sink.payload(vector, payload_of<Format, T>(row.x[k], scale));
  }
}

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_QUANTIZE_CUH
