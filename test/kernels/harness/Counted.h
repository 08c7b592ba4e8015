// What the emulator counted, in the terms of the kernels' formulas.
#ifndef LAYLINE_TEST_KERNELS_HARNESS_COUNTED_H
#define LAYLINE_TEST_KERNELS_HARNESS_COUNTED_H

#include "devices/simt/Machine.h"
#include "kernels/Traffic.h"

#include <string>

namespace layline::kernels::test {

/// Of all launches that were counted.
inline Traffic countedOf(const simt::Counters &counters) {
  auto number = [](std::uint64_t count) {
    return static_cast<std::int64_t>(count);
  };
  Traffic traffic;
  traffic.localRead = number(counters.localReadBytes);
  traffic.localWrite = number(counters.localWriteBytes);
  traffic.peerRead = number(counters.peerReadBytes);
  traffic.peerWrite = number(counters.peerWriteBytes);
  traffic.multicastRead = number(counters.multicastReadBytes);
  traffic.multicastWrite = number(counters.multicastWriteBytes);
  traffic.localFlags = number(counters.localFlagWrites);
  traffic.peerFlags = number(counters.peerFlagWrites);
  return traffic;
}

/// Where what was counted is not what a formula states, or nothing.
inline std::string miscounted(const simt::Counters &counters,
                              const Traffic &stated, int launches) {
  if (counters.launches != static_cast<std::uint64_t>(launches))
    return std::to_string(counters.launches) + " launches, expected " +
           std::to_string(launches);
  Traffic counted = countedOf(counters);
  struct {
    const char *name;
    std::int64_t Traffic::*of;
  } const kinds[] = {{"local bytes read", &Traffic::localRead},
                     {"local bytes written", &Traffic::localWrite},
                     {"peers' bytes read", &Traffic::peerRead},
                     {"peers' bytes written", &Traffic::peerWrite},
                     {"bytes read by the switch", &Traffic::multicastRead},
                     {"bytes written by the switch", &Traffic::multicastWrite},
                     {"local flags", &Traffic::localFlags},
                     {"peers' flags", &Traffic::peerFlags}};
  for (const auto &kind : kinds)
    if (counted.*kind.of != stated.*kind.of)
      return std::string(kind.name) + ": " + std::to_string(counted.*kind.of) +
             " counted, " + std::to_string(stated.*kind.of) + " stated";
  return {};
}

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_HARNESS_COUNTED_H
