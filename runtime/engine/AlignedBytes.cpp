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

AlignedBytes::AlignedBytes(std::size_t bytes, const MemorySource &source)
    : bytes_(std::max<std::size_t>(bytes, 1)), source_(source) {
  if (!source.allocator) {
    data_ = static_cast<std::byte *>(
        ::operator new(bytes_, std::align_val_t(kAlignment)));
    return;
  }
  void *memory = source.allocator->allocate(
      source.allocator->user, bytes_, kAlignment, source.rank, source.what);
  if (!memory)
    fail(LAYLINE_OUT_OF_MEMORY, "the engine's allocator has no ", bytes_,
         " bytes for ", nameOf(source.what), " of rank ", source.rank);
  data_ = static_cast<std::byte *>(memory);
  if (reinterpret_cast<std::uintptr_t>(memory) % kAlignment != 0) {
    release();
    fail(LAYLINE_BAD_ARGUMENT, "the engine's allocator gives memory for ",
         nameOf(source.what), " of rank ", source.rank,
         " that is not at a multiple of ", kAlignment, " bytes");
  }
}

void AlignedBytes::release() {
  if (!data_)
    return;
  if (source_.allocator)
    source_.allocator->release(source_.allocator->user, data_, bytes_,
                               source_.rank, source_.what);
  else
    ::operator delete(data_, std::align_val_t(kAlignment));
  data_ = nullptr;
}

} // namespace layline::runtime
