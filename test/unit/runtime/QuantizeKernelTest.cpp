// Rows in 8-bit formats: rounding, scales of rows and of groups, by rows and by
// columns, and what a loader asks of them.
#include "KernelBench.h"
#include "devices/cpu/NarrowFormat.h"

#include <limits>
#include <set>

using namespace layline::test;
using Catch::Matchers::Contains;
using layline::runtime::formatOf;
using layline::runtime::NarrowFormat;
using layline::runtime::QuantFormat;
using layline::runtime::roundToFormat;

namespace {

/// All numbers that are not negative, from the bits: 1 sign bit, the exponent,
/// the mantissa. Those that stand for infinity and NaN are left out.
std::vector<double> numbersOf(QuantFormat format) {
  bool isE4M3 = format == QuantFormat::Fp8E4M3;
  int mantissaBits = isE4M3 ? 3 : 2, bias = isE4M3 ? 7 : 15;
  int count = isE4M3 ? 0x7f : 0x7c;
  std::vector<double> numbers;
  for (int bits = 0; bits < count; ++bits) {
    int exponent = bits >> mantissaBits,
        mantissa = bits & ((1 << mantissaBits) - 1);
    double significand = std::ldexp(mantissa, -mantissaBits);
    numbers.push_back(exponent == 0
                          ? std::ldexp(significand, 1 - bias)
                          : std::ldexp(1 + significand, exponent - bias));
  }
  return numbers;
}

/// The plain form: search of all numbers.
double nearest(double x, QuantFormat format) {
  std::vector<double> numbers = numbersOf(format);
  double magnitude = std::abs(x);
  std::size_t best = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    double nearer =
        std::abs(numbers[best] - magnitude) - std::abs(numbers[i] - magnitude);
    // Of two as near the one with an even mantissa: neighbours differ in it.
    if (nearer > 0 || (nearer == 0 && i % 2 == 0))
      best = i;
  }
  return std::copysign(numbers[best], x);
}

/// [values, scales] of rows of `width` in groups of `size`.
std::pair<std::vector<double>, std::vector<double>>
quantized(const std::vector<double> &x, std::int64_t size, QuantFormat format) {
  std::vector<double> values, scales;
  for (std::size_t g = 0; g < x.size(); g += static_cast<std::size_t>(size)) {
    double largest = 0;
    for (std::int64_t i = 0; i < size; ++i)
      largest = std::max(largest, std::abs(x[g + i]));
    scales.push_back(largest / numbersOf(format).back());
    for (std::int64_t i = 0; i < size; ++i)
      values.push_back(
          largest == 0 ? 0 : nearest(x[g + i] / scales.back(), format));
  }
  return {values, scales};
}

const char *nameOf(QuantFormat format) {
  return format == QuantFormat::Fp8E4M3 ? "fp8_e4m3" : "fp8_e5m2";
}

} // namespace

TEST_CASE("rounding to 8-bit formats", "[kernels]") {
  auto format = GENERATE(QuantFormat::Fp8E4M3, QuantFormat::Fp8E5M2);
  NarrowFormat narrow = formatOf(format);
  std::vector<double> numbers = numbersOf(format);
  CHECK(numbers.back() == narrow.largest);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double x = numbers[i];
    CAPTURE(x);
    for (double sign : {1.0, -1.0}) {
      CHECK(roundToFormat(sign * x, narrow) == sign * x);
      CHECK(roundToFormat(static_cast<float>(sign * x), narrow) ==
            static_cast<float>(sign * x));
      if (i + 1 == numbers.size())
        continue;
      double middle = (x + numbers[i + 1]) / 2,
             even = i % 2 == 0 ? x : numbers[i + 1];
      CHECK(roundToFormat(sign * middle, narrow) == sign * even);
      CHECK(roundToFormat(sign * std::nextafter(middle, 0.0), narrow) ==
            sign * x);
      CHECK(roundToFormat(sign * std::nextafter(middle, 1e9), narrow) ==
            sign * numbers[i + 1]);
    }
  }
  // Beyond the largest there is no infinity.
  double infinity = std::numeric_limits<double>::infinity();
  for (double x : {1.01 * narrow.largest, 2 * narrow.largest, 1e30, infinity}) {
    CHECK(roundToFormat(x, narrow) == narrow.largest);
    CHECK(roundToFormat(-x, narrow) == -narrow.largest);
  }
  CHECK(std::isnan(
      roundToFormat(std::numeric_limits<double>::quiet_NaN(), narrow)));
  // Below half of the smallest nothing is left, and exactly half is a tie.
  CHECK(roundToFormat(numbers[1] / 2, narrow) == 0);
  CHECK(roundToFormat(numbers[1] * 0.51, narrow) == numbers[1]);
}

