// Descriptors as arrays: the hot path.
#include "kv/Binding.h"

#include "kv/FillKernels.h"
#include "plan/Error.h"

#include <algorithm>

namespace layline::kv {

namespace {

/// Three arrays; `bytes` may be null.
struct ArraySink {
  const FillKernels &kernels;
  std::uint64_t *source, *target, *bytes;

  void add(const BlockRun &run) {
    kernels.writeSteps(source, run.source, run.sourceStep, run.count);
    kernels.writeSteps(target, run.target, run.targetStep, run.count);
    if (bytes)
      kernels.writeSteps(bytes, run.bytes, 0, run.count);
    advance(run.count);
  }
  /// At offsets from `from`; `lengths` may be null if all are `from.bytes`.
  void addOffsets(const BlockRun &from, const std::int64_t *sources,
                  const std::int64_t *targets, const std::int64_t *lengths) {
    kernels.writeOffsets(source, from.source, sources, from.count);
    kernels.writeOffsets(target, from.target, targets, from.count);
    if (bytes && lengths)
      kernels.writeOffsets(bytes, 0, lengths, from.count);
    else if (bytes)
      kernels.writeSteps(bytes, from.bytes, 0, from.count);
    advance(from.count);
  }

private:
  void advance(std::int64_t count) {
    source += count;
    target += count;
    if (bytes)
      bytes += count;
  }
};

/// Two arrays of rows: address, bytes, device.
struct RowSink {
  std::uint64_t *source, *target;
  std::uint64_t sourceDevice, targetDevice;

  void addRow(std::uint64_t a, std::uint64_t b, std::uint64_t length) {
    source[0] = a;
    source[1] = length;
    source[2] = sourceDevice;
    target[0] = b;
    target[1] = length;
    target[2] = targetDevice;
    source += 3;
    target += 3;
  }
  void add(const BlockRun &run) {
    for (std::int64_t i = 0; i < run.count; ++i)
      addRow(run.getSource(i), run.getTarget(i), run.bytes);
  }
  void addOffsets(const BlockRun &from, const std::int64_t *sources,
                  const std::int64_t *targets, const std::int64_t *lengths) {
    for (std::int64_t i = 0; i < from.count; ++i)
      addRow(from.source + static_cast<std::uint64_t>(sources[i]),
             from.target + static_cast<std::uint64_t>(targets[i]),
             lengths ? static_cast<std::uint64_t>(lengths[i]) : from.bytes);
  }
};

} // namespace

template <typename Sink>
void Binding::fillRange(std::int64_t first, std::int64_t count,
                        Sink sink) const {
  if (first < 0 || count < 0 || count > descriptors - first)
    runtime::fail(LAYLINE_BAD_ARGUMENT, count, " descriptors from number ",
                  first, " on are asked for; there are ", descriptors);
  if (count > 0)
    fillFrom(findSection(&Section::first, first), first, count, sink);
}

template <typename Sink>
void Binding::fillFrom(std::size_t number, std::int64_t first,
                       std::int64_t count, Sink sink) const {
  std::int64_t from = first - sections[number].first;
  for (; from >= lists[sections[number].list].descriptors; ++number)
    from -= lists[sections[number].list].descriptors;
  for (; count > 0; ++number, from = 0) {
    const Section &section = sections[number];
    const List &list = lists[section.list];
    std::int64_t here = std::min(count, list.descriptors - from);
    if (list.isFlat) {
      BlockRun run;
      run.source = section.source;
      run.target = section.target;
      run.bytes = static_cast<std::uint64_t>(list.equalBytes);
      run.count = here;
      sink.addOffsets(run, list.flatSource.data() + from,
                      list.flatTarget.data() + from,
                      list.equalBytes ? nullptr : list.flatBytes.data() + from);
    } else {
      forEachRun(list, section, from, here,
                 [&](const BlockRun &run) { sink.add(run); });
    }
    count -= here;
  }
}

void Binding::fill(std::int64_t first, std::int64_t count,
                   std::uint64_t *source, std::uint64_t *target,
                   std::uint64_t *bytes) const {
  const FillKernels &kernels = getFillKernels((bytes ? 24 : 16) * count);
  fillRange(first, count, ArraySink{kernels, source, target, bytes});
  kernels.finish();
}

void Binding::fill(const Batch &batch, std::int64_t from, std::int64_t count,
                   std::uint64_t *source, std::uint64_t *target,
                   std::uint64_t *bytes) const {
  const FillKernels &kernels = getFillKernels((bytes ? 24 : 16) * count);
  if (count > 0)
    fillFrom(batch.section, batch.first + from, count,
             ArraySink{kernels, source, target, bytes});
  kernels.finish();
}

void Binding::fillRows(std::int64_t first, std::int64_t count,
                       std::uint64_t sourceDevice, std::uint64_t targetDevice,
                       std::uint64_t *source, std::uint64_t *target) const {
  fillRange(first, count, RowSink{source, target, sourceDevice, targetDevice});
}

} // namespace layline::kv
