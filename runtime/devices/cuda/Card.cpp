#include "devices/cuda/Card.h"

#include "devices/cuda/KernelImages.h"
#include "plan/Error.h"

#include <array>

namespace layline::runtime::cuda {
namespace {

/// What cuMemAlloc aligns to, and is asked of an engine's allocator.
constexpr std::size_t kAlignment = 256;

} // namespace
namespace {

const std::vector<KernelImage> *replacement = nullptr;

} // namespace

const std::vector<KernelImage> &imagesInUse() {
  return replacement ? *replacement : kernelImages();
}

void replaceKernelImages(const std::vector<KernelImage> *images) {
  replacement = images;
}

Card::Card(int number) {
  std::string what = concat("card ", number);
  check(driver().deviceGet(&ordinal_, number), "cuDeviceGet", what);
  std::array<char, 256> text{};
  check(
      driver().deviceName(text.data(), static_cast<int>(text.size()), ordinal_),
      "cuDeviceGetName", what);
  name_ = concat("card ", number, " (", text.data(), ")");
  multiprocessors_ = attribute(DeviceAttribute::MultiprocessorCount);
  hasMulticast_ = attribute(DeviceAttribute::MulticastSupported) != 0;
  for (DeviceAttribute needed : {DeviceAttribute::CooperativeLaunch,
                                 DeviceAttribute::VirtualMemoryManagement})
    if (attribute(needed) == 0)
      fail(LAYLINE_REFUSED_FEATURE, name_, " has no ",
           needed == DeviceAttribute::CooperativeLaunch
               ? "cooperative launches"
               : "virtual memory management",
           ", which kernels that wait for other ranks need");
  check(driver().contextRetain(&context_, ordinal_), "cuDevicePrimaryCtxRetain",
        name_);
  Ordinal ordinal = ordinal_;
  cleanup_.add([ordinal] { driver().contextRelease(ordinal); });
  use();
}

int Card::attribute(DeviceAttribute attribute) const {
  int value = 0;
  check(driver().deviceAttribute(&value, attribute, ordinal_),
        "cuDeviceGetAttribute", name_);
  return value;
}

void Card::use() const {
  check(driver().contextSetCurrent(context_), "cuCtxSetCurrent", name_);
}

bool Card::reaches(const Card &peer) const {
  if (ordinal_ == peer.ordinal_)
    return true;
  int can = 0;
  check(driver().deviceCanAccessPeer(&can, ordinal_, peer.ordinal_),
        "cuDeviceCanAccessPeer", name_);
  return can != 0;
}

void Card::loadImages() {
  if (imagesInUse().empty())
    fail(LAYLINE_REFUSED_FEATURE, "this build has no CUDA kernels (",
         kernelImagesReason(), "); configure it where a CUDA toolkit is");
  use();
  for (const KernelImage &image : imagesInUse()) {
    Module module = nullptr;
    Result result = driver().moduleLoadData(&module, image.data);
    if (result == kErrorNoBinaryForDevice)
      fail(LAYLINE_REFUSED_FEATURE, name_, " has compute capability ",
           attribute(DeviceAttribute::ComputeCapabilityMajor), ".",
           attribute(DeviceAttribute::ComputeCapabilityMinor),
           "; kernels are built for 9.0 and 10.0");
    check(result, "cuModuleLoadData",
          concat(name_, ", kernels of '", image.name, "'"));
    modules_.push_back(module);
    Context context = context_;
    cleanup_.add([module, context] {
      driver().contextSetCurrent(context);
      driver().moduleUnload(module);
    });
  }
}

KernelFunction Card::find(const std::string &symbol) {
  auto [entry, isNew] = kernels_.emplace(symbol, nullptr);
  if (entry->second)
    return entry->second;
  if (modules_.empty())
    loadImages();
  for (Module module : modules_)
    if (driver().moduleFunction(&entry->second, module, symbol.c_str()) ==
        kSuccess)
      return entry->second;
  kernels_.erase(entry);
  return nullptr;
}

KernelFunction Card::kernel(const std::string &symbol) {
  if (KernelFunction found = find(symbol))
    return found;
  fail(LAYLINE_REFUSED_FEATURE, name_, ": this build has no kernel '", symbol,
       "'");
}

std::int64_t Card::residentBlocks(KernelFunction kernel, int threads,
                                  std::size_t sharedBytes) const {
  use();
  int each = 0;
  check(driver().occupancy(&each, kernel, threads, sharedBytes),
        "cuOccupancyMaxActiveBlocksPerMultiprocessor", name_);
  return std::int64_t(each) * multiprocessors_;
}

void Card::checkOwns(Address address, const std::string &what) const {
  Ordinal owner = 0;
  Result result = driver().pointerAttribute(
      &owner, PointerAttribute::DeviceOrdinal, address);
  // What the driver has not made, memory of the host above all.
  if (result == kErrorInvalidValue)
    fail(LAYLINE_BAD_ARGUMENT, what,
         " that is no memory the driver knows; memory of ", name_,
         " is expected");
  check(result, "cuPointerGetAttribute", what);
  if (owner != ordinal_)
    fail(LAYLINE_BAD_ARGUMENT, what, " of device ", owner, "; memory of ",
         name_, " is expected");
}

DeviceMemory::DeviceMemory(const Card &card, std::size_t bytes,
                           const std::string &what, const MemorySource &source)
    : bytes_(bytes) {
  if (bytes == 0)
    return;
  card.use();
  if (source.allocator) {
    void *memory = allocateFrom(source, bytes, kAlignment);
    cleanup_.add([source, memory, bytes] { releaseTo(source, memory, bytes); });
    address_ = reinterpret_cast<Address>(memory);
    card.checkOwns(address_, what + ": the engine's allocator gives memory");
    return;
  }
  check(driver().memAlloc(&address_, bytes), "cuMemAlloc",
        concat(what, ", ", bytes, " bytes on ", card.name()));
  const Card *of = &card;
  Address address = address_;
  cleanup_.add([of, address] {
    of->use();
    driver().memFree(address);
  });
}

PinnedMemory::PinnedMemory(const Card &card, std::size_t bytes,
                           const std::string &what)
    : bytes_(bytes) {
  if (bytes == 0)
    return;
  card.use();
  void *memory = nullptr;
  check(driver().hostAlloc(&memory, bytes, 0), "cuMemHostAlloc",
        concat(what, ", ", bytes, " bytes for ", card.name()));
  data_ = static_cast<std::byte *>(memory);
  cleanup_.add([memory] { driver().hostFree(memory); });
}

OwnedStream::OwnedStream(const Card &card) {
  card.use();
  check(driver().streamCreate(&stream_, kStreamNonBlocking), "cuStreamCreate",
        card.name());
  Stream stream = stream_;
  cleanup_.add([stream] { driver().streamDestroy(stream); });
}

void OwnedStream::synchronize(const std::string &what) const {
  check(driver().streamSynchronize(stream_), "cuStreamSynchronize", what);
}

OwnedEvent::OwnedEvent(const Card &card, bool isTimed) {
  card.use();
  check(driver().eventCreate(&event_, isTimed ? 0 : kEventDisableTiming),
        "cuEventCreate", card.name());
  Event event = event_;
  cleanup_.add([event] { driver().eventDestroy(event); });
}

} // namespace layline::runtime::cuda
