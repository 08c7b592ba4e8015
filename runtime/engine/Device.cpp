#include "engine/Device.h"

#include "plan/Error.h"

namespace layline::runtime {

void checkDevice(const std::string &name) {
  if (name == "cuda")
    checkCudaDevice();
  else if (name != "cpu")
    fail(LAYLINE_REFUSED_FEATURE, "device '", name,
         "' is unknown; 'cpu' or 'cuda' is expected");
}

std::unique_ptr<Device> makeDevice(const std::string &name, const Plan &plan,
                                   const DeviceOptions &options,
                                   Transport &transport) {
  checkDevice(name);
  if (name == "cuda")
    return makeCudaDevice(plan, options, transport);
  return makeCpuDevice(plan, options, transport);
}

} // namespace layline::runtime
