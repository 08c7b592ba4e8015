// The driver's functions over FakeGpu.
#include "FakeGpu.h"

#include <array>
#include <cstring>

namespace layline::test {

struct FakeCalls {
  static FakeGpu &gpu() { return *FakeGpu::current; }

#define LAYLINE_ENTER(symbol, ...)                                             \
  FakeGpu &g = gpu();                                                          \
  if (Result failed = g.enter(symbol, ##__VA_ARGS__))                          \
    return failed;
#define LAYLINE_RELEASE(symbol)                                                \
  FakeGpu &g = gpu();                                                          \
  g.enter(symbol, 0, /*canFail=*/false);

  template <typename Handle> static Handle newHandle(FakeGpu &g) {
    return reinterpret_cast<Handle>(std::uintptr_t(g.nextHandle_++));
  }

  static void describe(Driver &d) {
    d.init = [](unsigned) { return kSuccess; };
    d.driverVersion = [](int *version) {
      *version = 13000;
      return kSuccess;
    };
    d.errorName = [](Result result, const char **name) {
      *name = result == kErrorOutOfMemory    ? "CUDA_ERROR_OUT_OF_MEMORY"
              : result == kErrorInvalidValue ? "CUDA_ERROR_INVALID_VALUE"
                                             : "CUDA_ERROR_OTHER";
      return kSuccess;
    };
    d.errorString = [](Result, const char **text) {
      const std::string &emulator = gpu().emulatorError_;
      *text = emulator.empty() ? "told by the fake driver" : emulator.c_str();
      return kSuccess;
    };
  }

  static void cards(Driver &d) {
    d.deviceCount = [](int *count) {
      LAYLINE_ENTER("cuDeviceGetCount");
      *count = g.cards_.count;
      return kSuccess;
    };
    d.deviceGet = [](Ordinal *device, int number) {
      LAYLINE_ENTER("cuDeviceGet");
      *device = number;
      return number < g.cards_.count ? kSuccess : kErrorInvalidValue;
    };
    d.deviceName = [](char *name, int bytes, Ordinal) {
      LAYLINE_ENTER("cuDeviceGetName");
      std::strncpy(name, "emulated", static_cast<std::size_t>(bytes));
      return kSuccess;
    };
    d.deviceUuid = [](CardUuid *uuid, Ordinal device) {
      LAYLINE_ENTER("cuDeviceGetUuid");
      *uuid = {};
      uuid->bytes[0] = static_cast<unsigned char>(g.cards_.machine);
      uuid->bytes[15] = static_cast<unsigned char>(device);
      return kSuccess;
    };
    d.deviceAttribute = [](int *value, DeviceAttribute attribute, Ordinal) {
      LAYLINE_ENTER("cuDeviceGetAttribute");
      switch (attribute) {
      case DeviceAttribute::MultiprocessorCount:
        *value = g.cards_.multiprocessors;
        break;
      case DeviceAttribute::ClockRate:
        *value = 1980000;
        break;
      case DeviceAttribute::MulticastSupported:
        *value = g.cards_.multicast;
        break;
      case DeviceAttribute::ComputeCapabilityMajor:
        *value = 9;
        break;
      case DeviceAttribute::ComputeCapabilityMinor:
        *value = 0;
        break;
      default:
        *value = 1;
      }
      return kSuccess;
    };
    d.deviceCanAccessPeer = [](int *can, Ordinal device, Ordinal peer) {
      LAYLINE_ENTER("cuDeviceCanAccessPeer");
      int island = g.cards_.island;
      *can =
          g.cards_.peers && (island == 0 || device / island == peer / island);
      return kSuccess;
    };
    d.contextRetain = [](Context *context, Ordinal device) {
      LAYLINE_ENTER("cuDevicePrimaryCtxRetain");
      *context = reinterpret_cast<Context>(std::uintptr_t(device) + 1);
      g.acquired("context");
      return kSuccess;
    };
    d.contextRelease = [](Ordinal) {
      LAYLINE_RELEASE("cuDevicePrimaryCtxRelease");
      g.released("context");
      return kSuccess;
    };
    d.contextSetCurrent = [](Context context) {
      gpu().currentCard_ =
          static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
      return kSuccess;
    };
  }

  static void kernels(Driver &d) {
    d.moduleLoadData = [](Module *module, const void *) {
      LAYLINE_ENTER("cuModuleLoadData");
      *module = newHandle<Module>(g);
      g.acquired("module");
      return kSuccess;
    };
    d.moduleUnload = [](Module) {
      LAYLINE_RELEASE("cuModuleUnload");
      g.released("module");
      return kSuccess;
    };
    d.moduleFunction = [](KernelFunction *function, Module, const char *name) {
      LAYLINE_ENTER("cuModuleGetFunction");
      if (emulatedKernels().count(name) == 0 ||
          (g.cards_.lacks && g.cards_.lacks(name)))
        return Result(500); // CUDA_ERROR_NOT_FOUND
      *function = newHandle<KernelFunction>(g);
      g.functions_[*function] = name;
      return kSuccess;
    };
    d.functionAttribute = [](int *value, FunctionAttribute, KernelFunction) {
      LAYLINE_ENTER("cuFuncGetAttribute");
      *value = 0;
      return kSuccess;
    };
    d.occupancy = [](int *blocks, KernelFunction, int threads, std::size_t) {
      LAYLINE_ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
      *blocks = static_cast<int>(g.machine_.maxResidentBlocks(
                    static_cast<unsigned>(threads))) /
                g.cards_.multiprocessors;
      return kSuccess;
    };
    d.launch = [](const LaunchConfiguration *configuration,
                  KernelFunction function, void **parameters, void **) {
      LAYLINE_ENTER("cuLaunchKernelEx");
      Address address = *static_cast<Address *>(parameters[0]);
      g.launchKernel(*configuration, g.functions_.at(function), address);
      return kSuccess;
    };
  }

  static void plainMemory(Driver &d) {
    d.memAlloc = [](Address *address, std::size_t bytes) {
      LAYLINE_ENTER("cuMemAlloc", bytes);
      *address =
          reinterpret_cast<Address>(g.newMemory(g.currentCard_, bytes, false));
      g.acquired("memory");
      return kSuccess;
    };
    d.memFree = [](Address address) {
      LAYLINE_RELEASE("cuMemFree");
      g.dropMemory(reinterpret_cast<std::byte *>(address));
      g.released("memory");
      return kSuccess;
    };
    d.pointerAttribute = [](void *value, PointerAttribute, Address address) {
      LAYLINE_ENTER("cuPointerGetAttribute");
      int card = g.cardOf(address);
      if (card < 0)
        return kErrorInvalidValue;
      *static_cast<Ordinal *>(value) = card;
      return kSuccess;
    };
    d.hostAlloc = [](void **memory, std::size_t bytes, unsigned) {
      LAYLINE_ENTER("cuMemHostAlloc", bytes);
      *memory = ::operator new(bytes);
      g.acquired("host memory");
      return kSuccess;
    };
    d.hostFree = [](void *memory) {
      LAYLINE_RELEASE("cuMemFreeHost");
      ::operator delete(memory);
      g.released("host memory");
      return kSuccess;
    };
    d.copyToDevice = [](Address to, const void *from, std::size_t bytes,
                        Stream stream) {
      LAYLINE_ENTER("cuMemcpyHtoDAsync", bytes);
      g.runInStream(stream, "copy", [=] {
        std::memcpy(reinterpret_cast<void *>(to), from, bytes);
      });
      return kSuccess;
    };
    d.copyToHost = [](void *to, Address from, std::size_t bytes,
                      Stream stream) {
      LAYLINE_ENTER("cuMemcpyDtoHAsync", bytes);
      g.runInStream(stream, "copy", [=] {
        std::memcpy(to, reinterpret_cast<void *>(from), bytes);
      });
      return kSuccess;
    };
    d.copyOnDevice = [](Address to, Address from, std::size_t bytes,
                        Stream stream) {
      LAYLINE_ENTER("cuMemcpyDtoDAsync", bytes);
      g.runInStream(stream, "copy", [=] {
        std::memmove(reinterpret_cast<void *>(to),
                     reinterpret_cast<void *>(from), bytes);
      });
      return kSuccess;
    };
    d.setBytes = [](Address to, unsigned char value, std::size_t count,
                    Stream stream) {
      LAYLINE_ENTER("cuMemsetD8Async", count);
      g.runInStream(stream, "set", [=] {
        std::memset(reinterpret_cast<void *>(to), value, count);
      });
      return kSuccess;
    };
    d.setWords = [](Address to, unsigned value, std::size_t count,
                    Stream stream) {
      LAYLINE_ENTER("cuMemsetD32Async", count * 4);
      g.runInStream(stream, "set", [=] {
        auto *words = reinterpret_cast<unsigned *>(to);
        std::fill(words, words + count, value);
      });
      return kSuccess;
    };
  }

  static void mappedMemory(Driver &d) {
    d.granularity = [](std::size_t *bytes, const AllocationProperties *, int) {
      LAYLINE_ENTER("cuMemGetAllocationGranularity");
      *bytes = g.cards_.granularity;
      return kSuccess;
    };
    d.memCreate = [](Allocation *allocation, std::size_t bytes,
                     const AllocationProperties *properties,
                     unsigned long long) {
      LAYLINE_ENTER("cuMemCreate", bytes);
      if (bytes == 0 || bytes % g.cards_.granularity != 0)
        return kErrorInvalidValue;
      *allocation = g.nextHandle_++;
      g.allocations_[*allocation].card = properties->location.id;
      g.allocations_[*allocation].bytes = bytes;
      g.acquired("allocation");
      return kSuccess;
    };
    d.memRelease = [](Allocation) {
      LAYLINE_RELEASE("cuMemRelease");
      g.released("allocation");
      return kSuccess;
    };
    d.addressReserve = [](Address *address, std::size_t bytes,
                          std::size_t alignment, Address, unsigned long long) {
      LAYLINE_ENTER("cuMemAddressReserve", bytes);
      if (bytes % g.cards_.granularity != 0 ||
          alignment % g.cards_.granularity != 0)
        return kErrorInvalidValue;
      *address = reinterpret_cast<Address>(g.newMemory(-1, bytes, true));
      g.reserved_[*address] = bytes;
      g.acquired("reservation");
      return kSuccess;
    };
    d.addressFree = [](Address address, std::size_t bytes) {
      LAYLINE_RELEASE("cuMemAddressFree");
      if (g.mapped_.count(address) || g.reserved_[address] != bytes)
        return kErrorInvalidValue; // still counted as live
      g.reserved_.erase(address);
      g.memory_.erase(reinterpret_cast<std::byte *>(address));
      g.released("reservation");
      return kSuccess;
    };
    d.memMap = [](Address address, std::size_t bytes, std::size_t,
                  Allocation allocation, unsigned long long) {
      LAYLINE_ENTER("cuMemMap", bytes);
      if (g.reserved_[address] != bytes ||
          g.allocations_[allocation].bytes != bytes)
        return kErrorInvalidValue;
      g.mapped_[address] = {bytes, allocation, false};
      g.acquired("mapping");
      return kSuccess;
    };
    d.memUnmap = [](Address address, std::size_t) {
      LAYLINE_RELEASE("cuMemUnmap");
      if (g.mapped_[address].isAccessible)
        g.machine_.unregisterMemory(reinterpret_cast<void *>(address));
      g.mapped_.erase(address);
      g.released("mapping");
      return kSuccess;
    };
    d.memSetAccess = [](Address address, std::size_t bytes,
                        const AccessDescription *, std::size_t count) {
      LAYLINE_ENTER("cuMemSetAccess", bytes);
      FakeGpu::Mapping &mapping = g.mapped_[address];
      const FakeGpu::AllocationState &of = g.allocations_[mapping.allocation];
      if (of.isMulticast)
        return g.mapMulticast(address, mapping) ? kSuccess : kErrorInvalidValue;
      g.machine_.registerMemory(of.card, reinterpret_cast<void *>(address),
                                bytes, "mapped " + std::to_string(address),
                                count > 1);
      mapping.isAccessible = true;
      return kSuccess;
    };
    d.memExport = [](void *handle, Allocation allocation, int,
                     unsigned long long) {
      LAYLINE_ENTER("cuMemExportToShareableHandle");
      *static_cast<int *>(handle) = static_cast<int>(1000000 + allocation);
      return kSuccess;
    };
    d.memImport = [](Allocation *allocation, void *handle, int) {
      LAYLINE_ENTER("cuMemImportFromShareableHandle");
      auto descriptor =
          static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
      const FakeGpu::AllocationState of = g.allocations_[descriptor - 1000000];
      *allocation = g.nextHandle_++;
      g.allocations_[*allocation] = of;
      g.acquired("allocation");
      return kSuccess;
    };
  }

  static void multicast(Driver &d) {
    d.multicastGranularity = [](std::size_t *bytes, const MulticastProperties *,
                                int) {
      LAYLINE_ENTER("cuMulticastGetGranularity");
      *bytes = g.cards_.multicastGranularity;
      return kSuccess;
    };
    d.multicastCreate = [](Allocation *range,
                           const MulticastProperties *properties) {
      LAYLINE_ENTER("cuMulticastCreate", properties->size);
      if (g.cards_.multicastRefused)
        return kErrorNotSupported;
      if (properties->size % g.cards_.multicastGranularity != 0 ||
          properties->devices < 2)
        return kErrorInvalidValue;
      *range = g.nextHandle_++;
      FakeGpu::AllocationState &of = g.allocations_[*range];
      of.bytes = properties->size;
      of.isMulticast = true;
      of.devices = properties->devices;
      g.acquired("allocation");
      return kSuccess;
    };
    d.multicastAddDevice = [](Allocation range, Ordinal device) {
      LAYLINE_ENTER("cuMulticastAddDevice");
      g.allocations_[range].added.push_back(device);
      return kSuccess;
    };
    d.multicastBind = [](Allocation range, std::size_t, Allocation memory,
                         std::size_t, std::size_t bytes, unsigned long long) {
      LAYLINE_ENTER("cuMulticastBindMem", bytes);
      FakeGpu::AllocationState &of = g.allocations_[range];
      // All devices must have been added before memory is bound.
      if (of.added.size() != of.devices || bytes != of.bytes)
        return kErrorInvalidValue;
      of.bound.push_back(memory);
      g.acquired("binding");
      return kSuccess;
    };
    d.multicastUnbind = [](Allocation, Ordinal, std::size_t, std::size_t) {
      LAYLINE_RELEASE("cuMulticastUnbind");
      g.released("binding");
      return kSuccess;
    };
  }

  static void streams(Driver &d) {
    d.streamCreate = [](Stream *stream, unsigned) {
      LAYLINE_ENTER("cuStreamCreate");
      *stream = newHandle<Stream>(g);
      auto card = static_cast<std::size_t>(g.currentCard_);
      g.streams_[*stream] = {g.currentCard_, g.streamsOfCard_[card]++};
      g.acquired("stream");
      return kSuccess;
    };
    d.streamDestroy = [](Stream) {
      LAYLINE_RELEASE("cuStreamDestroy");
      g.synchronize(); // what is in it is done first
      g.released("stream");
      return kSuccess;
    };
    d.streamSynchronize = [](Stream) {
      LAYLINE_ENTER("cuStreamSynchronize");
      return g.synchronize();
    };
    d.streamWaitEvent = [](Stream stream, Event event, unsigned) {
      LAYLINE_ENTER("cuStreamWaitEvent");
      FakeGpu *of = &g;
      g.submit(stream, [of, stream, event] {
        FakeGpu::StreamState state = of->streams_.at(stream);
        if (int emulated = of->events_.at(event).emulated; emulated >= 0)
          of->machine_.waitEvent(state.card, state.number, emulated);
      });
      return kSuccess;
    };
    d.eventCreate = [](Event *event, unsigned flags) {
      LAYLINE_ENTER("cuEventCreate");
      *event = newHandle<Event>(g);
      g.events_[*event] = {-1, g.currentCard_,
                           (flags & kEventDisableTiming) == 0};
      g.acquired("event");
      return kSuccess;
    };
    d.eventDestroy = [](Event) {
      LAYLINE_RELEASE("cuEventDestroy");
      g.released("event");
      return kSuccess;
    };
    d.eventRecord = [](Event event, Stream stream) {
      LAYLINE_ENTER("cuEventRecord");
      auto found = g.streams_.find(stream);
      if (found == g.streams_.end() ||
          found->second.card != g.events_.at(event).card)
        return Result(400); // CUDA_ERROR_INVALID_HANDLE
      FakeGpu *of = &g;
      g.events_.at(event).isPending = true;
      g.submit(stream, [of, stream, event] {
        FakeGpu::StreamState state = of->streams_.at(stream);
        of->events_.at(event).isPending = false;
        if (of->events_.at(event).isTimed)
          of->machine_.launch(
              state.card, {"event", {1}, {1}},
              [of, event] { of->events_.at(event).time = ++of->clock_; },
              state.number);
        of->events_.at(event).emulated =
            of->machine_.recordEvent(state.card, state.number);
      });
      return kSuccess;
    };
    d.eventSynchronize = [](Event) {
      LAYLINE_ENTER("cuEventSynchronize");
      return g.synchronize();
    };
    d.eventQuery = [](Event event) {
      LAYLINE_ENTER("cuEventQuery");
      g.pump();
      return g.events_.at(event).isPending ? kErrorNotReady : g.runMachine();
    };
    d.eventElapsed = [](float *milliseconds, Event from, Event to) {
      LAYLINE_ENTER("cuEventElapsedTime");
      const FakeGpu::EventState &begin = g.events_.at(from),
                                &end = g.events_.at(to);
      if (!begin.isTimed || !end.isTimed)
        return Result(400); // CUDA_ERROR_INVALID_HANDLE
      *milliseconds = static_cast<float>(end.time - begin.time);
      return kSuccess;
    };
  }

  static void graphs(Driver &d) {
    d.streamBeginCapture = [](Stream, int) {
      LAYLINE_ENTER("cuStreamBeginCapture");
      if (g.captured_)
        return kErrorInvalidValue;
      g.captured_ = &g.graphs_[nullptr];
      g.captured_->clear();
      return kSuccess;
    };
    d.streamEndCapture = [](Stream, Graph *graph) {
      LAYLINE_RELEASE("cuStreamEndCapture");
      if (!g.captured_)
        return kErrorInvalidValue;
      g.captured_ = nullptr;
      *graph = newHandle<Graph>(g);
      g.graphs_[*graph] = std::move(g.graphs_[nullptr]);
      g.acquired("graph");
      return kSuccess;
    };
    d.graphInstantiate = [](GraphExec *exec, Graph graph, unsigned long long) {
      LAYLINE_ENTER("cuGraphInstantiate");
      *exec = newHandle<GraphExec>(g);
      g.executables_[*exec] = g.graphs_.at(graph);
      g.acquired("executable graph");
      return kSuccess;
    };
    d.graphLaunch = [](GraphExec exec, Stream stream) {
      LAYLINE_ENTER("cuGraphLaunch");
      auto late = g.delays_.find(g.streams_.at(stream).card);
      if (late != g.delays_.end()) {
        g.runSlowly(stream, "somebody else's", late->second);
        g.delays_.erase(late);
      }
      for (const FakeGpu::Work &work : g.executables_.at(exec))
        work();
      return kSuccess;
    };
    d.graphExecDestroy = [](GraphExec) {
      LAYLINE_RELEASE("cuGraphExecDestroy");
      g.released("executable graph");
      return kSuccess;
    };
    d.graphDestroy = [](Graph) {
      LAYLINE_RELEASE("cuGraphDestroy");
      g.released("graph");
      return kSuccess;
    };
  }

#undef LAYLINE_ENTER
#undef LAYLINE_RELEASE

  // ---- cuBLASLt
  // ----------------------------------------------------------------

  static BlasStatus enterBlas(const char *name) { return gpu().enter(name); }
  static void acquired(const char *kind) { gpu().acquired(kind); }
  static void gpuReleased(const char *kind) { gpu().released(kind); }
  static void released(const char *kind, const char *name) {
    gpu().enter(name, 0, false);
    gpu().released(kind);
  }
  static NcclResult enterNccl(const char *name, bool canFail) {
    return gpu().enter(name, 0, canFail);
  }
  static void transfer(Stream from, Stream to, FakeGpu::Work copy) {
    gpu().transfer(from, to, std::move(copy));
  }
  static void outside(std::function<bool()> isDone) {
    gpu().submitOutside(std::move(isDone));
  }
  static void run(Stream stream, FakeGpu::Work work) {
    gpu().runInStream(stream, "product", std::move(work));
  }
};

Driver fakeDriver() {
  Driver driver;
  FakeCalls::describe(driver);
  FakeCalls::cards(driver);
  FakeCalls::kernels(driver);
  FakeCalls::plainMemory(driver);
  FakeCalls::mappedMemory(driver);
  FakeCalls::multicast(driver);
  FakeCalls::streams(driver);
  FakeCalls::graphs(driver);
  return driver;
}

bool enterBlas(const char *name, BlasStatus &status) {
  status = FakeCalls::enterBlas(name);
  return status == 0;
}
void acquiredByBlas(const char *kind) { FakeCalls::acquired(kind); }
void releasedByBlas(const char *kind, const char *name) {
  FakeCalls::released(kind, name);
}
bool enterNccl(const char *name, NcclResult &result, bool canFail) {
  result = FakeCalls::enterNccl(name, canFail);
  return result == 0;
}
void acquiredByNccl() { FakeCalls::acquired("communicator"); }
void releasedByNccl() { FakeCalls::gpuReleased("communicator"); }
void runOutside(std::function<bool()> isDone) {
  FakeCalls::outside(std::move(isDone));
}
void runTransfer(Stream from, Stream to, std::function<void()> copy) {
  FakeCalls::transfer(from, to, std::move(copy));
}
void runProduct(Stream stream, std::function<void()> work) {
  FakeCalls::run(stream, std::move(work));
}

} // namespace layline::test
