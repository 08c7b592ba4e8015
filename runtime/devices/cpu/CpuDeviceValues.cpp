// What goes into a device and comes out of it: rows of caches, outputs, taps.
#include "devices/cpu/CpuDevice.h"

#include "devices/cpu/Rounding.h"
#include "transports/Assemble.h"

#include <algorithm>
#include <type_traits>

namespace layline::runtime {

template <typename T> void CpuDevice<T>::useCacheHooks(int index) {
  auto cache = static_cast<std::size_t>(index);
  for (RankContext<T> &rank : ranks_)
    rank.caches[cache].use(hooks_.isHooked(cache) ? &hooks_.caches[cache]
                                                  : nullptr);
}

template <typename T>
void CpuDevice<T>::bindCache(int index, const GlobalValue &rows) {
  const Cache &cache = plan_.caches[index];
  for (RankContext<T> &rank : ranks_) {
    CacheStore &store = rank.caches[index];
    Region region =
        regionOf(plan_, rows.shape, cache.layout, rank.environment());
    // What the rank holds of them, one row behind another.
    auto writeAs = [&](const auto &global, auto element) {
      std::vector<decltype(element)> held(
          static_cast<std::size_t>(elements(shapeOf(region))));
      forEachRun(rows.shape, region,
                 [&](std::int64_t to, std::int64_t from, std::int64_t count) {
                   for (std::int64_t i = 0; i < count; ++i)
                     held[to + i] =
                         static_cast<decltype(element)>(global[from + i]);
                 });
      if constexpr (std::is_same_v<decltype(element), T>)
        if (isRounded(options_.precision, cache.dtype))
          roundToBF16(held.data(), static_cast<std::int64_t>(held.size()));
      store.locate(rows.shape[0]);
      store.resize(rows.shape[0]);
      store.write(0, rows.shape[0], held.data());
    };
    if (rows.isInteger)
      writeAs(rows.integers, std::int64_t());
    else
      writeAs(rows.floats, T());
  }
}

template <typename T>
void CpuDevice<T>::truncateCache(int index, std::int64_t rows) {
  for (RankContext<T> &rank : ranks_)
    rank.caches[index].resize(rows);
}

template <typename T> GlobalValue CpuDevice<T>::readCache(int index) {
  const Cache &cache = plan_.caches[index];
  ShapeExpr shape = cacheShape(cache);
  std::int64_t rows = cacheRows(index);
  // Ranges over rows need tokens; of a cache only other dimensions are split.
  auto read = [&](auto element) {
    using Element = decltype(element);
    std::vector<std::vector<Element>> held(ranks_.size());
    return assembled(shape, cache.layout, 0, rows, "cache " + cache.id,
                     LocalData<Element>([&](std::int64_t local) {
                       CacheStore &store = ranks_[local].caches[index];
                       store.locate(rows);
                       return store.dense(held[local]);
                     }));
  };
  return isInteger(cache.dtype) ? read(std::int64_t()) : read(T());
}

template <typename T>
template <typename Element>
GlobalValue CpuDevice<T>::assembled(const ShapeExpr &shape,
                                    const Layout &layout, std::int64_t tokens,
                                    std::int64_t past, const std::string &what,
                                    const LocalData<Element> &data) const {
  if (transport_.world())
    return assembleAcross(plan_, shape, layout, tokens, past, transport_, what,
                          data);
  return assemble(plan_, shape, layout, tokens, past, data);
}

template <typename T>
GlobalValue CpuDevice<T>::readBuffer(int index,
                                     const std::optional<Part> &rows) const {
  const Buffer &buffer = state_.variant->buffers[index];
  std::int64_t offset = buffer.offset * state_.arenaScale[buffer.arena];
  BufferRead part = readOf(buffer, rows, state_.tokens, state_.past);
  auto read = [&](auto element) {
    using Element = decltype(element);
    return assembled(part.shape, buffer.layout, state_.tokens, state_.past,
                     part.name, LocalData<Element>([&](std::int64_t local) {
                       return reinterpret_cast<const Element *>(
                                  ranks_[local].arenas[buffer.arena].data() +
                                  offset) +
                              part.skipped;
                     }));
  };
  GlobalValue value =
      isInteger(buffer.dtype) ? read(std::int64_t()) : read(T());
  if (rows && !part.isPart)
    keepRows(value, *rows);
  return value;
}

template <typename T>
GlobalValue CpuDevice<T>::readTap(std::size_t index) const {
  const Tap &tap = taps_.all()[index];
  const Operand &operand = tap.operand;
  const TapValues<T> &values = tapValues_[index];
  auto read = [&](const auto &data) {
    return assembled(operand.shape, operand.layout, state_.tokens, state_.past,
                     "tap " + tap.name, data);
  };
  if (isInteger(operand.dtype))
    return read(LocalData<std::int64_t>(
        [&](std::int64_t local) { return values.integers[local].data(); }));
  return read(LocalData<T>(
      [&](std::int64_t local) { return values.floats[local].data(); }));
}

template <typename T> void CpuDevice<T>::listTaps(const Variant &variant) {
  taps_.clear();
  if (options_.taps)
    taps_.list(variant, [&](const Step &step, const Operand &operand) {
      return !launcher_ || launcher_->keeps(step, operand);
    });
  tapValues_.assign(taps_.all().size(), {});
  for (TapValues<T> &values : tapValues_) {
    values.floats.resize(ranks_.size());
    values.integers.resize(ranks_.size());
  }
}

template <typename T>
void CpuDevice<T>::keepTaps(RankContext<T> &rank, const Step &step) {
  auto local = static_cast<std::size_t>(&rank - ranks_.data());
  taps_.forEach(step, [&](std::size_t tap, const Operand &operand) {
    TapValues<T> &values = tapValues_[tap];
    if (isInteger(operand.dtype)) {
      auto tensor = rank.integers(operand);
      values.integers[local].assign(tensor.data, tensor.data + tensor.count());
      return;
    }
    auto tensor = rank.floats(operand);
    std::vector<T> &kept = values.floats[local];
    kept.assign(tensor.data, tensor.data + tensor.count());
    // Inside a fused step the value is not rounded yet; a register never is.
    if (isRounded(options_.precision, operand.dtype) &&
        state_.variant->buffers[operand.index].kind != Buffer::Class::Register)
      roundToBF16(kept.data(), tensor.count());
  });
}

#define LAYLINE_INSTANTIATE_VALUES(T)                                          \
  template void CpuDevice<T>::useCacheHooks(int);                              \
  template void CpuDevice<T>::bindCache(int, const GlobalValue &);             \
  template void CpuDevice<T>::truncateCache(int, std::int64_t);                \
  template GlobalValue CpuDevice<T>::readCache(int);                           \
  template GlobalValue CpuDevice<T>::readBuffer(                               \
      int, const std::optional<Part> &) const;                                 \
  template GlobalValue CpuDevice<T>::readTap(std::size_t) const;               \
  template void CpuDevice<T>::listTaps(const Variant &);                       \
  template void CpuDevice<T>::keepTaps(RankContext<T> &, const Step &);
LAYLINE_INSTANTIATE_VALUES(float)
LAYLINE_INSTANTIATE_VALUES(double)

} // namespace layline::runtime
