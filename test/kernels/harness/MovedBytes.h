// What kernels that move bytes are given: broadcasts, and rows of a KV cache in
// pages.
#ifndef LAYLINE_TEST_KERNELS_HARNESS_MOVEDBYTES_H
#define LAYLINE_TEST_KERNELS_HARNESS_MOVEDBYTES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace layline::kernels::test {

/// One launch of a broadcast.
struct Sending {
  std::uint32_t root;
  std::int64_t bytes, chunkBytes;
  unsigned grid;
};

/// One after another into the same buffers: roots, sizes and grids change, but
/// flags and epochs outlive all of them.
inline std::vector<Sending> changingBroadcasts(int ranks, std::int64_t bytes,
                                               std::int64_t chunkBytes) {
  auto last = static_cast<std::uint32_t>(ranks - 1);
  const std::int64_t few = (bytes / 16 + 5) / 6 * 16;
  return {{0, bytes, chunkBytes, 4},        {last, bytes, chunkBytes, 2},
          {0, few, chunkBytes, 4},          {0, 0, chunkBytes, 1},
          {last, bytes, 2 * chunkBytes, 3}, {0, bytes, chunkBytes, 4}};
}

/// Words that no other salt has in these places.
inline std::vector<std::uint32_t> makeWords(std::int64_t bytes,
                                            std::uint32_t salt) {
  std::vector<std::uint32_t> words;
  for (std::int64_t i = 0; i < bytes / 4; ++i)
    words.push_back(salt * 0x9e3779b9U + static_cast<std::uint32_t>(i));
  return words;
}

/// A cache of two planes whose pages lie in disorder.
struct Pages {
  std::int64_t tokens, firstToken = 0;
  int pageTokens = 4, headBytes = 32, heads = 2; ///< head 1 is moved
  std::int64_t chunkTokens = 3;
  unsigned grid = 2;
  int launches = 1;
  /// Bytes between the pages, and number of the first: far apart pages are
  /// memory that is never touched.
  std::int64_t pageGap = 0;
  std::int32_t firstPage = 0;
  bool waitsForChunks = true;

  static constexpr int kPlanes = 2;
  std::int64_t end() const { return firstToken + tokens; }
  std::int64_t tokenStride() const { return std::int64_t(heads) * headBytes; }
  std::int64_t pageStride() const {
    return pageTokens * tokenStride() + pageGap;
  }
  std::int64_t count() const {
    return (end() + pageTokens - 1) / pageTokens + 1;
  }
  std::int64_t chunks() const {
    return (tokens + chunkTokens - 1) / chunkTokens;
  }
  std::size_t poolBytes() const {
    return static_cast<std::size_t>((firstPage + count()) * pageStride());
  }
  /// The last page first.
  std::vector<std::int32_t> table() const {
    std::vector<std::int32_t> pages;
    for (std::int32_t i = 0; i < count(); ++i)
      pages.push_back(firstPage + static_cast<std::int32_t>(count()) - 1 - i);
    return pages;
  }
  /// Of a token's row, in a plane's pool.
  std::int64_t offsetOf(std::int64_t token) const {
    std::int64_t page = firstPage + count() - 1 - token / pageTokens;
    return page * pageStride() + token % pageTokens * tokenStride() + headBytes;
  }
  std::vector<std::uint32_t> wordsOf(int plane, std::int64_t token,
                                     std::uint32_t salt = 0) const {
    return makeWords(headBytes, salt * 100000 + static_cast<std::uint32_t>(
                                                    plane * 1000 + token));
  }
};

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_HARNESS_MOVEDBYTES_H
