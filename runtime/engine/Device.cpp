#include "engine/Device.h"

#include "plan/Error.h"

namespace layline::runtime {

std::unique_ptr<Device> makeDevice(const std::string &name, const Plan &plan,
                                   const DeviceOptions &options) {
  if (name == "cpu")
    return makeCpuDevice(plan, options);
  fail(LAYLINE_REFUSED_FEATURE, "device '", name,
       "' is unknown; 'cpu' is expected");
}

} // namespace layline::runtime
