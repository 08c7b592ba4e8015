// The row-wise work of a kernel, as RowOperands states it, and where its
// results go.
#ifndef LAYLINE_RUNTIME_KERNELS_ROWCHAIN_CUH
#define LAYLINE_RUNTIME_KERNELS_ROWCHAIN_CUH

#include "Activation.cuh"
#include "Norm.cuh"
#include "Quantize.cuh"

#include <type_traits>

namespace layline::kernels {

/// The parts of the work that are known at compile time.
template <NormKind norm, Function function = Function::None,
          ScaleKind scales = ScaleKind::None, typename Payload = e4m3>
struct Chain {
  static constexpr NormKind kNorm = norm;
  static constexpr Function kFunction = function;
  static constexpr ScaleKind kScales = scales;
  using Format = Payload;
};
using NoWork = Chain<NormKind::None>;

/// Stores results of one row. `index` counts the rows of the tensors in `out`.
template <typename T, int P, Output kOutput, typename Protocol> class RowSink {
public:
  __device__ __forceinline__ RowSink(const RowOutputs<P> &outputs,
                                     std::uint32_t ownRank, std::int64_t row,
                                     std::int32_t rowWidth, int scaleColumns)
      : out(outputs), rank(ownRank), index(row), width(rowWidth),
        columns(scaleColumns) {}

  __device__ __forceinline__ bool wants_values() const {
    return kOutput == Output::EveryoneMulticast ? out.multicastValues
                                                : out.values[rank];
  }

  __device__ __forceinline__ void values(int vector, const Vec16 &v) const {
    if constexpr (kOutput == Output::EveryoneMulticast)
      mm_st_v4(
          vector_of<T, Protocol>(out.multicastValues, index, width, vector), v);
    else
      to_all(out.values, [&](void *rows) {
        st_v4(vector_of<T, Protocol>(rows, index, width, vector), v);
      });
  }

  __device__ __forceinline__ void payload(int vector,
                                          std::uint64_t bytes) const {
    // A byte for each element of a vector.
    using Word =
        std::conditional_t<kWidth<T> == 8, std::uint64_t, std::uint32_t>;
    std::int64_t at = Protocol::offset(index, width) + vector * kWidth<T>;
    if constexpr (kOutput == Output::EveryoneMulticast)
      mm_st(reinterpret_cast<Word *>(out.multicastPayload + at),
            static_cast<Word>(bytes));
    else
      to_all(out.payload, [&](std::uint8_t *rows) {
        st(reinterpret_cast<Word *>(rows + at), static_cast<Word>(bytes));
      });
  }

  __device__ __forceinline__ void scale(int group, float value) const {
    std::int64_t at = Protocol::offset(index, columns) + group;
    if constexpr (kOutput == Output::EveryoneMulticast)
      mm_st(reinterpret_cast<std::uint32_t *>(out.multicastScales + at),
            float_bits(value));
    else
      to_all(out.scales, [&](float *scales) { st(scales + at, value); });
  }

private:
  /// Own memory first, then each rank begins with its neighbour: not all at the
  /// same one.
  template <typename Pointer, typename Body>
  __device__ __forceinline__ void to_all(Pointer const (&pointers)[P],
                                         Body body) const {
    if constexpr (kOutput == Output::Own) {
      body(pointers[rank]);
    } else {
      LAYLINE_ROLLED
      for (int step = 0; step < P; ++step)
        body(pointers[(rank + step) % P]);
    }
  }

  const RowOutputs<P> &out;
  std::uint32_t rank;
  std::int64_t index;
  std::int32_t width;
  int columns;
};

/// `own`: the row's number among those of the residual and the gate.
template <typename C, typename Protocol, typename T, int VPT, typename Sink>
__device__ __forceinline__ void run_chain(Row<T, VPT> &row,
                                          const RowOperands &o,
                                          std::int64_t own, const Sink &sink) {
  if (o.bias)
    with_row<Protocol>(row, o.bias, 0, [](float &x, float b) { x += b; });
  if (o.innerWeight)
    rms_norm<Protocol>(row, o.innerWeight, o.eps, o.weightOffset);
  if (o.innerScale != 1.0F)
    map_row<Protocol>(row, [&](float x) { return x * o.innerScale; });
  if (o.residual)
    with_row<Protocol>(row, o.residual, own, [](float &x, float r) { x += r; });
  if (o.residualOut)
    for_each_vector<Protocol>(row, [&](float(&x)[kWidth<T>], int vector) {
      st_v4(vector_of<T, Protocol>(o.residualOut, own, row.width, vector),
            narrow<T>(x));
    });

  norm<C::kNorm, Protocol>(row, o);
  if constexpr (C::kFunction != Function::None)
    map_row<Protocol>(row, [](float y) { return activate<C::kFunction>(y); });
  if (o.gate)
    with_row<Protocol>(row, o.gate, own, [](float &y, float g) { y *= g; });
  if (o.scale != 1.0F)
    map_row<Protocol>(row, [&](float y) { return y * o.scale; });

  if (sink.wants_values())
    for_each_vector<Protocol>(row, [&](float(&y)[kWidth<T>], int vector) {
      sink.values(vector, narrow<T>(y));
    });
  if constexpr (C::kScales != ScaleKind::None)
    quantize<C::kScales, typename C::Format, Protocol>(row, o, sink);
}

/// Columns of the scales of a row.
template <typename C>
__device__ __forceinline__ int scale_columns(const RowOperands &o,
                                             std::int32_t width) {
  return C::kScales == ScaleKind::Group ? width / o.groupSize : 1;
}

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_ROWCHAIN_CUH
