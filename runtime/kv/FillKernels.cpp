#include "kv/FillKernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define LAYLINE_AVX2 __attribute__((target("avx2")))
#include <immintrin.h>
#endif

namespace layline::kv {

namespace {

void writeStepsPlain(std::uint64_t *out, std::uint64_t first,
                     std::uint64_t step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = first + static_cast<std::uint64_t>(i) * step;
}

void writeOffsetsPlain(std::uint64_t *out, std::uint64_t base,
                       const std::int64_t *offsets, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = base + static_cast<std::uint64_t>(offsets[i]);
}

constexpr FillKernels kPlain = {writeStepsPlain, writeOffsetsPlain, [] {}};

#ifdef LAYLINE_AVX2

// A cache line that is written whole need not be read first. Stores that bypass
// the caches see to that, where the arrays would not stay in them anyway. Both
// kinds begin at a multiple of 32 bytes: none crosses a line.
template <bool bypasses>
LAYLINE_AVX2 inline void store(std::uint64_t *out, __m256i value) {
  if constexpr (bypasses)
    _mm256_stream_si256(reinterpret_cast<__m256i *>(out), value);
  else
    _mm256_store_si256(reinterpret_cast<__m256i *>(out), value);
}

/// Elements before the first that lies at a multiple of 32 bytes.
inline std::int64_t countUnaligned(const std::uint64_t *out,
                                   std::int64_t count) {
  auto address = reinterpret_cast<std::uintptr_t>(out);
  auto before = static_cast<std::int64_t>((32 - address % 32) % 32 / 8);
  return before < count ? before : count;
}

template <bool bypasses>
LAYLINE_AVX2 void writeStepsAvx2(std::uint64_t *out, std::uint64_t first,
                                 std::uint64_t step, std::int64_t count) {
  std::int64_t before = countUnaligned(out, count);
  writeStepsPlain(out, first, step, before);
  out += before;
  first += static_cast<std::uint64_t>(before) * step;
  count -= before;
  auto at = [&](int i) { return static_cast<long long>(first + i * step); };
  __m256i value = _mm256_set_epi64x(at(3), at(2), at(1), at(0));
  __m256i next = _mm256_set1_epi64x(static_cast<long long>(4 * step));
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    store<bypasses>(out + i, value);
    value = _mm256_add_epi64(value, next);
  }
  for (; i < count; ++i)
    out[i] = first + static_cast<std::uint64_t>(i) * step;
}

template <bool bypasses>
LAYLINE_AVX2 void writeOffsetsAvx2(std::uint64_t *out, std::uint64_t base,
                                   const std::int64_t *offsets,
                                   std::int64_t count) {
  std::int64_t before = countUnaligned(out, count);
  writeOffsetsPlain(out, base, offsets, before);
  out += before;
  offsets += before;
  count -= before;
  __m256i bases = _mm256_set1_epi64x(static_cast<long long>(base));
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    store<bypasses>(
        out + i,
        _mm256_add_epi64(bases,
                         _mm256_loadu_si256(
                             reinterpret_cast<const __m256i *>(offsets + i))));
  for (; i < count; ++i)
    out[i] = base + static_cast<std::uint64_t>(offsets[i]);
}

constexpr FillKernels kCached = {writeStepsAvx2<false>, writeOffsetsAvx2<false>,
                                 [] {}};
constexpr FillKernels kBypassing = {
    writeStepsAvx2<true>, writeOffsetsAvx2<true>, [] { _mm_sfence(); }};

// From here on bypassing was as fast (3 MB) or twice as fast (24 MB and more)
// as cached stores: bench/RESULTS.md.
constexpr std::int64_t kBypassFrom = std::int64_t(4) << 20;

#endif // LAYLINE_AVX2

} // namespace

const FillKernels &getFillKernels(std::int64_t bytes) {
#ifdef LAYLINE_AVX2
  static const bool hasAvx2 = __builtin_cpu_supports("avx2");
  if (hasAvx2)
    return bytes >= kBypassFrom ? kBypassing : kCached;
#endif
  (void)bytes;
  return kPlain;
}

} // namespace layline::kv
