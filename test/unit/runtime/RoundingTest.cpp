// Runs emulated in bfloat16.
#include "KernelBench.h"
#include "weights/HalfFloat.h"

using namespace layline::test;
using namespace layline::runtime;
using Catch::Matchers::Contains;

namespace {

double rounded(double value) {
  return widenBF16(narrowToBF16(static_cast<float>(value)));
}

/// A plan of a model in bf16: (x + x) + y by rows of a table.
class BF16Bench {
public:
  explicit BF16Bench(bool isFused) : b(1, 4, "bf16") {
    std::string xw = b.weight("x", {4, 3}, {nullptr, nullptr});
    std::string yw = b.weight("y", {4, 3}, {nullptr, nullptr});
    std::string kernel = b.kernel({"add", "add"}, false);
    b.variant("v", 1, 4);
    std::string ids = b.input("input_ids");
    Json none = {nullptr, nullptr};
    std::string x = b.buffer({"tokens", 3}, none),
                y = b.buffer({"tokens", 3}, none);
    b.step("embedding", {{"ids", ids}, {"weight", xw}, {"output", x}});
    b.step("embedding", {{"ids", ids}, {"weight", yw}, {"output", y}});
    std::string two = b.buffer({"tokens", 3}, none, false, "",
                               isFused ? "register" : "activation"),
                sum = b.buffer({"tokens", 3}, none);
    Json first = {{"inputs", {x, y}}, {"output", two}},
         second = {{"inputs", {two, y}}, {"output", sum}};
    if (isFused)
      b.fused({x, y}, {sum},
              {b.bodyStep("add", first, Json::object(), {"two"}),
               b.bodyStep("add", second)});
    else {
      b.step("add", first, Json::object(), {"two"});
      b.step("add", second);
    }
    b.output("sum", sum);
  }

  std::vector<double> run(const Value &x, const Value &y) {
    Json plan = b.finish();
    REQUIRE(findings(plan) == "");
    TestEngine engine(plan, LAYLINE_PRECISION_BF16);
    engine.weight("x", x);
    engine.weight("y", y);
    engine.input("input_ids", count(4));
    engine.input("positions", count(4));
    engine.run(4);
    return engine.output("sum").data;
  }

  PlanBuilder b;
};

} // namespace

TEST_CASE("floats are rounded to the nearest bfloat16, ties to even",
          "[rounding]") {
  CHECK(rounded(1) == 1);
  CHECK(rounded(-0.0) == 0);
  CHECK(std::signbit(rounded(-0.0)));
  // Seven bits behind the leading one: steps of 2^-7 from 1 on.
  CHECK(rounded(1 + 0x1p-8) == 1);
  CHECK(rounded(1 + 0x1p-8 + 0x1p-20) == 1 + 0x1p-7);
  CHECK(rounded(1 + 3 * 0x1p-8) == 1 + 2 * 0x1p-7);
  CHECK(rounded(-(1 + 3 * 0x1p-8)) == -(1 + 2 * 0x1p-7));
  CHECK(rounded(1.99609375) == 2);
  CHECK(std::isinf(rounded(3.4e38)));
  CHECK(std::isinf(rounded(std::numeric_limits<double>::infinity())));
  CHECK(std::isnan(rounded(std::numeric_limits<double>::quiet_NaN())));
  // A NaN whose fraction is in the lower half only.
  std::uint32_t bits = 0x7f800001;
  float nan;
  std::memcpy(&nan, &bits, sizeof nan);
  CHECK(std::isnan(widenBF16(narrowToBF16(nan))));
  // What is a bfloat16 stays it.
  for (std::uint32_t half = 0; half < 0x7f80; ++half)
    REQUIRE(narrowToBF16(widenBF16(static_cast<std::uint16_t>(half))) == half);
}

TEST_CASE("steps are rounded where values leave them", "[rounding]") {
  Value x = randomValue({4, 3}, 1), y = randomValue({4, 3}, 2);
  std::vector<double> apart = BF16Bench(false).run(x, y),
                      together = BF16Bench(true).run(x, y);
  bool differ = false;
  for (std::size_t i = 0; i < apart.size(); ++i) {
    double a = rounded(x.data[i]), b = rounded(y.data[i]);
    auto sum = static_cast<float>(a + b);
    CHECK(apart[i] == rounded(rounded(sum) + b));
    // One kernel keeps the sum of the first add as it is.
    CHECK(together[i] == rounded(sum + b));
    differ |= apart[i] != together[i];
  }
  // Else the two forms were not told apart.
  CHECK(differ);
}

