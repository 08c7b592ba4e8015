#include "engine/Device.h"

#include "plan/Error.h"

namespace layline::runtime {

void checkDevice(const std::string &name) {
  if (name != "cpu")
    fail(LAYLINE_REFUSED_FEATURE, "device '", name,
         "' is unknown; 'cpu' is expected");
}

std::unique_ptr<Device> makeDevice(const std::string &name, const Plan &plan,
                                   const DeviceOptions &options,
                                   Transport &transport) {
  checkDevice(name);
  return makeCpuDevice(plan, options, transport);
}

} // namespace layline::runtime
