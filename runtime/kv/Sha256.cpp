#include "kv/Sha256.h"

#include <array>
#include <cstdint>

namespace layline::kv {

namespace {

// FIPS 180-4, 4.2.2 and 5.3.3: the fractional parts of the cube roots of the
// first 64 primes and of the square roots of the first 8.
constexpr std::uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
constexpr std::array<std::uint32_t, 8> kStart = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

std::uint32_t rotate(std::uint32_t word, int bits) {
  return word >> bits | word << (32 - bits);
}

void addBlock(std::array<std::uint32_t, 8> &state, const unsigned char *bytes) {
  std::uint32_t words[64];
  for (int i = 0; i < 16; ++i)
    words[i] = std::uint32_t(bytes[4 * i]) << 24 |
               std::uint32_t(bytes[4 * i + 1]) << 16 |
               std::uint32_t(bytes[4 * i + 2]) << 8 |
               std::uint32_t(bytes[4 * i + 3]);
  for (int i = 16; i < 64; ++i) {
    std::uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               words[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
  }
  std::array<std::uint32_t, 8> s = state;
  for (int i = 0; i < 64; ++i) {
    std::uint32_t first =
        s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
        ((s[4] & s[5]) ^ (~s[4] & s[6])) + kRounds[i] + words[i];
    std::uint32_t second =
        (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
        ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
  }
  for (int i = 0; i < 8; ++i)
    state[i] += s[i];
}

} // namespace

std::string getSha256(std::string_view text) {
  // A one behind the text, zeros, and its length in bits at the end of a block.
  std::string padded(text);
  padded += '\x80';
  padded.append((64 + 56 - padded.size() % 64) % 64, '\0');
  std::uint64_t bits = static_cast<std::uint64_t>(text.size()) * 8;
  for (int shift = 56; shift >= 0; shift -= 8)
    padded += static_cast<char>(bits >> shift & 0xff);
  std::array<std::uint32_t, 8> state = kStart;
  for (std::size_t i = 0; i < padded.size(); i += 64)
    addBlock(state, reinterpret_cast<const unsigned char *>(&padded[i]));
  std::string digits;
  for (std::uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4)
      digits += "0123456789abcdef"[word >> shift & 0xf];
  return digits;
}

} // namespace layline::kv