TEST_CASE("a sum across ranks is rounded once", "[rounding]") {
  auto ranks = GENERATE(2, 5);
  PlanBuilder b(ranks, 4, "bf16");
  Value x = randomValue({4, 10}, 1), w = randomValue({3, 10}, 2);
  std::string xw = b.weight("x", {4, 10}, {nullptr, nullptr}),
              ww = b.weight("w", {3, 10}, {nullptr, b.block(10)});
  b.variant("v", 1, 4);
  std::string ids = b.input("input_ids");
  std::string whole = b.buffer({"tokens", 10}, {nullptr, nullptr}),
              part = b.buffer({"tokens", 10}, {nullptr, b.block(10)}),
              addend = b.buffer({"tokens", 3}, {nullptr, nullptr}, true),
              sum = b.buffer({"tokens", 3}, {nullptr, nullptr});
  b.step("embedding", {{"ids", ids}, {"weight", xw}, {"output", whole}});
  b.step("slice", {{"input", whole}, {"output", part}},
         {{"dim", 1}, {"range", "n10/tp"}});
  b.step("linear", {{"input", part}, {"weight", ww}, {"output", addend}});
  b.step("all_reduce", {{"input", addend}, {"output", sum}}, {{"group", "tp"}});
  b.output("sum", sum);
  TestEngine engine(b.finish(), LAYLINE_PRECISION_BF16);
  engine.weight("x", x);
  engine.weight("w", w);
  engine.input("input_ids", count(4));
  engine.input("positions", count(4));
  engine.run(4);
  std::vector<double> found = engine.output("sum").data;
  for (int t = 0; t < 4; ++t)
    for (int o = 0; o < 3; ++o) {
      double total = 0;
      std::int64_t at = 0;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        std::int64_t size = 10 / ranks + (rank < 10 % ranks ? 1 : 0);
        double own = 0;
        for (std::int64_t i = at; i < at + size; ++i)
          own += rounded(x.data[t * 10 + i]) * rounded(w.data[o * 10 + i]);
        total += rounded(own);
        at += size;
      }
      CHECK(found[t * 3 + o] == rounded(total));
    }
}

TEST_CASE("what is f32 in the plan is not rounded", "[rounding]") {
  PlanBuilder b(1, 4, "bf16");
  b.require("row_statistics");
  Value x = randomValue({4, 10}, 1);
  std::string xw = b.weight("x", {4, 10}, {nullptr, nullptr});
  b.variant("v", 1, 4);
  std::string ids = b.input("input_ids");
  std::string rows = b.buffer({"tokens", 10}, {nullptr, nullptr}),
              squares =
                  b.buffer({"tokens", 1}, {nullptr, nullptr}, false, "f32");
  b.step("embedding", {{"ids", ids}, {"weight", xw}, {"output", rows}});
  b.step("row_squares", {{"input", rows}, {"output", squares}});
  b.output("squares", squares);
  TestEngine engine(b.finish(), LAYLINE_PRECISION_BF16);
  engine.weight("x", x);
  engine.input("input_ids", count(4));
  engine.input("positions", count(4));
  engine.run(4);
  std::vector<double> found = engine.output("squares").data;
  bool isFiner = false;
  for (int t = 0; t < 4; ++t) {
    double expected = 0;
    for (int i = 0; i < 10; ++i)
      expected += std::pow(rounded(x.data[t * 10 + i]), 2);
    CHECK(found[t] == Approx(expected).epsilon(1e-6));
    isFiner |= found[t] != rounded(found[t]);
  }
  CHECK(isFiner);
}

TEST_CASE("a plan that has no bf16 is not run in bf16", "[rounding]") {
  PlanBuilder b(1, 4, "f32");
  std::string xw = b.weight("x", {4, 3}, {nullptr, nullptr});
  b.variant("v", 1, 4);
  std::string ids = b.input("input_ids");
  std::string x = b.buffer({"tokens", 3}, {nullptr, nullptr});
  b.step("embedding", {{"ids", ids}, {"weight", xw}, {"output", x}});
  b.output("x", x);
  CHECK_THROWS_WITH(TestEngine(b.finish(), LAYLINE_PRECISION_BF16),
                    Contains("is of a model in f32"));
}
