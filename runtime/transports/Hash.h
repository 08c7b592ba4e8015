// 64 bits that stand for many: processes compare them in place of what they
// hold. Two things that differ have the same with probability 2^-64; nobody
// here tries to make them so.
#ifndef LAYLINE_RUNTIME_TRANSPORTS_HASH_H
#define LAYLINE_RUNTIME_TRANSPORTS_HASH_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace layline::runtime {

/// Mixes every bit into every other: the finaliser of SplitMix64 (Steele, Lea,
/// Flood, "Fast splittable pseudorandom number generators", 2014).
inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A hash of what came before and of one more number.
inline std::uint64_t combined(std::uint64_t hash, std::uint64_t number) {
  // The golden ratio's bits: a zero changes the hash too.
  return mixed(hash ^ (number + 0x9e3779b97f4a7c15u));
}

inline std::uint64_t hashOf(const void *data, std::size_t bytes,
                            std::uint64_t hash = 0) {
  hash = combined(hash, bytes);
  const auto *from = static_cast<const unsigned char *>(data);
  for (; bytes > 0;) {
    std::uint64_t word = 0;
    std::size_t count = bytes < sizeof word ? bytes : sizeof word;
    std::memcpy(&word, from, count);
    hash = combined(hash, word);
    from += count;
    bytes -= count;
  }
  return hash;
}

inline std::uint64_t hashOf(std::string_view text, std::uint64_t hash = 0) {
  return hashOf(text.data(), text.size(), hash);
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_TRANSPORTS_HASH_H
