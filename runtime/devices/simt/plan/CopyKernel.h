// What an engine's kernels do before and after a launch, on its stream: write
// its rows, read its results. Between them the emulator sees what a kernel
// leaves unordered.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_COPYKERNEL_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_COPYKERNEL_H

#include "kernels/platform/Platform.h"

#include <cstdint>

namespace layline::runtime {

/// A dependent of the launch before it; both begin at multiples of 16, `bytes`
/// is a multiple of 4.
inline void copyKernel(const void *from, void *to, std::int64_t bytes) {
  using namespace device;
  griddep_wait();
  griddep_launch_dependents();
  const auto *source = static_cast<const Vec16 *>(from);
  auto *target = static_cast<Vec16 *>(to);
  std::int64_t step = std::int64_t(gridDim.x) * blockDim.x,
               first = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < bytes / 16; i += step)
    st_v4(target + i, ld_v4(source + i));
  const auto *words = static_cast<const std::uint32_t *>(from);
  for (std::int64_t i = bytes / 16 * 4 + first; i < bytes / 4; i += step)
    st(static_cast<std::uint32_t *>(to) + i, ld(words + i));
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_COPYKERNEL_H
