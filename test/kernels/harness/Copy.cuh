// What stands before and after a collective on its stream: kernels that write
// its inputs and read its results. Without them no one would see a barrier that
// orders nothing.
#ifndef LAYLINE_TEST_KERNELS_HARNESS_COPY_CUH
#define LAYLINE_TEST_KERNELS_HARNESS_COPY_CUH

#include "kernels/Reduce.cuh"

namespace layline::kernels::test {

/// W: of 4 or 8 bytes.
template <typename W>
__device__ void copy_words(const void *from, void *to, std::int64_t bytes) {
  const auto *source = static_cast<const W *>(from);
  auto *target = static_cast<W *>(to);
  std::int64_t step = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       i < bytes / std::int64_t(sizeof(W)); i += step)
    st(target + i, ld(source + i));
}

__device__ inline void copy_vectors(const void *from, void *to,
                                    std::int64_t bytes) {
  const auto *source = static_cast<const Vec16 *>(from);
  auto *target = static_cast<Vec16 *>(to);
  std::int64_t step = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       i < bytes / 16; i += step)
    st_v4(target + i, ld_v4(source + i));
}

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_HARNESS_COPY_CUH
