#include "engine/Device.h"

#include "plan/Error.h"

#include <map>
#include <mutex>

namespace layline::runtime {
namespace {

/// Engines of several threads look devices up.
struct Registry {
  std::mutex mutex;
  std::map<std::string, DeviceFactory> factories = {{"cpu", makeCpuDevice},
                                                    {"cuda", makeCudaDevice}};
};

Registry &registry() {
  static Registry instance;
  return instance;
}

DeviceFactory findDevice(const std::string &name) {
  Registry &known = registry();
  std::lock_guard<std::mutex> lock(known.mutex);
  if (auto found = known.factories.find(name); found != known.factories.end())
    return found->second;
  std::string names;
  for (const auto &entry : known.factories)
    names += (names.empty() ? "'" : " or '") + entry.first + "'";
  fail(LAYLINE_REFUSED_FEATURE, "device '", name, "' is unknown; ", names,
       " is expected");
}

} // namespace

void addDevice(const std::string &name, DeviceFactory factory) {
  Registry &known = registry();
  std::lock_guard<std::mutex> lock(known.mutex);
  known.factories[name] = factory;
}

void checkDevice(const std::string &name) {
  if (findDevice(name) == makeCudaDevice)
    checkCudaDevice();
}

std::unique_ptr<Device> makeDevice(const std::string &name, const Plan &plan,
                                   const DeviceOptions &options,
                                   Transport &transport) {
  checkDevice(name);
  return findDevice(name)(plan, options, transport);
}

} // namespace layline::runtime
