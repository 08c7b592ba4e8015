// One GPU: its context, its kernels and its memory.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_CARD_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_CARD_H

#include "devices/cuda/Cleanup.h"
#include "devices/cuda/Driver.h"
#include "engine/AlignedBytes.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace layline::runtime::cuda {

class Card {
public:
  /// Retains the primary context of the card of this number. Throws Error.
  explicit Card(int number);
  Card(const Card &) = delete;
  Card &operator=(const Card &) = delete;

  Ordinal ordinal() const { return ordinal_; }
  /// "card 0 (NVIDIA H200)"
  const std::string &name() const { return name_; }
  int multiprocessors() const { return multiprocessors_; }
  /// Whether the switch replicates stores and adds loads of this card.
  bool hasMulticast() const { return hasMulticast_; }

  /// Makes the context current on this thread: before any call that allocates,
  /// loads or launches.
  void use() const;
  bool reaches(const Card &peer) const;

  /// A compiled kernel by its symbol; images are loaded at the first call.
  /// Throws Error (LAYLINE_REFUSED_FEATURE) if the build has no kernels, none
  /// for this card, or none of this name.
  KernelFunction kernel(const std::string &symbol);
  /// The same, null if none has this name: what a caller has another way for.
  KernelFunction find(const std::string &symbol);
  /// Blocks of a kernel that are on the card at one time.
  std::int64_t residentBlocks(KernelFunction kernel, int threads,
                              std::size_t sharedBytes) const;

  /// Throws Error (LAYLINE_BAD_ARGUMENT) that begins with `what` for an address
  /// that the driver does not know as this card's.
  void checkOwns(Address address, const std::string &what) const;

private:
  int attribute(DeviceAttribute attribute) const;
  void loadImages();

  Ordinal ordinal_ = 0;
  Context context_ = nullptr;
  std::string name_;
  int multiprocessors_ = 0;
  bool hasMulticast_ = false;
  std::vector<Module> modules_;
  std::unordered_map<std::string, KernelFunction> kernels_;
  Cleanup cleanup_; // last: what the members name is released first
};

/// Memory of one card; freed with the object.
class DeviceMemory {
public:
  DeviceMemory() = default;
  /// No bytes: no memory. Of the source's allocator, or without one of the
  /// driver. Throws Error naming `what`.
  DeviceMemory(const Card &card, std::size_t bytes, const std::string &what,
               const MemorySource &source = {});

  Address address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  template <typename T> T *as() const {
    return reinterpret_cast<T *>(address_);
  }

private:
  Address address_ = 0;
  std::size_t bytes_ = 0;
  Cleanup cleanup_;
};

/// Host memory that copies need no staging for.
class PinnedMemory {
public:
  PinnedMemory() = default;
  PinnedMemory(const Card &card, std::size_t bytes, const std::string &what);

  std::byte *data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

private:
  std::byte *data_ = nullptr;
  std::size_t bytes_ = 0;
  Cleanup cleanup_;
};

/// A stream that does not wait for the default one; destroyed with the object.
class OwnedStream {
public:
  explicit OwnedStream(const Card &card);
  Stream get() const { return stream_; }
  void synchronize(const std::string &what) const;

private:
  Stream stream_ = nullptr;
  Cleanup cleanup_;
};

/// An event; `isTimed`: that eventElapsed may ask.
class OwnedEvent {
public:
  OwnedEvent(const Card &card, bool isTimed);
  Event get() const { return event_; }

private:
  Event event_ = nullptr;
  Cleanup cleanup_;
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_CARD_H
