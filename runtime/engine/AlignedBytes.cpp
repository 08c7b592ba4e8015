#include "engine/AlignedBytes.h"

#include "plan/Error.h"

#include <algorithm>
#include <new>

namespace layline::runtime {
namespace {

const char *nameOf(layline_memory what) {
  switch (what) {
  case LAYLINE_MEMORY_ARENA:
    return "activations";
  case LAYLINE_MEMORY_WEIGHTS:
    return "weights";
  case LAYLINE_MEMORY_CACHE:
    return "a cache";
  }
  return "memory";
}

} // namespace

void *allocateFrom(const MemorySource &source, std::size_t bytes,
                   std::size_t alignment) {
  void *memory = source.allocator->allocate(
      source.allocator->user, bytes, alignment, source.rank, source.what);
  if (!memory)
    fail(LAYLINE_OUT_OF_MEMORY, "the engine's allocator has no ", bytes,
         " bytes for ", nameOf(source.what), " of rank ", source.rank);
  if (reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) {
    releaseTo(source, memory, bytes);
    fail(LAYLINE_BAD_ARGUMENT, "the engine's allocator gives memory for ",
         nameOf(source.what), " of rank ", source.rank,
         " that is not at a multiple of ", alignment, " bytes");
  }
  return memory;
}

void releaseTo(const MemorySource &source, void *memory,
               std::size_t bytes) noexcept {
  source.allocator->release(source.allocator->user, memory, bytes, source.rank,
                            source.what);
}

AlignedBytes::AlignedBytes(std::size_t bytes, const MemorySource &source)
    : bytes_(std::max<std::size_t>(bytes, 1)), source_(source) {
  if (!source.allocator) {
    data_ = static_cast<std::byte *>(
        ::operator new(bytes_, std::align_val_t(kAlignment)));
    return;
  }
  data_ = static_cast<std::byte *>(allocateFrom(source, bytes_, kAlignment));
}

void AlignedBytes::release() {
  if (!data_)
    return;
  if (source_.allocator)
    releaseTo(source_, data_, bytes_);
  else
    ::operator delete(data_, std::align_val_t(kAlignment));
  data_ = nullptr;
}

} // namespace layline::runtime