TEST_CASE("rows are quantised where they are and gathered narrow",
          "[kernels]") {
  auto ranks = GENERATE(1, 2, 3, 8);
  auto group = GENERATE(0, 4, 2);
  auto format = GENERATE(QuantFormat::Fp8E4M3, QuantFormat::Fp8E5M2);
  constexpr std::int64_t kRows = 5, kWidth = 8;
  std::int64_t size = group ? group : kWidth, columns = kWidth / size;
  Bench bench(ranks, kRows);
  bench.b.require("quantized_rows");
  Value x = randomValue({64, kWidth}, 1);
  // A row of zeros stays zeros.
  std::fill_n(x.data.begin() + 2 * kWidth, kWidth, 0.0);
  std::string table = bench.table("x", x);
  bench.begin();
  std::string source = bench.source(table, kWidth);
  std::string part = bench.rows(source, kWidth);
  Json rows = bench.b.block("tokens");
  std::string type = nameOf(format);
  std::string values = bench.b.typed(type, {"tokens", kWidth}, {rows, nullptr}),
              scales =
                  bench.b.typed("f32", {"tokens", columns}, {rows, nullptr}),
              allValues =
                  bench.b.typed(type, {"tokens", kWidth}, {nullptr, nullptr}),
              allScales =
                  bench.b.typed("f32", {"tokens", columns}, {nullptr, nullptr}),
              y = bench.buffer({"tokens", kWidth}, {nullptr, nullptr});
  Json attrs = {{"format", type}};
  if (group)
    attrs["group_size"] = group;
  bench.b.step("quantize",
               {{"input", part}, {"values", values}, {"scales", scales}},
               attrs);
  for (auto [from, to] :
       {std::pair(values, allValues), std::pair(scales, allScales)})
    bench.b.step("all_gather", {{"input", from}, {"output", to}},
                 {{"group", "tp"}, {"dim", 0}, {"range", "tokens/tp"}});
  bench.b.step("dequantize",
               {{"values", allValues}, {"scales", allScales}, {"output", y}});
  bench.b.output("values", allValues);
  bench.b.output("scales", allScales);
  bench.b.output("y", y);
  TestEngine &engine = bench.run();
  auto [v, s] = quantized(firstRows(x, kRows), size, format);
  CHECK(engine.output("values").data == v);
  CHECK(engine.output("scales").data == s);
  std::vector<double> expected;
  for (std::size_t i = 0; i < v.size(); ++i)
    expected.push_back(v[i] * s[i / static_cast<std::size_t>(size)]);
  CHECK(engine.output("y").data == expected);
}

TEST_CASE("columns are quantised by groups that lie within a rank's part",
          "[kernels]") {
  auto ranks = GENERATE(1, 2, 4, 8);
  constexpr std::int64_t kRows = 3, kWidth = 8, kGroup = 2;
  Bench bench(ranks, kRows);
  bench.b.require("quantized_rows");
  Value x = randomValue({64, 5}, 1), w = randomValue({kWidth, 5}, 2);
  bench.weight("w", w);
  Json groups = bench.b.block(kWidth / kGroup), features = groups;
  features["unit"] = kGroup;
  std::string table = bench.table("x", x),
              weight = bench.b.weight("w", {kWidth, 5}, {features, nullptr});
  bench.begin();
  std::string source = bench.source(table, 5);
  std::string h = bench.buffer({"tokens", kWidth}, {nullptr, features}),
              y = bench.buffer({"tokens", kWidth}, {nullptr, features}),
              values = bench.b.typed("fp8_e4m3", {"tokens", kWidth},
                                     {nullptr, features}),
              scales = bench.b.typed("f32", {"tokens", kWidth / kGroup},
                                     {nullptr, groups});
  bench.b.step("linear",
               {{"input", source}, {"weight", weight}, {"output", h}});
  bench.b.step("quantize",
               {{"input", h}, {"values", values}, {"scales", scales}},
               {{"format", "fp8_e4m3"}, {"group_size", kGroup}});
  bench.b.step("dequantize",
               {{"values", values}, {"scales", scales}, {"output", y}});
  bench.b.output("y", y);
  auto [v, s] =
      quantized(product(firstRows(x, kRows), w), kGroup, QuantFormat::Fp8E4M3);
  std::vector<double> expected;
  for (std::size_t i = 0; i < v.size(); ++i)
    expected.push_back(v[i] * s[i / kGroup]);
  CHECK(error(bench.run().output("y").data, expected) < kTolerance);
}

