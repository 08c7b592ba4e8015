//===- Field.cpp - the prime field 2^61-1 and its hashes ------------------===//
#include "layline/Exact/Field.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace layline::exact;

Element layline::exact::power(Element base, uint64_t exponent) {
  Element result = 1;
  for (; exponent != 0; exponent >>= 1, base = mul(base, base))
    if (exponent & 1)
      result = mul(result, base);
  return result;
}

Element layline::exact::inverse(Element a) { return power(a, kPrime - 2); }

void layline::exact::invertAll(std::vector<Element> &values) {
  std::vector<Element> before(values.size());
  Element product = 1;
  for (size_t i = 0; i < values.size(); ++i) {
    before[i] = product;
    if (values[i] != 0)
      product = mul(product, values[i]);
  }
  Element rest = inverse(product);
  for (size_t i = values.size(); i-- > 0;) {
    if (values[i] == 0)
      continue;
    Element value = values[i];
    values[i] = mul(rest, before[i]);
    rest = mul(rest, value);
  }
}

Element layline::exact::constantElement(double constant) {
  constexpr double kExact = 9007199254740992.0; // 2^53
  if (std::trunc(constant) == constant && std::fabs(constant) < kExact) {
    auto integer = static_cast<uint64_t>(std::fabs(constant));
    return constant < 0 ? negate(integer) : integer;
  }
  return Hasher("constant").add(constant).element();
}

Hasher &Hasher::add(double number) {
  uint64_t bits = 0;
  if (number != 0) // one zero
    std::memcpy(&bits, &number, sizeof(bits));
  return add(bits);
}

Hasher &Hasher::add(std::string_view text) {
  add(uint64_t(text.size()));
  for (size_t i = 0; i < text.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i,
                std::min(sizeof(word), text.size() - i));
    add(word);
  }
  return *this;
}

Hasher &Hasher::add(const uint64_t *words, size_t count) {
  add(uint64_t(count));
  for (size_t i = 0; i < count; ++i)
    add(words[i]);
  return *this;
}

Hasher &Hasher::add(const std::vector<int64_t> &numbers) {
  add(uint64_t(numbers.size()));
  for (int64_t number : numbers)
    add(static_cast<uint64_t>(number));
  return *this;
}
