//===- Field.h - the prime field 2^61-1 and its hashes ----------*- C++ -*-===//
//
// Why equality over this field stands for equality of programs. Every value is
// an element of F_p, p = 2^61 - 1. Sums, products and contractions are exact,
// so every order of summation and every legal re-association is the same
// element. A non-linear function is a keyed hash of exactly the values that it
// may depend on, taken as a random function: equal arguments give equal
// results, new arguments a fresh uniform element. Weights and inputs are such
// elements too.
//
// Between two hashes a program is a polynomial (a fraction for softmax, which
// is equal iff the cross products are) in elements drawn uniformly and
// independently. If two programs differ as such polynomials, then by
// Schwartz-Zippel they agree at the drawn point with probability at most
// degree / p. A layer has degree below 10 between hashes, and every hash of
// arguments that differ agrees with probability 1 / p; summed over the elements
// compared, a wrong program of a hundred layers is missed with a probability of
// about 10^4 / 2^61 < 2^-47 per run, for each of several runs.
//
// The hash is a multiply-and-mix of a fixed key: fast, and random enough
// against programs that were not built to defeat it. It is no cryptographic
// one.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_EXACT_FIELD_H
#define LAYLINE_EXACT_FIELD_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace layline::exact {

__extension__ typedef unsigned __int128 UInt128; // NOLINT: no such `using`

/// An element of the field: always below kPrime.
using Element = uint64_t;
constexpr Element kPrime = (uint64_t(1) << 61) - 1;

/// Any 128-bit number modulo p: 2^61 = 1 there, so its 61-bit digits are added.
inline Element reduce(UInt128 value) {
  uint64_t low = uint64_t(value) & kPrime;
  uint64_t middle = uint64_t(value >> 61) & kPrime;
  uint64_t high = uint64_t(value >> 122);
  uint64_t sum = low + middle + high; // < 2^62 + 2^6
  sum = (sum & kPrime) + (sum >> 61);
  return sum >= kPrime ? sum - kPrime : sum;
}

inline Element add(Element a, Element b) {
  uint64_t sum = a + b;
  return sum >= kPrime ? sum - kPrime : sum;
}
inline Element negate(Element a) { return a == 0 ? 0 : kPrime - a; }
inline Element sub(Element a, Element b) { return add(a, negate(b)); }
inline Element mul(Element a, Element b) { return reduce(UInt128(a) * b); }

Element power(Element base, uint64_t exponent);
/// 1 / a; of 0 it is 0, so that a wrong program divides without a crash.
Element inverse(Element a);
/// Inverts all elements for the price of one inversion and three products each.
void invertAll(std::vector<Element> &values);

/// A real constant of a program as an element: integers below 2^53 by value
/// (0, 1 and -1 stay what they are), every other one hashed from its bits.
Element constantElement(double constant);

/// A sum of products, reduced at the end only.
class DotProduct {
public:
  void add(Element a, Element b) {
    sum += UInt128(a) * b; // each < 2^122: no carry is lost below 2^127
    if (sum >> 127)
      sum = reduce(sum);
  }
  Element get() const { return reduce(sum); }

private:
  UInt128 sum = 0;
};

/// sum_i a[i] * b[i].
inline Element dotProduct(const Element *a, const Element *b, int64_t count) {
  DotProduct sum;
  for (int64_t i = 0; i < count; ++i)
    sum.add(a[i], b[i]);
  return sum.get();
}

/// 128 bits that stand for a content.
struct Digest {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Digest &other) const {
    return low == other.low && high == other.high;
  }
  bool operator!=(const Digest &other) const { return !(*this == other); }
  bool operator<(const Digest &other) const {
    return high != other.high ? high < other.high : low < other.low;
  }
};
struct DigestHash {
  size_t operator()(const Digest &digest) const { return digest.low; }
};

/// Absorbs words; two lanes that never meet before the end. A domain names
/// what is hashed, so that two kinds of function never share a result. Copies
/// of a hasher that absorbed a prefix are cheap.
class Hasher {
public:
  explicit Hasher(std::string_view domain) { add(domain); }

  Hasher &add(uint64_t word) {
    lanes[0] = mix(lanes[0] ^ word, kKeys[0]) + kKeys[2];
    lanes[1] = mix(lanes[1] ^ word, kKeys[1]) + kKeys[3];
    return *this;
  }
  Hasher &add(const Digest &digest) { return add(digest.low).add(digest.high); }
  Hasher &add(double number);
  /// The length and the characters.
  Hasher &add(std::string_view text);
  /// The length and the words.
  Hasher &add(const uint64_t *words, size_t count);
  Hasher &add(const std::vector<int64_t> &numbers);

  Digest digest() const {
    return {mix(lanes[0] ^ kKeys[4], lanes[1] ^ kKeys[5]),
            mix(lanes[0] ^ kKeys[1], kKeys[5]) ^
                mix(lanes[1] ^ kKeys[0], kKeys[4])};
  }
  /// A uniform element.
  Element element() const {
    return reduce(mix(lanes[0] ^ kKeys[4], lanes[1] ^ kKeys[5]));
  }

private:
  static uint64_t mix(uint64_t a, uint64_t b) {
    UInt128 product = UInt128(a) * b;
    return uint64_t(product) ^ uint64_t(product >> 64);
  }
  /// Odd, half of the bits set; any such would do.
  static constexpr uint64_t kKeys[6] = {0x8bb84b93962eacc9, 0x2d358dccaa6c78a5,
                                        0xd6e8feb86659fd93, 0xa0761d6478bd642f,
                                        0xe7037ed1a0b428db, 0x589965cc75374cc3};
  uint64_t lanes[2] = {0x4b33a62ed433d4a3, 0x1d8e4e27c47d124f};
};

} // namespace layline::exact

#endif // LAYLINE_EXACT_FIELD_H
