// Uninitialised memory at cache-line alignment. Every rank's arena begins at
// the same alignment, so that BLAS takes the same path on all of them and equal
// inputs give equal bits.
#ifndef LAYLINE_RUNTIME_ENGINE_ALIGNEDBYTES_H
#define LAYLINE_RUNTIME_ENGINE_ALIGNEDBYTES_H

#include <cstddef>
#include <memory>
#include <new>

namespace layline::runtime {

class AlignedBytes {
public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t bytes)
      : data_(static_cast<std::byte *>(::operator new(
            bytes == 0 ? 1 : bytes, std::align_val_t(kAlignment)))),
        bytes_(bytes) {}

  std::byte *data() const { return data_.get(); }
  std::size_t size() const { return bytes_; }

private:
  static constexpr std::size_t kAlignment = 64;
  struct Free {
    void operator()(std::byte *data) const {
      ::operator delete(data, std::align_val_t(kAlignment));
    }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_ENGINE_ALIGNEDBYTES_H
