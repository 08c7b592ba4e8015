#include "devices/simt/plan/DeviceMemory.h"

#include "kernels/platform/Numeric.h"
#include "weights/HalfFloat.h"

#include <algorithm>
#include <cstring>

namespace layline::runtime {
namespace {

/// Rows begin at multiples of 16 bytes, buffers of CUDA at those of 256.
constexpr std::size_t kAlignment = 256;

} // namespace

std::int64_t bytesOf(Stored type) {
  switch (type) {
  case Stored::E4M3:
  case Stored::E5M2:
    return 1;
  case Stored::BF16:
    return 2;
  case Stored::I64:
    return 8;
  default:
    return 4;
  }
}

Stored storedAs(kernels::DType type) {
  return type == kernels::DType::BF16 ? Stored::BF16 : Stored::F32;
}

void *DeviceMemory::place(const char *name, std::int64_t count, bool isShared) {
  if (used_ == rooms_.size())
    rooms_.emplace_back();
  AlignedBytes &room = rooms_[used_++];
  auto bytes = static_cast<std::size_t>(count);
  if (room.size() < bytes + kAlignment)
    room = AlignedBytes(bytes + kAlignment);
  auto address = reinterpret_cast<std::uintptr_t>(room.data());
  address = (address + kAlignment - 1) / kAlignment * kAlignment;
  auto *memory = reinterpret_cast<void *>(address);
  machine_->registerMemory(member_, memory, bytes, name, isShared);
  registered_.push_back(memory);
  return memory;
}

void *DeviceMemory::make(const char *name, std::int64_t count, Stored type,
                         bool isShared) {
  std::int64_t bytes = count * bytesOf(type);
  void *memory = place(name, bytes, isShared);
  std::memset(memory, 0xff, static_cast<std::size_t>(bytes));
  return memory;
}

void *DeviceMemory::put(const char *name, const float *from, std::int64_t count,
                        Stored type, bool isShared) {
  void *memory = place(name, count * bytesOf(type), isShared);
  switch (type) {
  case Stored::BF16:
    std::transform(from, from + count, static_cast<std::uint16_t *>(memory),
                   narrowToBF16);
    break;
  case Stored::E4M3:
    std::transform(from, from + count, static_cast<device::e4m3 *>(memory),
                   [](float x) { return device::from_float<device::e4m3>(x); });
    break;
  case Stored::E5M2:
    std::transform(from, from + count, static_cast<device::e5m2 *>(memory),
                   [](float x) { return device::from_float<device::e5m2>(x); });
    break;
  default:
    std::copy_n(from, count, static_cast<float *>(memory));
  }
  return memory;
}

void *DeviceMemory::put(const char *name, const std::int64_t *from,
                        std::int64_t count, Stored type, bool isShared) {
  void *memory = place(name, count * bytesOf(type), isShared);
  if (type == Stored::I32)
    std::transform(from, from + count, static_cast<std::int32_t *>(memory),
                   [](std::int64_t x) { return static_cast<std::int32_t>(x); });
  else
    std::copy_n(from, count, static_cast<std::int64_t *>(memory));
  return memory;
}

void *DeviceMemory::putBytes(const char *name, const void *from,
                             std::int64_t bytes) {
  void *memory = place(name, bytes, false);
  std::memcpy(memory, from, static_cast<std::size_t>(bytes));
  return memory;
}

void DeviceMemory::expose(const char *name, void *memory, std::int64_t bytes) {
  machine_->registerMemory(member_, memory, static_cast<std::size_t>(bytes),
                           name, false);
  registered_.push_back(memory);
}

void DeviceMemory::drop() {
  for (void *memory : registered_)
    machine_->unregisterMemory(memory);
  registered_.clear();
  used_ = 0;
}

void fetch(const void *from, Stored type, std::int64_t first,
           std::int64_t count, float *to) {
  switch (type) {
  case Stored::BF16: {
    const auto *bits = static_cast<const std::uint16_t *>(from) + first;
    std::transform(bits, bits + count, to, widenBF16);
    break;
  }
  case Stored::E4M3: {
    const auto *values = static_cast<const device::e4m3 *>(from) + first;
    std::transform(values, values + count, to,
                   [](device::e4m3 x) { return device::to_float(x); });
    break;
  }
  case Stored::E5M2: {
    const auto *values = static_cast<const device::e5m2 *>(from) + first;
    std::transform(values, values + count, to,
                   [](device::e5m2 x) { return device::to_float(x); });
    break;
  }
  default:
    std::copy_n(static_cast<const float *>(from) + first, count, to);
  }
}

void fetch(const void *from, Stored type, std::int64_t first,
           std::int64_t count, std::int64_t *to) {
  if (type == Stored::I32)
    std::copy_n(static_cast<const std::int32_t *>(from) + first, count, to);
  else
    std::copy_n(static_cast<const std::int64_t *>(from) + first, count, to);
}

} // namespace layline::runtime
