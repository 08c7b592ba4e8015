// Uninitialised memory at cache-line alignment, the runtime's or the engine's.
// Every rank's arena begins at the same alignment, so that BLAS takes the same
// path on all of them and equal inputs give equal bits.
#ifndef LAYLINE_RUNTIME_ENGINE_ALIGNEDBYTES_H
#define LAYLINE_RUNTIME_ENGINE_ALIGNEDBYTES_H

#include "layline/hooks.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace layline::runtime {

/// Whom memory is asked for, and what it is for.
struct MemorySource {
  const layline_allocator *allocator = nullptr; ///< null: operator new
  std::int64_t rank = 0;
  layline_memory what = LAYLINE_MEMORY_ARENA;
};

/// At least one byte of the source's allocator, which it must have. Throws
/// Error where there is no memory, or it is given at another alignment.
void *allocateFrom(const MemorySource &source, std::size_t bytes,
                   std::size_t alignment);
void releaseTo(const MemorySource &source, void *memory,
               std::size_t bytes) noexcept;

class AlignedBytes {
public:
  static constexpr std::size_t kAlignment = 64;

  AlignedBytes() = default;
  /// Throws std::bad_alloc; Error where the engine's allocator has no memory or
  /// gives it at another alignment. The allocator must outlive the memory.
  explicit AlignedBytes(std::size_t bytes, const MemorySource &source = {});
  ~AlignedBytes() { release(); }
  AlignedBytes(AlignedBytes &&other) noexcept { swap(other); }
  AlignedBytes &operator=(AlignedBytes &&other) noexcept {
    AlignedBytes taken(std::move(other));
    swap(taken);
    return *this;
  }

  std::byte *data() const { return data_; }
  std::size_t size() const { return bytes_; }

private:
  void release();
  void swap(AlignedBytes &other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(source_, other.source_);
  }

  std::byte *data_ = nullptr;
  std::size_t bytes_ = 0;
  MemorySource source_;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_ENGINE_ALIGNEDBYTES_H