TEST_CASE("contracts of quantised rows", "[plan][contract]") {
  // A quantize and a dequantize on 4 ranks, with one thing wrong.
  auto finding = [](const std::function<void(Json &)> &change) {
    Bench bench(4, 4);
    Json features = bench.b.block(8);
    Json s = {
        {"requires", true},     {"owes", false},   {"columns", 2},
        {"group", 4},           {"scales", "f32"}, {"values", "fp8_e4m3"},
        {"format", "fp8_e4m3"}, {"dims", nullptr}, {"kind", "dequantize"}};
    change(s);
    if (s["requires"])
      bench.b.require("quantized_rows");
    if (s["dims"] == "split")
      s["dims"] = features;
    std::string table = bench.table("x", randomValue({64, 8}, 1));
    bench.begin();
    std::string x = bench.source(table, 8);
    if (s["owes"])
      x = bench.buffer({"tokens", 8}, {nullptr, nullptr}, true);
    if (s["owes"])
      bench.b.step("embedding",
                   {{"ids", bench.ids}, {"weight", table}, {"output", x}});
    if (!s["dims"].is_null()) {
      std::string part = bench.buffer({"tokens", 8}, {nullptr, s["dims"]});
      bench.b.step("slice", {{"input", x}, {"output", part}},
                   {{"dim", 1}, {"range", s["dims"]["range"]}});
      x = part;
    }
    std::string values = bench.b.typed(s["values"], {"tokens", 8},
                                       {nullptr, s["dims"]}),
                scales = bench.b.typed(s["scales"], {"tokens", s["columns"]},
                                       {nullptr, nullptr}),
                y = bench.buffer({"tokens", 8}, {nullptr, s["dims"]});
    Json attrs = {{"format", s["format"]}};
    if (s["group"] != 0)
      attrs["group_size"] = s["group"];
    bench.b.step("quantize",
                 {{"input", x}, {"values", values}, {"scales", scales}}, attrs);
    if (s["kind"] == "dequantize")
      bench.b.step("dequantize",
                   {{"values", values}, {"scales", scales}, {"output", y}});
    else
      bench.b.step(s["kind"], {{"input", values}, {"output", y}},
                   s["kind"] == "scale" ? Json{{"factor", 2}} : Json::object());
    bench.b.output("y", y);
    return findings(bench.b.finish());
  };
  CHECK(finding([](Json &) {}) == "");
  CHECK_THAT(finding([](Json &s) { s["requires"] = false; }),
             Contains("(quantize): is of this kind; 'requires' does not list "
                      "the feature 'quantized_rows'") &&
                 Contains("(dequantize): is of this kind"));
  CHECK_THAT(finding([](Json &s) { s["owes"] = true; }),
             Contains("owes a sum"));
  CHECK_THAT(finding([](Json &s) { s["columns"] = 3; }),
             Contains("has 3 columns; a divisor of 8"));
  CHECK_THAT(finding([](Json &s) { s["group"] = 2; }),
             Contains("a column for every 4 features; one for every 2"));
  CHECK_THAT(finding([](Json &s) { s["group"] = 0; }),
             Contains("a column for every 4 features; one for every 8"));
  CHECK_THAT(finding([](Json &s) { s["scales"] = "f64"; }),
             Contains("scales of f64; f32 is expected"));
  CHECK_THAT(finding([](Json &s) { s["format"] = "fp8_e5m2"; }),
             Contains("gives fp8_e4m3; fp8_e5m2 is expected"));
  CHECK_THAT(finding([](Json &s) { s["values"] = "f32"; }),
             Contains("has dtype f32; 'quantize' takes a quantised format as "
                      "'values'"));
  // Scales of all groups beside the features of some.
  CHECK_THAT(finding([](Json &s) { s["dims"] = "split"; }),
             Contains("the same groups of 4 features are expected"));
  CHECK_THAT(finding([](Json &s) {
               s["dims"] = "split";
               s["columns"] = 1;
               s["group"] = 0;
             }),
             Contains("dimension 1"));
  // The numbers are none without their scales.
  CHECK_THAT(finding([](Json &s) { s["kind"] = "scale"; }),
             Contains("has dtype fp8_e4m3; 'scale' takes floating-point "
                      "numbers as 'input'"));
  CHECK_THAT(finding([](Json &s) { s["kind"] = "cast"; }),
             Contains("takes fp8_e4m3") && Contains("only 'dequantize'"));
}
