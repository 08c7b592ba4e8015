// What lies in a member's device memory for one launch, and the host's copies
// of it.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_DEVICEMEMORY_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_DEVICEMEMORY_H

#include "devices/simt/Machine.h"
#include "engine/AlignedBytes.h"
#include "kernels/Params.h"

#include <cstdint>
#include <vector>

namespace layline::runtime {

/// What elements are in device memory. The host has floats of the first four
/// and 64-bit integers of the others.
enum class Stored : std::uint8_t { F32, BF16, E4M3, E5M2, I32, I64 };
std::int64_t bytesOf(Stored type);
Stored storedAs(kernels::DType type);

class DeviceMemory {
public:
  DeviceMemory(simt::Machine &machine, int member)
      : machine_(&machine), member_(member) {}

  /// Room of exactly so many elements, so that an access behind them is in no
  /// buffer, filled with 0xff: a NaN in every format. `isShared`: peers access
  /// it too. Lives until drop().
  void *make(const char *name, std::int64_t count, Stored type,
             bool isShared = false);
  /// The same, and what the host has in it.
  void *put(const char *name, const float *from, std::int64_t count,
            Stored type, bool isShared = false);
  void *put(const char *name, const std::int64_t *from, std::int64_t count,
            Stored type, bool isShared = false);
  /// Bytes as they are.
  void *putBytes(const char *name, const void *from, std::int64_t bytes);
  /// Memory that is not ours, as it lies.
  void expose(const char *name, void *memory, std::int64_t bytes);
  void drop();

  int member() const { return member_; }

private:
  void *place(const char *name, std::int64_t bytes, bool isShared);

  simt::Machine *machine_;
  int member_;
  std::vector<AlignedBytes> rooms_; ///< are used again by later launches
  std::size_t used_ = 0;
  std::vector<void *> registered_;
};

/// Elements of device memory as the host has them.
void fetch(const void *from, Stored type, std::int64_t first,
           std::int64_t count, float *to);
void fetch(const void *from, Stored type, std::int64_t first,
           std::int64_t count, std::int64_t *to);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_DEVICEMEMORY_H
