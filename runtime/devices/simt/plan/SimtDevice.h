// The plan device "simt": collectives and row-wise steps run as the kernels of
// runtime/kernels on emulated ranks, one machine for each group; what is the
// engine's own (products, attention, experts) runs on the cpu. All ranks are in
// this process.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_SIMTDEVICE_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_SIMTDEVICE_H

#include "devices/simt/Machine.h"
#include "engine/Device.h"
#include "kernels/Catalogue.h"

#include <functional>
#include <string>

namespace layline::runtime {

struct SimtOptions {
  simt::Options machine;
  /// Blocks that are left to others on a rank.
  std::int64_t residencyMargin = 0;
  /// Finds a kernel, as kernels::findKernel does: tests put another one in a
  /// kernel's place.
  std::function<const kernels::Kernel *(const kernels::Variant &,
                                        std::string &error)>
      find = kernels::findKernel;
};

/// "weak,seed=3": modes of the emulator (docs/kernels.md), plain if none is
/// named, and a seed. Throws Error.
SimtOptions parseSimtOptions(const std::string &text);

/// Throws Error for a precision that no kernel has and for ranks of other
/// processes.
std::unique_ptr<Device> makeSimtDevice(const Plan &plan,
                                       const DeviceOptions &options,
                                       Transport &transport,
                                       const SimtOptions &simt);

/// Makes "simt" known to engines of this process that are made from now on.
void enableSimtDevice(const SimtOptions &options);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_SIMTDEVICE_H
