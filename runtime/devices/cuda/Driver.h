// The CUDA driver as a table of function pointers. libcuda.so.1 is opened when
// a cuda device is asked for and is no dependency of the build or of the
// binary; tests put a driver of their own in its place.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_DRIVER_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_DRIVER_H

#include "devices/cuda/DriverTypes.h"

#include <string>

namespace layline::runtime::cuda {

/// Every function: X(member, symbol, parameters).
#define LAYLINE_CUDA_DRIVER(X)                                                 \
  X(init, "cuInit", (unsigned flags))                                          \
  X(driverVersion, "cuDriverGetVersion", (int *version))                       \
  X(errorName, "cuGetErrorName", (Result result, const char **name))           \
  X(errorString, "cuGetErrorString", (Result result, const char **text))       \
  X(deviceCount, "cuDeviceGetCount", (int *count))                             \
  X(deviceGet, "cuDeviceGet", (Ordinal * device, int number))                  \
  X(deviceName, "cuDeviceGetName", (char *name, int bytes, Ordinal device))    \
  X(deviceUuid, "cuDeviceGetUuid", (CardUuid * uuid, Ordinal device))          \
  X(deviceAttribute, "cuDeviceGetAttribute",                                   \
    (int *value, DeviceAttribute attribute, Ordinal device))                   \
  X(deviceCanAccessPeer, "cuDeviceCanAccessPeer",                              \
    (int *can, Ordinal device, Ordinal peer))                                  \
  X(contextRetain, "cuDevicePrimaryCtxRetain",                                 \
    (Context * context, Ordinal device))                                       \
  X(contextRelease, "cuDevicePrimaryCtxRelease", (Ordinal device))             \
  X(contextSetCurrent, "cuCtxSetCurrent", (Context context))                   \
  X(moduleLoadData, "cuModuleLoadData", (Module * module, const void *image))  \
  X(moduleUnload, "cuModuleUnload", (Module module))                           \
  X(moduleFunction, "cuModuleGetFunction",                                     \
    (KernelFunction * function, Module module, const char *name))              \
  X(functionAttribute, "cuFuncGetAttribute",                                   \
    (int *value, FunctionAttribute attribute, KernelFunction function))        \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                  \
    (int *blocks, KernelFunction function, int threads,                        \
     std::size_t sharedBytes))                                                 \
  X(launch, "cuLaunchKernelEx",                                                \
    (const LaunchConfiguration *configuration, KernelFunction function,        \
     void **parameters, void **extra))                                         \
  X(memAlloc, "cuMemAlloc", (Address * address, std::size_t bytes))            \
  X(memFree, "cuMemFree", (Address address))                                   \
  X(pointerAttribute, "cuPointerGetAttribute",                                 \
    (void *value, PointerAttribute attribute, Address address))                \
  X(hostAlloc, "cuMemHostAlloc",                                               \
    (void **memory, std::size_t bytes, unsigned flags))                        \
  X(hostFree, "cuMemFreeHost", (void *memory))                                 \
  X(copyToDevice, "cuMemcpyHtoDAsync",                                         \
    (Address to, const void *from, std::size_t bytes, Stream stream))          \
  X(copyToHost, "cuMemcpyDtoHAsync",                                           \
    (void *to, Address from, std::size_t bytes, Stream stream))                \
  X(copyOnDevice, "cuMemcpyDtoDAsync",                                         \
    (Address to, Address from, std::size_t bytes, Stream stream))              \
  X(setBytes, "cuMemsetD8Async",                                               \
    (Address to, unsigned char value, std::size_t count, Stream stream))       \
  X(setWords, "cuMemsetD32Async",                                              \
    (Address to, unsigned value, std::size_t count, Stream stream))            \
  X(granularity, "cuMemGetAllocationGranularity",                              \
    (std::size_t * bytes, const AllocationProperties *properties, int option)) \
  X(memCreate, "cuMemCreate",                                                  \
    (Allocation * allocation, std::size_t bytes,                               \
     const AllocationProperties *properties, unsigned long long flags))        \
  X(memRelease, "cuMemRelease", (Allocation allocation))                       \
  X(addressReserve, "cuMemAddressReserve",                                     \
    (Address * address, std::size_t bytes, std::size_t alignment,              \
     Address wanted, unsigned long long flags))                                \
  X(addressFree, "cuMemAddressFree", (Address address, std::size_t bytes))     \
  X(memMap, "cuMemMap",                                                        \
    (Address address, std::size_t bytes, std::size_t offset,                   \
     Allocation allocation, unsigned long long flags))                         \
  X(memUnmap, "cuMemUnmap", (Address address, std::size_t bytes))              \
  X(memSetAccess, "cuMemSetAccess",                                            \
    (Address address, std::size_t bytes, const AccessDescription *access,      \
     std::size_t count))                                                       \
  X(memExport, "cuMemExportToShareableHandle",                                 \
    (void *handle, Allocation allocation, int type, unsigned long long flags)) \
  X(memImport, "cuMemImportFromShareableHandle",                               \
    (Allocation * allocation, void *handle, int type))                         \
  X(multicastGranularity, "cuMulticastGetGranularity",                         \
    (std::size_t * bytes, const MulticastProperties *properties, int option))  \
  X(multicastCreate, "cuMulticastCreate",                                      \
    (Allocation * multicast, const MulticastProperties *properties))           \
  X(multicastAddDevice, "cuMulticastAddDevice",                                \
    (Allocation multicast, Ordinal device))                                    \
  X(multicastBind, "cuMulticastBindMem",                                       \
    (Allocation multicast, std::size_t offset, Allocation memory,              \
     std::size_t memoryOffset, std::size_t bytes, unsigned long long flags))   \
  X(multicastUnbind, "cuMulticastUnbind",                                      \
    (Allocation multicast, Ordinal device, std::size_t offset,                 \
     std::size_t bytes))                                                       \
  X(streamCreate, "cuStreamCreate", (Stream * stream, unsigned flags))         \
  X(streamDestroy, "cuStreamDestroy", (Stream stream))                         \
  X(streamSynchronize, "cuStreamSynchronize", (Stream stream))                 \
  X(streamWaitEvent, "cuStreamWaitEvent",                                      \
    (Stream stream, Event event, unsigned flags))                              \
  X(streamBeginCapture, "cuStreamBeginCapture", (Stream stream, int mode))     \
  X(streamEndCapture, "cuStreamEndCapture", (Stream stream, Graph * graph))    \
  X(eventCreate, "cuEventCreate", (Event * event, unsigned flags))             \
  X(eventDestroy, "cuEventDestroy", (Event event))                             \
  X(eventRecord, "cuEventRecord", (Event event, Stream stream))                \
  X(eventSynchronize, "cuEventSynchronize", (Event event))                     \
  X(eventQuery, "cuEventQuery", (Event event))                                 \
  X(eventElapsed, "cuEventElapsedTime",                                        \
    (float *milliseconds, Event start, Event end))                             \
  X(graphInstantiate, "cuGraphInstantiate",                                    \
    (GraphExec * exec, Graph graph, unsigned long long flags))                 \
  X(graphLaunch, "cuGraphLaunch", (GraphExec exec, Stream stream))             \
  X(graphExecDestroy, "cuGraphExecDestroy", (GraphExec exec))                  \
  X(graphDestroy, "cuGraphDestroy", (Graph graph))

