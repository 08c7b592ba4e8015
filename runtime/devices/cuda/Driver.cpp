#include "devices/cuda/Driver.h"

#include "devices/cuda/SharedLibrary.h"
#include "plan/Error.h"

#include <mutex>

namespace layline::runtime::cuda {
namespace {

const Driver *replacement = nullptr;

/// The symbol of cuGetProcAddress that takes a status since CUDA 12.0.
using GetProcAddress = Result (*)(const char *symbol, void **function,
                                  int version, std::uint64_t flags,
                                  int *status);

template <typename Pointer>
void resolve(GetProcAddress find, const char *library, const char *symbol,
             Pointer &member) {
  void *address = nullptr;
  int status = 0;
  Result result = find(symbol, &address, kDriverVersion, 0, &status);
  if (result != kSuccess || !address)
    fail(LAYLINE_REFUSED_FEATURE, "no CUDA device: the driver ", library,
         " has no '", symbol, "'; a driver of CUDA ", kDriverVersion / 1000,
         ".", kDriverVersion % 1000 / 10, " or later is expected");
  member = reinterpret_cast<Pointer>(address);
}

Driver initialised(Driver driver) {
  auto demand = [&](Result result, const char *call) {
    if (result == kSuccess)
      return;
    const char *name = nullptr, *text = nullptr;
    driver.errorName(result, &name);
    driver.errorString(result, &text);
    fail(LAYLINE_REFUSED_FEATURE, "no CUDA device: ", call, " says ",
         name ? name : "an unknown error", " (", text ? text : "no text", ")");
  };
  demand(driver.init(0), "cuInit");
  int version = 0, cards = 0;
  demand(driver.driverVersion(&version), "cuDriverGetVersion");
  if (version < kDriverVersion)
    fail(LAYLINE_REFUSED_FEATURE, "no CUDA device: the driver is of CUDA ",
         version / 1000, ".", version % 1000 / 10, "; ", kDriverVersion / 1000,
         ".", kDriverVersion % 1000 / 10, " or later is expected");
  demand(driver.deviceCount(&cards), "cuDeviceGetCount");
  if (cards == 0)
    fail(LAYLINE_REFUSED_FEATURE, "no CUDA device: the driver sees no card");
  return driver;
}

} // namespace

Driver openDriver(const char *library) {
  std::string error;
  void *handle = openLibrary(library, error);
  if (!handle)
    fail(LAYLINE_REFUSED_FEATURE, "no CUDA device: ", error);
  auto find = reinterpret_cast<GetProcAddress>(
      findSymbol(handle, "cuGetProcAddress_v2"));
  if (!find)
    fail(LAYLINE_REFUSED_FEATURE, "no CUDA device: ", library,
         " has no 'cuGetProcAddress_v2'; a driver of CUDA ",
         kDriverVersion / 1000, ".", kDriverVersion % 1000 / 10,
         " or later is expected");
  Driver result;
#define LAYLINE_RESOLVE(member, symbol, parameters)                            \
  resolve(find, library, symbol, result.member);
  LAYLINE_CUDA_DRIVER(LAYLINE_RESOLVE)
#undef LAYLINE_RESOLVE
  return result;
}

const Driver &systemDriver() {
  // A failed initialisation is tried again at the next call.
  static const Driver opened = initialised(openDriver("libcuda.so.1"));
  return opened;
}

const Driver &driver() { return replacement ? *replacement : systemDriver(); }

void replaceDriver(const Driver *driver) { replacement = driver; }

void check(Result result, const char *call, const std::string &what) {
  if (result == kSuccess)
    return;
  const char *name = nullptr, *text = nullptr;
  driver().errorName(result, &name);
  driver().errorString(result, &text);
  fail(result == kErrorOutOfMemory ? LAYLINE_OUT_OF_MEMORY
                                   : LAYLINE_RUN_FAILURE,
       what, ": ", call, " says ", name ? name : "an unknown error", " (",
       text ? text : "no text", ")");
}

} // namespace layline::runtime::cuda
