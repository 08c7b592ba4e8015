// The part of the CUDA driver's interface that the device uses, declared here
// so that it is compiled and tested on machines without a CUDA toolkit. Names,
// values and layouts are those of cuda.h of CUDA 13.0 (the driver keeps them
// for every later version); the test DriverTypesTest compares them with cuda.h
// where one is there.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_DRIVERTYPES_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_DRIVERTYPES_H

#include <cstddef>
#include <cstdint>

namespace layline::runtime::cuda {

using Result = int;               ///< CUresult
using Ordinal = int;              ///< CUdevice
using Address = std::uint64_t;    ///< CUdeviceptr
using Allocation = std::uint64_t; ///< CUmemGenericAllocationHandle

using Context = struct ContextObject *;         ///< CUcontext
using Module = struct ModuleObject *;           ///< CUmodule
using KernelFunction = struct FunctionObject *; ///< CUfunction
using Stream = struct StreamObject *;           ///< CUstream
using Event = struct EventObject *;             ///< CUevent
using Graph = struct GraphObject *;             ///< CUgraph
using GraphExec = struct GraphExecObject *;     ///< CUgraphExec

/// CUuuid: of a card, the same in every process and on no other machine.
struct CardUuid {
  unsigned char bytes[16];
};

// CUresult
inline constexpr Result kSuccess = 0;
inline constexpr Result kErrorInvalidValue = 1;
inline constexpr Result kErrorOutOfMemory = 2;
inline constexpr Result kErrorNoDevice = 100;
inline constexpr Result kErrorNoBinaryForDevice = 209;
inline constexpr Result kErrorNotReady = 600;
inline constexpr Result kErrorNotSupported = 801;

// CUdevice_attribute
enum class DeviceAttribute : int {
  ClockRate = 13, ///< kHz
  MultiprocessorCount = 16,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  CooperativeLaunch = 95,
  VirtualMemoryManagement = 102,
  PosixFileDescriptorHandles = 103,
  MemSyncDomainCount = 126,
  MulticastSupported = 132
};

// CUfunction_attribute
enum class PointerAttribute : int { DeviceOrdinal = 9 };

enum class FunctionAttribute : int { LocalBytes = 3, Registers = 4 };

// CUmemAllocationHandleType
inline constexpr int kHandleNone = 0;
inline constexpr int kHandlePosixFileDescriptor = 1;
// CUmemLocationType, CUmemAllocationType, CUmemAccess_flags
inline constexpr int kLocationDevice = 1;
inline constexpr int kAllocationPinned = 1;
inline constexpr int kAccessReadWrite = 3;
// CUmemAllocationGranularity_flags, CUmulticastGranularity_flags
inline constexpr int kGranularityMinimum = 0;
inline constexpr int kGranularityRecommended = 1;
// CUstream_flags, CUevent_flags, CUstreamCaptureMode
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr int kCaptureThreadLocal = 1;

struct MemLocation { // CUmemLocation
  int type = kLocationDevice;
  int id = 0;
};

struct AllocationProperties { // CUmemAllocationProp
  int type = kAllocationPinned;
  int handleTypes = kHandleNone;
  MemLocation location;
  void *win32HandleMetaData = nullptr;
  struct {
    unsigned char compressionType = 0;
    unsigned char gpuDirectRDMACapable = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  } flags;
};

struct AccessDescription { // CUmemAccessDesc
  MemLocation location;
  int flags = kAccessReadWrite;
};

struct MulticastProperties { // CUmulticastObjectProp
  unsigned devices = 0;
  std::size_t size = 0;
  unsigned long long handleTypes = kHandleNone;
  unsigned long long flags = 0;
};

// CUlaunchAttributeID
enum class LaunchAttributeId : int {
  Cooperative = 2,
  ProgrammaticStreamSerialization = 6,
  MemSyncDomain = 10
};

// CUlaunchMemSyncDomain
inline constexpr int kMemSyncDomainRemote = 1;

union LaunchAttributeValue { // CUlaunchAttributeValue
  char pad[64] = {};
  int cooperative;
  int programmaticStreamSerializationAllowed;
  int memSyncDomain;
};

struct LaunchAttribute { // CUlaunchAttribute
  LaunchAttributeId id;
  char pad[8 - sizeof(LaunchAttributeId)] = {};
  LaunchAttributeValue value;
};

struct LaunchConfiguration { // CUlaunchConfig
  unsigned gridX = 1, gridY = 1, gridZ = 1;
  unsigned blockX = 1, blockY = 1, blockZ = 1;
  unsigned sharedBytes = 0;
  Stream stream = nullptr;
  LaunchAttribute *attributes = nullptr;
  unsigned attributeCount = 0;
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_DRIVERTYPES_H
