// Rows of a KV cache between its pages and a contiguous buffer: packed before
// they are sent, scattered where they arrive. The buffer may be a peer's, which
// then reads each chunk as soon as the chunk's flag says so.
#ifndef LAYLINE_RUNTIME_KERNELS_PAGEDROWS_CUH
#define LAYLINE_RUNTIME_KERNELS_PAGEDROWS_CUH

#include "Flags.cuh"

namespace layline::kernels {

enum class PagedCopy : std::uint8_t { Pack, Scatter };

/// First byte of the row of token `token` in its page.
template <typename Protocol>
__device__ __forceinline__ unsigned char *
paged_row(const PagedRowsParams &p, unsigned char *pool, std::int64_t token) {
  std::int64_t page = ld(p.pages + token / p.pageTokens);
  return pool + Protocol::offset(page, p.pageStride) +
         Protocol::offset(token % p.pageTokens, p.tokenStride);
}

/// Copies the unit, which is a vector or a word.
__device__ __forceinline__ void
copy_unit(unsigned char *to, const unsigned char *from, bool isVector) {
  if (isVector)
    st_v4(to, ld_v4(from));
  else
    st(reinterpret_cast<std::uint32_t *>(to),
       ld(reinterpret_cast<const std::uint32_t *>(from)));
}

/// The grid's x counts chunks. Scatter waits for each chunk's flag, where there
/// are flags; Pack sets it.
template <PagedCopy kCopy, typename Protocol>
__device__ __forceinline__ void run_paged_rows(const PagedRowsParams &p,
                                               std::int64_t plane) {
  Protocol::begin();
  const std::int64_t chunks = (p.tokens + p.chunkTokens - 1) / p.chunkTokens;
  auto *pool = static_cast<unsigned char *>(ld(p.pools + plane));
  auto *packed = static_cast<unsigned char *>(p.packed) +
                 Protocol::offset(plane * p.tokens, p.rowBytes);
  const std::int64_t strides = p.rowBytes | p.pageStride | p.tokenStride,
                     addresses = reinterpret_cast<std::intptr_t>(pool) |
                                 reinterpret_cast<std::intptr_t>(packed);
  const bool byVector = (strides | addresses) % 16 == 0;
  const int unit = byVector ? 16 : 4;
  const std::int64_t units = p.rowBytes / unit;
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    std::uint32_t *flag =
        p.chunkFlags ? p.chunkFlags + plane * chunks + chunk : nullptr;
    if (kCopy == PagedCopy::Scatter && flag) {
      bool late = threadIdx.x == 0 &&
                  (!is_on_time(p.watch) ||
                   !await<Protocol>(p.watch, FlagKind::Chunk, flag, p.epoch, 0,
                                    static_cast<std::uint32_t>(chunk)));
      if (Protocol::after_wait(FlagKind::Chunk, late))
        return;
    }
    const std::int64_t begin = chunk * p.chunkTokens, left = p.tokens - begin,
                       count = left < p.chunkTokens ? left : p.chunkTokens;
    for (std::int64_t i = threadIdx.x; i < count * units; i += blockDim.x) {
      const std::int64_t token = begin + i / units;
      unsigned char *inPage =
          paged_row<Protocol>(p, pool, p.firstToken + token) + i % units * unit;
      unsigned char *inBuffer =
          packed + Protocol::offset(token, p.rowBytes) + i % units * unit;
      if constexpr (kCopy == PagedCopy::Pack)
        copy_unit(inBuffer, inPage, byVector);
      else
        copy_unit(inPage, inBuffer, byVector);
    }
    if (kCopy == PagedCopy::Pack && flag) {
      Protocol::before_signal(FlagKind::Chunk);
      if (threadIdx.x == 0)
        Protocol::signal(FlagKind::Chunk, flag, p.epoch);
    }
  }
  Protocol::end();
}

/// The grid's y is the plane.
template <PagedCopy kCopy, int THREADS, typename Protocol = Sound>
LAYLINE_KERNEL(THREADS, 1,
               paged_rows(const __grid_constant__ PagedRowsParams p),
               run_paged_rows<kCopy, Protocol>(p, blockIdx.y))

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_PAGEDROWS_CUH
