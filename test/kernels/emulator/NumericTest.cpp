// Conversions of the number formats, against all numbers of each format.
#include "kernels/platform/Numeric.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace layline::device;

namespace {

/// The finite numbers of a format that are not negative, ascending: their codes
/// are 0, 1, 2, ...
template <typename T> std::vector<double> numbersOf() {
  std::vector<double> numbers;
  for (unsigned code = 0; code < 1U << (8 * sizeof(T) - 1); ++code) {
    T value;
    value.bits = static_cast<decltype(value.bits)>(code);
    double number = to_float(value);
    if (!std::isfinite(number))
      break;
    numbers.push_back(number);
  }
  return numbers;
}

/// The code of the nearest number, ties to the even code; numbers.size() for
/// what rounds to the infinity behind the last.
unsigned nearest(const std::vector<double> &numbers, double magnitude) {
  auto above = std::lower_bound(numbers.begin(), numbers.end(), magnitude);
  auto code = static_cast<unsigned>(above - numbers.begin());
  if (code == 0)
    return 0;
  double high = code < numbers.size()
                    ? numbers[code]
                    : 2 * numbers[code - 1] - numbers[code - 2];
  double low = numbers[code - 1];
  if (magnitude - low != high - magnitude)
    return magnitude - low < high - magnitude ? code - 1 : code;
  return code % 2 == 0 ? code : code - 1;
}

/// Numbers, the middles between them, their neighbours, and others.
template <typename T> std::vector<float> samplesOf() {
  std::vector<double> numbers = numbersOf<T>();
  std::vector<float> samples;
  auto add = [&](double value) {
    auto rounded = static_cast<float>(value);
    float infinity = std::numeric_limits<float>::infinity();
    for (float sample : {rounded, std::nextafter(rounded, 0.0F),
                         std::nextafter(rounded, infinity)}) {
      samples.push_back(sample);
      samples.push_back(-sample);
    }
  };
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    add(numbers[i]);
    add((numbers[i] + numbers[i + 1]) / 2);
  }
  double last = numbers.back();
  add(last);
  add(last + (last - numbers[numbers.size() - 2]) / 2);
  add(1.5 * last);
  std::mt19937 draw(1);
  for (int i = 0; i < 100000; ++i)
    samples.push_back(float_of_bits(static_cast<std::uint32_t>(draw())));
  return samples;
}

template <typename T> void checkRounding(bool saturates) {
  std::vector<double> numbers = numbersOf<T>();
  unsigned sign = 1U << (8 * sizeof(T) - 1);
  std::uint64_t wrong = 0;
  for (float sample : samplesOf<T>()) {
    unsigned code = from_float<T>(sample).bits;
    if (std::isnan(sample)) {
      wrong += code != sign - 1; // all bits but the sign
      continue;
    }
    unsigned expected = nearest(numbers, std::abs(double(sample)));
    if (saturates && expected == numbers.size())
      --expected;
    if (std::signbit(sample))
      expected |= sign;
    wrong += code != expected;
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("floats round to the nearest number, ties to even") {
  SECTION("bf16") { checkRounding<bf16>(false); }
  SECTION("f16") { checkRounding<f16>(false); }
  SECTION("e4m3 ends at its largest") { checkRounding<e4m3>(true); }
  SECTION("e5m2 ends at its largest") { checkRounding<e5m2>(true); }
}

TEST_CASE("the formats hold what their standards say") {
  CHECK(numbersOf<bf16>().size() == 0x7f80);
  CHECK(numbersOf<f16>().back() == 65504);
  CHECK(numbersOf<e4m3>().back() == 448);
  CHECK(numbersOf<e5m2>().back() == 57344);
  CHECK(numbersOf<f16>()[1] == 0x1p-24);
  CHECK(numbersOf<e4m3>()[1] == 0x1p-9);
  CHECK(numbersOf<e5m2>()[1] == 0x1p-16);
  CHECK(std::isinf(to_float(f16{0x7c00})));
  CHECK(std::isinf(to_float(e5m2{0xfc})));
  CHECK(std::isnan(to_float(e4m3{0xff})));
  CHECK(std::isnan(to_float(f16{0x7c01})));
  CHECK(float_bits(to_float(f16{0x8000})) == 0x80000000);
  CHECK(float_bits(to_float(e4m3{0x80})) == 0x80000000);
}
