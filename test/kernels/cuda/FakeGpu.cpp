#include "FakeGpu.h"

#include "devices/cuda/Card.h"
#include "devices/cuda/KernelImages.h"
#include "kernels/platform/Platform.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>

namespace layline::test {

FakeGpu *FakeGpu::current = nullptr;

namespace {

simt::Options optionsOf(const FakeCards &cards) {
  simt::Options options = cards.emulator;
  options.residentBlocks = 64;
  return options;
}

const std::vector<KernelImage> &fakeImages() {
  static const unsigned char image[] = {0};
  static const std::vector<KernelImage> images = {{"emulated", image}};
  return images;
}

} // namespace

FakeCards cards(int count, unsigned seed) {
  FakeCards fake;
  fake.count = count;
  fake.emulator.seed = seed;
  return fake;
}

FakeCards checkedCards(int count) {
  FakeCards fake = cards(count);
  fake.emulator.raceCheck = true;
  return fake;
}

FakeGpu::FakeGpu(const FakeCards &cards)
    : cards_(cards), machine_(cards.count, optionsOf(cards)),
      driver_(fakeDriver()), blas_(fakeBlasLt()), nccl_(fakeNccl()),
      streamsOfCard_(static_cast<std::size_t>(cards.count)) {
  current = this;
  replaceDriver(&driver_);
  replaceBlasLt(&blas_);
  replaceNccl(&nccl_);
  replaceKernelImages(&fakeImages());
}

FakeGpu::~FakeGpu() {
  replaceDriver(nullptr);
  replaceBlasLt(nullptr);
  replaceNccl(nullptr);
  replaceKernelImages(nullptr);
  current = nullptr;
}

std::vector<std::string> FakeGpu::callNames() const {
  std::vector<std::string> names;
  for (const Call &call : calls_)
    names.push_back(call.name);
  return names;
}

std::size_t FakeGpu::callsOf(const std::string &name) const {
  return static_cast<std::size_t>(
      std::count_if(calls_.begin(), calls_.end(),
                    [&](const Call &call) { return call.name == name; }));
}

void FakeGpu::failAt(std::size_t number, Result result) {
  failAfter_ = number;
  failWith_ = result;
}

int FakeGpu::liveCount() const {
  int count = 0;
  for (const auto &[kind, number] : live_)
    count += number;
  return count;
}

Result FakeGpu::enter(const char *name, std::size_t bytes, bool canFail) {
  calls_.push_back({name, bytes});
  if (auto found = atCalls_.find(name); found != atCalls_.end()) {
    auto what = std::move(found->second);
    atCalls_.erase(found);
    what();
  }
  if (!canFail)
    return kSuccess;
  if (failAfter_ != ~std::size_t(0) && failAfter_-- == 0)
    return failWith_;
  auto found = failures_.find(name);
  return found == failures_.end() ? kSuccess : found->second;
}

// ---- Memory
// ------------------------------------------------------------------

std::byte *FakeGpu::newMemory(int card, std::size_t bytes, bool isSymmetric) {
  // Aligned as cuMemAlloc's.
  constexpr std::size_t kAlignment = 256;
  auto owned = std::make_unique<std::byte[]>(bytes + kAlignment);
  std::memset(owned.get(), 0xff, bytes + kAlignment);
  auto at = (reinterpret_cast<std::uintptr_t>(owned.get()) + kAlignment - 1) /
            kAlignment * kAlignment;
  auto *memory = reinterpret_cast<std::byte *>(at);
  memory_[memory] = {std::move(owned), bytes, card};
  if (card >= 0)
    machine_.registerMemory(card, memory, bytes,
                            "memory " + std::to_string(nextHandle_++),
                            isSymmetric);
  return memory;
}

bool FakeGpu::mapMulticast(Address address, Mapping &mapping) {
  const AllocationState &range = allocations_[mapping.allocation];
  if (range.bound.size() != range.devices)
    return false;
  // The emulator's ranges are over all of its ranks.
  std::vector<void *> parts(static_cast<std::size_t>(cards_.count), nullptr);
  for (const auto &[at, part] : mapped_)
    if (std::count(range.bound.begin(), range.bound.end(), part.allocation))
      parts[static_cast<std::size_t>(allocations_[part.allocation].card)] =
          reinterpret_cast<void *>(at);
  if (std::count(parts.begin(), parts.end(), nullptr) == 0) {
    machine_.registerMulticast(reinterpret_cast<void *>(address), parts,
                               mapping.bytes,
                               "multicast " + std::to_string(address));
    mapping.isAccessible = true;
  }
  return true;
}

int FakeGpu::cardOf(Address address) const {
  auto *at = reinterpret_cast<std::byte *>(address);
  auto behind = memory_.upper_bound(at);
  if (behind == memory_.begin())
    return -1;
  const auto &[begin, of] = *std::prev(behind);
  return at < begin + of.count ? of.card : -1;
}

void FakeGpu::dropMemory(std::byte *memory) {
  machine_.unregisterMemory(memory);
  memory_.erase(memory);
}

// ---- Streams
// -----------------------------------------------------------------

void FakeGpu::submit(Stream stream, Work work) {
  if (captured_ && stream)
    captured_->push_back(std::move(work));
  else if (!waiting_.empty())
    waiting_.push_back({std::move(work), nullptr});
  else
    work();
}

void FakeGpu::submitOutside(std::function<bool()> isDone) {
  waiting_.push_back({nullptr, std::move(isDone)});
}

bool FakeGpu::pump() {
  while (!waiting_.empty()) {
    if (waiting_.front().isDone) {
      runMachine();
      if (!waiting_.front().isDone())
        return false;
    } else {
      waiting_.front().work();
    }
    waiting_.pop_front();
  }
  return true;
}

void FakeGpu::runInStream(Stream stream, const char *what, Work work) {
  if (!stream) { // the default stream: everything before it is done
    synchronize();
    work();
    return;
  }
  submit(stream,
         [this, stream, what, work] { launchWork(stream, what, work); });
}

void FakeGpu::launchWork(Stream stream, const char *what, Work work) {
  StreamState state = streams_.at(stream);
  std::string name = what;
  machine_.launch(
      state.card, {name, {1}, {1}},
      [this, name, work] {
        order_.push_back(name);
        work();
      },
      state.number);
}

void FakeGpu::runSlowly(Stream stream, const std::string &name, int looks) {
  StreamState state = streams_.at(stream);
  auto *word =
      reinterpret_cast<std::uint32_t *>(newMemory(state.card, 4, false));
  *word = 0;
  machine_.launch(
      state.card, {name, {1}, {1}},
      [this, name, word, looks] {
        // Each look lets others go on.
        for (int i = 0; i < looks; ++i)
          device::ld_acquire_sys(word);
        order_.push_back(name);
      },
      state.number);
}

void FakeGpu::launchKernel(const LaunchConfiguration &configuration,
                           const std::string &kernel, Address parameters) {
  SeenLaunch seen;
  seen.kernel = kernel;
  simt::Launch launch;
  launch.kernel = kernel;
  launch.grid = {configuration.gridX, configuration.gridY, configuration.gridZ};
  launch.block = {configuration.blockX, configuration.blockY,
                  configuration.blockZ};
  for (int d = 0; d < 3; ++d) {
    seen.grid[d] = d == 0   ? configuration.gridX
                   : d == 1 ? configuration.gridY
                            : configuration.gridZ;
    seen.block[d] = d == 0   ? configuration.blockX
                    : d == 1 ? configuration.blockY
                             : configuration.blockZ;
  }
  for (unsigned a = 0; a < configuration.attributeCount; ++a) {
    const LaunchAttribute &attribute = configuration.attributes[a];
    switch (attribute.id) {
    case LaunchAttributeId::Cooperative:
      seen.cooperative = attribute.value.cooperative != 0;
      break;
    case LaunchAttributeId::ProgrammaticStreamSerialization:
      seen.programmatic =
          attribute.value.programmaticStreamSerializationAllowed != 0;
      break;
    case LaunchAttributeId::MemSyncDomain:
      seen.remoteDomain = attribute.value.memSyncDomain == kMemSyncDomainRemote;
      break;
    }
  }
  launch.cooperative = seen.cooperative;
  launch.programmatic = seen.programmatic;
  launches_.push_back(seen);
  auto replaced = cards_.replaced.find(kernel);
  KernelBody body = replaced == cards_.replaced.end()
                        ? emulatedKernels().at(kernel)
                        : replaced->second;
  Stream stream = configuration.stream;
  submit(stream, [this, stream, launch, body, parameters] {
    StreamState state = streams_.at(stream);
    machine_.launch(
        state.card, launch,
        [this, body, parameters, name = launch.kernel] {
          if (blockIdx.x + blockIdx.y + threadIdx.x == 0) {
            order_.push_back(name);
            if (auto found = watched_.find(name); found != watched_.end())
              found->second(parameters);
          }
          body(parameters);
        },
        state.number);
  });
}

void FakeGpu::transfer(Stream from, Stream to, Work copy) {
  submit(to, [this, from, to, copy] {
    StreamState source = streams_.at(from), target = streams_.at(to);
    machine_.waitEvent(target.card, target.number,
                       machine_.recordEvent(source.card, source.number));
    launchWork(to, "transfer", copy);
    machine_.waitEvent(source.card, source.number,
                       machine_.recordEvent(target.card, target.number));
  });
}

Result FakeGpu::synchronize() {
  while (!pump())
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  return runMachine();
}

Result FakeGpu::runMachine() {
  simt::Report report = machine_.run();
  if (!report.ok() && emulatorError_.empty())
    emulatorError_ = report.text;
  // What a card says whose kernel did what it must not.
  constexpr Result kErrorLaunchFailed = 719;
  return report.ok() ? kSuccess : kErrorLaunchFailed;
}

} // namespace layline::test