/// The version that cuGetProcAddress is asked for: it chooses each function's
/// form. 12.8 is the first that knows Blackwell.
inline constexpr int kDriverVersion = 12080;

struct Driver {
#define LAYLINE_MEMBER(member, symbol, parameters)                             \
  Result(*member) parameters = nullptr;
  LAYLINE_CUDA_DRIVER(LAYLINE_MEMBER)
#undef LAYLINE_MEMBER
};

/// The driver of this machine, opened and initialised at the first call. Throws
/// Error (LAYLINE_REFUSED_FEATURE, "no CUDA device: ...") where there is none,
/// where it is too old, or where it sees no card.
const Driver &systemDriver();

/// The table from any library of this name; its own function so that what a
/// library lacks can be tested. Throws as systemDriver().
Driver openDriver(const char *library);

/// What device 'cuda' and its parts use: systemDriver(), or what a test put in
/// its place.
const Driver &driver();
/// Null: systemDriver() again. For tests; not while a device lives.
void replaceDriver(const Driver *driver);

/// Throws Error if `result` is not success: LAYLINE_OUT_OF_MEMORY or
/// LAYLINE_RUN_FAILURE; `call` is the driver's function, `what` says for what.
void check(Result result, const char *call, const std::string &what);

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_DRIVER_H
