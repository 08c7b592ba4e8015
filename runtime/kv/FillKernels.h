// Arrays of addresses written as fast as memory takes them.
#ifndef LAYLINE_RUNTIME_KV_FILLKERNELS_H
#define LAYLINE_RUNTIME_KV_FILLKERNELS_H

#include <cstdint>

namespace layline::kv {

struct FillKernels {
  /// out[i] = first + i * step.
  void (*writeSteps)(std::uint64_t *out, std::uint64_t first,
                     std::uint64_t step, std::int64_t count);
  /// out[i] = base + offsets[i].
  void (*writeOffsets)(std::uint64_t *out, std::uint64_t base,
                       const std::int64_t *offsets, std::int64_t count);
  /// After the last of them: other threads see what was written.
  void (*finish)();
};

/// The best ones of this processor for arrays of so many bytes in all.
const FillKernels &getFillKernels(std::int64_t bytes);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_FILLKERNELS_H
