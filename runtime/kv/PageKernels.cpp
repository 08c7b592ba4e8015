#include "kv/PageKernels.h"

#include <algorithm>

#if defined(__x86_64__) && defined(__GNUC__)
#define LAYLINE_AVX2 __attribute__((target("avx2")))
#include <immintrin.h>
#endif

namespace layline::kv {

namespace {

PageRange findRangePlain(const std::int32_t *pages, std::int64_t count) {
  PageRange range{pages[0], pages[0], true};
  for (std::int64_t i = 1; i < count; ++i) {
    range.isAscending &= pages[i - 1] < pages[i];
    range.least = std::min(range.least, pages[i]);
    range.largest = std::max(range.largest, pages[i]);
  }
  return range;
}

std::int64_t countRunPlain(const std::int32_t *source,
                           const std::int32_t *target, std::int64_t from,
                           std::int64_t count) {
  // 64 bits: the number behind the largest page is none of 32.
  std::int64_t a = source[0], b = target[0];
  while (from < count && source[from] == a + from && target[from] == b + from)
    ++from;
  return from;
}

#ifdef LAYLINE_AVX2

constexpr std::int64_t kLanes = 8;

LAYLINE_AVX2 inline __m256i load(const std::int32_t *pages) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(pages));
}

LAYLINE_AVX2 PageRange findRangeAvx2(const std::int32_t *pages,
                                     std::int64_t count) {
  if (count <= kLanes)
    return findRangePlain(pages, count);
  __m256i least = load(pages), largest = least;
  __m256i rises = _mm256_set1_epi32(-1);
  // Lanes from i on and those before them. The last step overlaps.
  auto add = [&](std::int64_t i) LAYLINE_AVX2 {
    __m256i here = load(pages + i);
    least = _mm256_min_epi32(least, here);
    largest = _mm256_max_epi32(largest, here);
    rises =
        _mm256_and_si256(rises, _mm256_cmpgt_epi32(here, load(pages + i - 1)));
  };
  for (std::int64_t i = 1; i + kLanes <= count; i += kLanes)
    add(i);
  add(count - kLanes);
  std::int32_t low[kLanes], high[kLanes];
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(low), least);
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(high), largest);
  return {*std::min_element(low, low + kLanes),
          *std::max_element(high, high + kLanes),
          _mm256_movemask_epi8(rises) == -1};
}

LAYLINE_AVX2 std::int64_t countRunAvx2(const std::int32_t *source,
                                       const std::int32_t *target,
                                       std::int64_t count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i step = _mm256_set1_epi32(kLanes);
  __m256i a = _mm256_add_epi32(_mm256_set1_epi32(source[0]), lanes);
  __m256i b = _mm256_add_epi32(_mm256_set1_epi32(target[0]), lanes);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    __m256i same = _mm256_and_si256(_mm256_cmpeq_epi32(load(source + i), a),
                                    _mm256_cmpeq_epi32(load(target + i), b));
    auto mask = static_cast<std::uint32_t>(_mm256_movemask_epi8(same));
    if (mask != 0xffffffffu)
      return i + __builtin_ctz(~mask) / 4;
    a = _mm256_add_epi32(a, step);
    b = _mm256_add_epi32(b, step);
  }
  return countRunPlain(source, target, i, count);
}

bool hasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}

#endif // LAYLINE_AVX2

} // namespace

PageRange findRange(const std::int32_t *pages, std::int64_t count) {
#ifdef LAYLINE_AVX2
  if (hasAvx2())
    return findRangeAvx2(pages, count);
#endif
  return findRangePlain(pages, count);
}

std::int64_t countRun(const std::int32_t *source, const std::int32_t *target,
                      std::int64_t count) {
#ifdef LAYLINE_AVX2
  if (hasAvx2())
    return countRunAvx2(source, target, count);
#endif
  return countRunPlain(source, target, 1, count);
}

} // namespace layline::kv
