// One rank's view of a run: where its operands lie and how large they are.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_RANKCONTEXT_H
#define LAYLINE_RUNTIME_DEVICES_CPU_RANKCONTEXT_H

#include "devices/cpu/CacheStore.h"
#include "engine/AlignedBytes.h"
#include "engine/GlobalValue.h"
#include "engine/Hooks.h"
#include "engine/RunShape.h"
#include "plan/Error.h"
#include "plan/Plan.h"
#include "transports/Communicator.h"

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace layline::runtime {

template <typename Element> struct Tensor {
  Element *data = nullptr;
  Shape shape; ///< local

  std::int64_t dim(std::size_t i) const { return shape[i]; }
  std::int64_t last() const { return shape.back(); }
  std::int64_t count() const { return elements(shape); }
  /// Number of rows of the last dimension.
  std::int64_t rows() const {
    std::int64_t result = 1;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i)
      result *= shape[i];
    return result;
  }
};

/// What all ranks share during a run.
struct RunState : RunShape {
  const Hooks *hooks = nullptr;
  layline_precision precision = LAYLINE_PRECISION_F32;
};

/// Memory of kernels that stays from step to step, so that none is asked for in
/// each.
template <typename T> struct Scratch {
  std::vector<T> keys, values, scores; ///< of attention
  std::vector<std::int64_t> keyPositions;
  std::vector<std::int32_t> keyHeads, valueHeads;
  std::vector<T> rows; ///< of cache_append
};

template <typename T> struct RankContext {
  const RunState *run = nullptr;
  std::int64_t rank = 0;
  std::vector<std::int64_t> coordinates;
  std::vector<Part> parts; ///< by range, for this run's tokens
  std::vector<AlignedBytes> arenas;
  /// Local values of the input buffers, by buffer.
  std::vector<std::vector<std::int64_t>> inputs;
  /// Shared between ranks that hold the same slice.
  std::vector<std::shared_ptr<const AlignedBytes>> weights;
  std::vector<CacheStore> caches;
  Scratch<T> scratch;
  /// By group: the instance that this rank is in.
  std::vector<Communicator *> communicators;

  Environment environment() const {
    return {run->tokens, run->past, coordinates.data(), parts.data()};
  }

  /// Where a buffer's local value lies; checks that it fits.
  template <typename Element> Element *address(int index) {
    const Buffer &buffer = run->variant->buffers[index];
    if (buffer.kind == Buffer::Class::Input) {
      if constexpr (std::is_same_v<Element, std::int64_t>)
        return inputs[index].data();
      fail(LAYLINE_INTERNAL, "input buffer '", buffer.id, "' read as numbers");
    }
    std::int64_t scale = run->arenaScale[buffer.arena];
    std::int64_t count =
        elements(localShape(buffer.shape, buffer.layout, environment()));
    if (count * static_cast<std::int64_t>(sizeof(Element)) >
        buffer.bytes * scale)
      fail(LAYLINE_RUN_FAILURE, "buffer '", buffer.id, "' holds ", count,
           " elements for ", run->tokens, " tokens, more than its ",
           buffer.bytes, " bytes of ", dtypeName(buffer.dtype));
    return reinterpret_cast<Element *>(arenas[buffer.arena].data() +
                                       buffer.offset * scale);
  }

  template <typename Element> Tensor<Element> tensor(const Operand &operand) {
    return {address<Element>(operand.index),
            localShape(operand.shape, operand.layout, environment())};
  }
  Tensor<T> floats(const Operand &operand) { return tensor<T>(operand); }
  Tensor<std::int64_t> integers(const Operand &operand) {
    return tensor<std::int64_t>(operand);
  }
  Tensor<const T> weight(const Operand &operand) const {
    return {reinterpret_cast<const T *>(weights[operand.index]->data()),
            localShape(operand.shape, operand.layout, environment())};
  }
  CacheStore &cache(const Operand &operand) { return caches[operand.index]; }

  /// Global index of the first item of this rank's part of a dimension, for
  /// kernels whose contract asks for one run.
  std::int64_t begin(const Operand &operand, std::size_t dim) const {
    const DimLayout &layout = operand.layout.dims[dim];
    if (!layout.isSplit())
      return 0;
    if (const Range &range = run->plan->ranges[layout.range];
        !range.isContiguous())
      fail(LAYLINE_INTERNAL, "range '", range.id, "' has no begin");
    return parts[layout.range].begin * layout.unit;
  }

  /// What a rope rotates by: a table may have other numbers for long sequences.
  const RopeNumbers &ropeNumbers(const Step &step) const {
    const Table &table = run->plan->tables[step.arg("table").index];
    if (!table.longNumbers)
      return table.numbers;
    int source = run->inputOfBuffer[step.arg("positions").index];
    return run->largestOfInput[source] >= table.longAbove ? *table.longNumbers
                                                          : table.numbers;
  }

  /// What this rank has of the dimension that the range of `dim` deals out, in
  /// elements.
  Items own(const DimLayout &dim) const {
    return scaled(run->plan->ownItems(dim.range, environment()), dim.unit);
  }
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_RANKCONTEXT_H
