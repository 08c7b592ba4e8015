#include "layline/Exact/Field.h"
#include <catch2/catch.hpp>
#include <set>

using namespace layline::exact;

static Element naive(UInt128 value) { return Element(value % kPrime); }

static std::vector<Element> samples() {
  std::vector<Element> samples = {0, 1, 2, kPrime - 1, kPrime - 2, kPrime / 2};
  for (uint64_t i = 0; i < 200; ++i)
    samples.push_back(Hasher("sample").add(i).element());
  return samples;
}

TEST_CASE("field arithmetic is that of integers modulo 2^61-1") {
  for (Element a : samples()) {
    REQUIRE(a < kPrime);
    REQUIRE(add(a, negate(a)) == 0);
    REQUIRE(mul(a, inverse(a)) == (a == 0 ? 0 : 1));
    for (Element b : samples()) {
      REQUIRE(add(a, b) == naive(UInt128(a) + b));
      REQUIRE(mul(a, b) == naive(UInt128(a) * b));
      REQUIRE(add(sub(a, b), b) == a);
    }
  }
}

TEST_CASE("128-bit numbers are reduced") {
  UInt128 all = ~UInt128(0);
  for (UInt128 value : {UInt128(0), UInt128(kPrime), UInt128(kPrime) * kPrime,
                        UInt128(1) << 61, UInt128(1) << 122, all, all - 1,
                        UInt128(kPrime) << 61, UInt128(2) * kPrime})
    REQUIRE(reduce(value) == naive(value));
}

TEST_CASE("long sums of products keep their carries") {
  for (size_t count : {0, 1, 31, 64, 65, 1000}) {
    DotProduct sum;
    Element expected = 0;
    for (size_t i = 0; i < count; ++i) {
      sum.add(kPrime - 1, kPrime - 1 - i);
      expected = add(expected, mul(kPrime - 1, kPrime - 1 - i));
    }
    REQUIRE(sum.get() == expected);
  }
}

TEST_CASE("all inverses at once, zeros stay") {
  std::vector<Element> values = samples(), inverted = values;
  invertAll(inverted);
  for (size_t i = 0; i < values.size(); ++i)
    REQUIRE(inverted[i] == inverse(values[i]));
  std::vector<Element> none;
  invertAll(none);
  REQUIRE(none.empty());
}

TEST_CASE("constants keep their arithmetic where it is exact") {
  CHECK(constantElement(0.0) == 0);
  CHECK(constantElement(-0.0) == 0);
  CHECK(constantElement(1.0) == 1);
  CHECK(constantElement(-3.0) == negate(3));
  std::set<Element> different;
  for (double constant : {0.0, 1.0, -1.0, 0.5, 2.0, 0.25, 0.22, 0.22000000001,
                          1e-6, 1e300, -1e300, 2.5})
    different.insert(constantElement(constant));
  CHECK(different.size() == 12);
}

TEST_CASE("hashes differ by domain, order, length and every bit") {
  std::set<Digest> digests;
  std::set<Element> elements;
  size_t count = 0;
  auto insert = [&](const Hasher &hasher) {
    digests.insert(hasher.digest());
    elements.insert(hasher.element());
    ++count;
  };
  for (const char *domain : {"", "a", "b", "ab", "norm", "normal norm norm"}) {
    insert(Hasher(domain));
    insert(Hasher(domain).add(uint64_t(0)));
    insert(Hasher(domain).add(uint64_t(0)).add(uint64_t(0)));
    insert(Hasher(domain).add(uint64_t(1)).add(uint64_t(2)));
    insert(Hasher(domain).add(uint64_t(2)).add(uint64_t(1)));
    insert(Hasher(domain).add("x").add("yz"));
    insert(Hasher(domain).add("xy").add("z"));
    for (unsigned bit = 0; bit < 64; ++bit)
      for (unsigned other = 0; other < bit; ++other)
        insert(Hasher(domain)
                   .add(uint64_t(1) << bit)
                   .add(uint64_t(7))
                   .add(uint64_t(1) << other));
  }
  for (uint64_t i = 0; i < 200000; ++i)
    insert(Hasher("counter").add(i));
  CHECK(digests.size() == count);
  CHECK(elements.size() == count);
}

TEST_CASE("hashes are spread evenly") {
  // 64 cells, 64000 draws: 1000 each, standard deviation 31.
  for (unsigned shift : {0, 20, 55}) {
    std::vector<int> cells(64);
    for (uint64_t i = 0; i < 64000; ++i)
      ++cells[Hasher("spread").add(i).element() >> shift & 63];
    for (int cell : cells)
      CHECK(std::abs(cell - 1000) < 180);
  }
}
