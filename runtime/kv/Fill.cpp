// Descriptors as arrays: the hot path.
#include "kv/Binding.h"

#include "plan/Error.h"

#include <algorithm>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace layline::kv {

namespace {

/// out[i] = first + i * step.
inline void writeSteps(std::uint64_t *out, std::uint64_t first,
                       std::uint64_t step, std::int64_t count) {
  std::int64_t i = 0;
#ifdef __SSE2__
  __m128i value = _mm_set_epi64x(static_cast<long long>(first + step),
                                 static_cast<long long>(first));
  __m128i twice = _mm_set1_epi64x(static_cast<long long>(2 * step));
  for (; i + 2 <= count; i += 2) {
    _mm_storeu_si128(reinterpret_cast<__m128i *>(out + i), value);
    value = _mm_add_epi64(value, twice);
  }
#endif
  for (; i < count; ++i)
    out[i] = first + static_cast<std::uint64_t>(i) * step;
}

/// out[i] = base + offsets[i].
inline void writeOffsets(std::uint64_t *out, std::uint64_t base,
                         const std::int64_t *offsets, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = base + static_cast<std::uint64_t>(offsets[i]);
}

/// Three arrays.
struct ArraySink {
  std::uint64_t *source, *target, *bytes;

  void steps(std::uint64_t a, std::uint64_t aStep, std::uint64_t b,
             std::uint64_t bStep, std::uint64_t length, std::int64_t count) {
    writeSteps(source, a, aStep, count);
    writeSteps(target, b, bStep, count);
    writeSteps(bytes, length, 0, count);
    advance(count);
  }
  /// `lengths` may be null if all are `length`.
  void offsets(std::uint64_t a, const std::int64_t *as, std::uint64_t b,
               const std::int64_t *bs, std::uint64_t length,
               const std::int64_t *lengths, std::int64_t count) {
    writeOffsets(source, a, as, count);
    writeOffsets(target, b, bs, count);
    if (lengths)
      writeOffsets(bytes, 0, lengths, count);
    else
      writeSteps(bytes, length, 0, count);
    advance(count);
  }

private:
  void advance(std::int64_t count) {
    source += count;
    target += count;
    bytes += count;
  }
};

/// Two arrays of rows: address, bytes, device.
struct RowSink {
  std::uint64_t *source, *target;
  std::uint64_t sourceDevice, targetDevice;

  void row(std::uint64_t a, std::uint64_t b, std::uint64_t length) {
    source[0] = a;
    source[1] = length;
    source[2] = sourceDevice;
    target[0] = b;
    target[1] = length;
    target[2] = targetDevice;
    source += 3;
    target += 3;
  }
  void steps(std::uint64_t a, std::uint64_t aStep, std::uint64_t b,
             std::uint64_t bStep, std::uint64_t length, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, a += aStep, b += bStep)
      row(a, b, length);
  }
  void offsets(std::uint64_t a, const std::int64_t *as, std::uint64_t b,
               const std::int64_t *bs, std::uint64_t length,
               const std::int64_t *lengths, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      row(a + static_cast<std::uint64_t>(as[i]),
          b + static_cast<std::uint64_t>(bs[i]),
          lengths ? static_cast<std::uint64_t>(lengths[i]) : length);
  }
};

} // namespace

template <typename Sink>
void Binding::fillList(const List &list, const Section &section,
                       std::int64_t from, std::int64_t count,
                       Sink &sink) const {
  if (list.isFlat) {
    sink.offsets(section.source, list.flatSource.data() + from, section.target,
                 list.flatTarget.data() + from,
                 static_cast<std::uint64_t>(list.equalBytes),
                 list.equalBytes ? nullptr : list.flatBytes.data() + from,
                 count);
    return;
  }
  std::size_t number = list.findRegion(from);
  std::int64_t inside = from - list.firsts[number];
  while (count > 0) {
    const Region &region = list.regions[number];
    std::int64_t row = inside / region.inner, column = inside % region.inner;
    std::int64_t here = std::min(count, region.inner - column);
    auto offset = [&](std::int64_t first, std::int64_t jump,
                      std::int64_t step) {
      return static_cast<std::uint64_t>(first + row * jump + column * step);
    };
    sink.steps(section.source +
                   offset(region.source, region.sourceJump, region.sourceStep),
               static_cast<std::uint64_t>(region.sourceStep),
               section.target +
                   offset(region.target, region.targetJump, region.targetStep),
               static_cast<std::uint64_t>(region.targetStep),
               static_cast<std::uint64_t>(region.bytes), here);
    count -= here;
    inside += here;
    if (inside == region.countBlocks()) {
      ++number;
      inside = 0;
    }
  }
}

template <typename Sink>
void Binding::fillRange(std::int64_t first, std::int64_t count,
                        Sink sink) const {
  if (first < 0 || count < 0 || count > descriptors - first)
    runtime::fail(LAYLINE_BAD_ARGUMENT, count, " descriptors from number ",
                  first, " on are asked for; there are ", descriptors);
  if (count == 0)
    return;
  std::size_t number = findSection(&Section::first, first);
  std::int64_t from = first - sections[number].first;
  while (count > 0) {
    const Section &section = sections[number++];
    const List &list = lists[section.list];
    std::int64_t here = std::min(count, list.descriptors - from);
    fillList(list, section, from, here, sink);
    count -= here;
    from = 0;
  }
}

void Binding::fill(std::int64_t first, std::int64_t count,
                   std::uint64_t *source, std::uint64_t *target,
                   std::uint64_t *lengths) const {
  fillRange(first, count, ArraySink{source, target, lengths});
}

void Binding::fillRows(std::int64_t first, std::int64_t count,
                       std::uint64_t sourceDevice, std::uint64_t targetDevice,
                       std::uint64_t *source, std::uint64_t *target) const {
  fillRange(first, count, RowSink{source, target, sourceDevice, targetDevice});
}

} // namespace layline::kv
