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

/// The grid's x counts chunks. Scatter waits for each chunk's flag, where there
/// are flags; Pack sets it.
template <PagedCopy kCopy, typename Protocol>
__device__ __forceinline__ void run_paged_rows(const PagedRowsParams &p,
                                               std::int64_t plane) {
  Protocol::begin();
  const std::int64_t chunks = (p.tokens + p.chunkTokens - 1) / p.chunkTokens;
  const std::int64_t vectors = p.rowBytes / 16;
  auto *pool = static_cast<unsigned char *>(ld(p.pools + plane));
  auto *packed = static_cast<unsigned char *>(p.packed) +
                 Protocol::offset(plane * p.tokens, p.rowBytes);
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
    for (std::int64_t i = threadIdx.x; i < count * vectors; i += blockDim.x) {
      const std::int64_t token = begin + i / vectors;
      unsigned char *inPage =
          paged_row<Protocol>(p, pool, p.firstToken + token) + i % vectors * 16;
      unsigned char *inBuffer =
          packed + Protocol::offset(token, p.rowBytes) + i % vectors * 16;
      if constexpr (kCopy == PagedCopy::Pack)
        st_v4(inBuffer, ld_v4(inPage));
      else
        st_v4(inPage, ld_v4(inBuffer));
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
