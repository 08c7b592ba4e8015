// The declarations of devices/cuda against NVIDIA's headers.
#include "devices/cuda/DriverTypes.h"
#include "devices/cuda/BlasLt.h"
#include "devices/cuda/Nccl.h"

#include <catch2/catch.hpp>

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <cstddef>

namespace mine = layline::runtime::cuda;

#define LAYLINE_SAME(a, b)                                                     \
  static_assert(static_cast<long long>(a) == static_cast<long long>(b),        \
                #a " is not " #b)

LAYLINE_SAME(mine::kErrorInvalidValue, CUDA_ERROR_INVALID_VALUE);
LAYLINE_SAME(mine::kErrorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
LAYLINE_SAME(mine::kErrorNoDevice, CUDA_ERROR_NO_DEVICE);
LAYLINE_SAME(mine::kErrorNoBinaryForDevice, CUDA_ERROR_NO_BINARY_FOR_GPU);
LAYLINE_SAME(mine::kErrorNotSupported, CUDA_ERROR_NOT_SUPPORTED);
LAYLINE_SAME(mine::DeviceAttribute::ClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
LAYLINE_SAME(mine::DeviceAttribute::MultiprocessorCount,
             CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
LAYLINE_SAME(mine::DeviceAttribute::ComputeCapabilityMajor,
             CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
LAYLINE_SAME(mine::DeviceAttribute::ComputeCapabilityMinor,
             CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
LAYLINE_SAME(mine::DeviceAttribute::CooperativeLaunch,
             CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
LAYLINE_SAME(mine::DeviceAttribute::VirtualMemoryManagement,
             CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
LAYLINE_SAME(mine::DeviceAttribute::PosixFileDescriptorHandles,
             CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
LAYLINE_SAME(mine::DeviceAttribute::MemSyncDomainCount,
             CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
LAYLINE_SAME(mine::DeviceAttribute::MulticastSupported,
             CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
LAYLINE_SAME(mine::PointerAttribute::DeviceOrdinal,
             CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
LAYLINE_SAME(mine::FunctionAttribute::LocalBytes,
             CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
LAYLINE_SAME(mine::FunctionAttribute::Registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
LAYLINE_SAME(mine::kHandlePosixFileDescriptor,
             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
LAYLINE_SAME(mine::kLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
LAYLINE_SAME(mine::kAllocationPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
LAYLINE_SAME(mine::kAccessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
LAYLINE_SAME(mine::kGranularityRecommended,
             CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
LAYLINE_SAME(mine::kGranularityRecommended,
             CU_MULTICAST_GRANULARITY_RECOMMENDED);
LAYLINE_SAME(mine::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
LAYLINE_SAME(mine::kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
LAYLINE_SAME(mine::kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
LAYLINE_SAME(mine::LaunchAttributeId::Cooperative,
             CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
LAYLINE_SAME(mine::LaunchAttributeId::ProgrammaticStreamSerialization,
             CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
LAYLINE_SAME(mine::LaunchAttributeId::MemSyncDomain,
             CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
LAYLINE_SAME(mine::kMemSyncDomainRemote, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);

#define LAYLINE_SAME_FIELD(a, field, b, other)                                 \
  LAYLINE_SAME(offsetof(a, field), offsetof(b, other))

LAYLINE_SAME(sizeof(mine::AllocationProperties), sizeof(CUmemAllocationProp));
LAYLINE_SAME_FIELD(mine::AllocationProperties, handleTypes, CUmemAllocationProp,
                   requestedHandleTypes);
LAYLINE_SAME_FIELD(mine::AllocationProperties, location, CUmemAllocationProp,
                   location);
LAYLINE_SAME_FIELD(mine::AllocationProperties, flags, CUmemAllocationProp,
                   allocFlags);
LAYLINE_SAME(sizeof(mine::AccessDescription), sizeof(CUmemAccessDesc));
LAYLINE_SAME_FIELD(mine::AccessDescription, flags, CUmemAccessDesc, flags);
LAYLINE_SAME(sizeof(mine::MulticastProperties), sizeof(CUmulticastObjectProp));
LAYLINE_SAME_FIELD(mine::MulticastProperties, size, CUmulticastObjectProp,
                   size);
LAYLINE_SAME_FIELD(mine::MulticastProperties, handleTypes,
                   CUmulticastObjectProp, handleTypes);
LAYLINE_SAME(sizeof(mine::LaunchAttributeValue),
             sizeof(CUlaunchAttributeValue));
LAYLINE_SAME(sizeof(mine::LaunchAttribute), sizeof(CUlaunchAttribute));
LAYLINE_SAME_FIELD(mine::LaunchAttribute, value, CUlaunchAttribute, value);
LAYLINE_SAME(sizeof(mine::LaunchConfiguration), sizeof(CUlaunchConfig));
LAYLINE_SAME_FIELD(mine::LaunchConfiguration, blockX, CUlaunchConfig,
                   blockDimX);
LAYLINE_SAME_FIELD(mine::LaunchConfiguration, sharedBytes, CUlaunchConfig,
                   sharedMemBytes);
LAYLINE_SAME_FIELD(mine::LaunchConfiguration, stream, CUlaunchConfig, hStream);
LAYLINE_SAME_FIELD(mine::LaunchConfiguration, attributes, CUlaunchConfig,
                   attrs);
LAYLINE_SAME_FIELD(mine::LaunchConfiguration, attributeCount, CUlaunchConfig,
                   numAttrs);

TEST_CASE("declarations are those of cuda.h") {
  SUCCEED("compared when this was compiled");
}
#else
TEST_CASE("declarations are those of cuda.h") {
  WARN("SKIPPED: there is no cuda.h to compare with");
}
#endif
