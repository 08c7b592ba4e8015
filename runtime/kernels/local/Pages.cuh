// Rows of a cache where they lie, and how they come there.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_PAGES_CUH
#define LAYLINE_RUNTIME_KERNELS_LOCAL_PAGES_CUH

#include "kernels/local/Numbers.cuh"

namespace layline::local {

/// Where an item of a row begins, in elements.
__device__ __forceinline__ std::int64_t rowAt(const Pages &p, std::int64_t row,
                                              std::int64_t item = 0) {
  std::int64_t begin = item * p.itemStride;
  if (p.pageRows == 0)
    return begin + row * p.rowStride;
  std::int64_t page = row / p.pageRows, within = row - page * p.pageRows;
  if (p.table)
    page = device::ld(p.table + page);
  return begin + page * p.pageStride + within * p.rowStride;
}

/// Of a cache of one integer a row.
__device__ __forceinline__ std::int64_t integerAt(const Pages &p,
                                                  std::int64_t row) {
  return device::ld(static_cast<const std::int64_t *>(p.rows.data) +
                    rowAt(p, row));
}

__device__ __forceinline__ void appendRows(const AppendParams &p) {
  std::int64_t total = p.rows * p.items * p.itemElements;
  for (std::int64_t i = firstOfThread(); i < total; i += strideOfGrid()) {
    std::int64_t item = i / p.itemElements;
    std::int64_t to =
        rowAt(p.output, p.first + item / p.items, item % p.items) +
        i % p.itemElements;
    if (p.integerBytes != 0)
      device::st(static_cast<std::int64_t *>(p.output.rows.data) + to,
                 device::ld(static_cast<const std::int64_t *>(p.input) + i));
    else
      store(p.output.rows, to, load(p.type, p.input, i));
  }
}

} // namespace layline::local

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_PAGES_CUH
