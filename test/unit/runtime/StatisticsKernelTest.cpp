// Sums of squares, norms by them, and KV heads that are counted once.
#include "KernelBench.h"

using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

constexpr double kEps = 1e-3;

std::vector<double> normed(const std::vector<double> &x, const Value &w) {
  std::size_t width = w.data.size();
  std::vector<double> y(x.size());
  for (std::size_t row = 0; row < x.size(); row += width) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i)
      squares += x[row + i] * x[row + i];
    double scale = 1 / std::sqrt(squares / static_cast<double>(width) + kEps);
    for (std::size_t i = 0; i < width; ++i)
      y[row + i] = x[row + i] * scale * w.data[i];
  }
  return y;
}

} // namespace

TEST_CASE("a norm over KV heads that ranks share", "[kernels]") {
  // 12 query heads on 4 KV heads of 2 features; 16: ranks without heads.
  auto ranks = GENERATE(1, 2, 3, 4, 5, 8, 16);
  Bench bench(ranks, 3);
  bench.b.require("row_statistics");
  Value x = randomValue({64, 5}, 1), w = randomValue({8, 5}, 2),
        gamma = randomValue({8}, 3);
  bench.weight("w", w);
  bench.weight("gamma", gamma);
  Json held = bench.b.readers(4, 12, 2), kept = bench.b.firstReaders(4, 12, 2);
  std::string xw = bench.table("x", x),
              kw = bench.b.weight("w", {8, 5}, {held, nullptr}),
              gw = bench.b.weight("gamma", {8}, Json::array({held}));
  bench.begin();
  std::string source = bench.source(xw, 5);
  std::string k = bench.buffer({"tokens", 8}, {nullptr, held}),
              first = bench.buffer({"tokens", 8}, {nullptr, kept}),
              addend = bench.buffer({"tokens", 1}, {nullptr, nullptr}, true),
              sum = bench.buffer({"tokens", 1}, {nullptr, nullptr}),
              y = bench.buffer({"tokens", 8}, {nullptr, held});
  bench.b.step("linear", {{"input", source}, {"weight", kw}, {"output", k}});
  bench.b.step("slice", {{"input", k}, {"output", first}},
               {{"dim", 1}, {"range", kept["range"]}});
  bench.b.step("row_squares", {{"input", first}, {"output", addend}});
  bench.b.step("all_reduce", {{"input", addend}, {"output", sum}},
               {{"group", "tp"}});
  bench.b.step(
      "norm_by",
      {{"input", k}, {"statistics", sum}, {"weight", gw}, {"output", y}},
      {{"eps", kEps}, {"width", 8}});
  bench.b.output("y", y);
  std::vector<double> expected = normed(product(firstRows(x, 3), w), gamma);
  CHECK(error(bench.run().output("y").data, expected) < kTolerance);
}

TEST_CASE("contracts of statistics", "[plan][contract]") {
  // The program above on 8 ranks, with one thing wrong.
  auto finding = [](const std::function<void(Bench &, Json &)> &change,
                    bool isRequired = true) {
    Bench bench(8, 4);
    if (isRequired)
      bench.b.require("row_statistics");
    Json held = bench.b.readers(4, 8, 2);
    Json s = {{"from", held},       {"kept", bench.b.firstReaders(4, 8, 2)},
              {"counted", "first"}, {"statistics", "sum"},
              {"columns", 1},       {"width", 8}};
    change(bench, s);
    std::string xw = bench.table("x", randomValue({64, 5}, 1)),
                kw = bench.b.weight("w", {8, 5}, {s["from"], nullptr}),
                gw = bench.b.weight("gamma", {8}, Json::array({held}));
    bench.begin();
    std::string source = bench.source(xw, 5);
    Json k = bench.buffer({"tokens", 8}, {nullptr, s["from"]}),
         first = bench.buffer({"tokens", 8}, {nullptr, s["kept"]}),
         addend =
             bench.buffer({"tokens", s["columns"]}, {nullptr, nullptr}, true),
         sum = bench.buffer({"tokens", s["columns"]}, {nullptr, nullptr}),
         y = bench.buffer({"tokens", 8}, {nullptr, s["from"]});
    bench.b.step("linear", {{"input", source}, {"weight", kw}, {"output", k}});
    bench.b.step("slice", {{"input", k}, {"output", first}},
                 {{"dim", 1}, {"range", s["kept"]["range"]}});
    bench.b.step("row_squares", {{"input", s["counted"] == "first" ? first : k},
                                 {"output", addend}});
    bench.b.step("all_reduce", {{"input", addend}, {"output", sum}},
                 {{"group", "tp"}});
    bench.b.step("norm_by",
                 {{"input", k},
                  {"statistics", s["statistics"] == "sum" ? sum : addend},
                  {"weight", gw},
                  {"output", y}},
                 {{"eps", kEps}, {"width", s["width"]}});
    bench.b.output("y", y);
    return findings(bench.b.finish());
  };
  auto nothing = [](Bench &, Json &) {};
  CHECK(finding(nothing) == "");
  CHECK_THAT(finding(nothing, false),
             Contains("range 'first.kv4of8/tp': is of kind 'first_readers'; "
                      "'requires' does not list the feature "
                      "'row_statistics'") &&
                 Contains("(row_squares): is of this kind; 'requires' does "
                          "not list the feature 'row_statistics'"));
  CHECK_THAT(finding([](Bench &, Json &s) { s["counted"] = "all"; }),
             Contains("gives one KV head to several ranks: it would count "
                      "more than once"));
  CHECK_THAT(finding([](Bench &, Json &s) { s["statistics"] = "own"; }),
             Contains("owes a sum"));
  CHECK_THAT(finding([](Bench &, Json &s) { s["width"] = 9; }),
             Contains("is over a width of 9; 1 to 8"));
  CHECK_THAT(finding([](Bench &, Json &s) { s["columns"] = 2; }),
             Contains("dimension 1") && Contains("1 is expected"));
  // First readers of other query heads, and of what is no readers' range.
  CHECK_THAT(finding([](Bench &b, Json &s) {
               s["kept"] = b.b.firstReaders(4, 12, 2);
             }),
             Contains("the readers whose first ones range 'first.kv4of12/tp' "
                      "names are expected"));
  CHECK_THAT(finding([](Bench &b, Json &s) { s["from"] = b.b.block(4, 2); }),
             Contains("the readers whose first ones range 'first.kv4of8/tp' "
                      "names are expected"));
}

TEST_CASE("ranges of first readers", "[plan][ranges]") {
  auto finding = [](const std::function<void(Json &)> &change) {
    Bench bench(8, 4);
    bench.b.require("row_statistics");
    bench.b.firstReaders(4, 8);
    std::string xw = bench.table("x", randomValue({64, 5}, 1));
    bench.begin();
    bench.b.output("y", bench.source(xw, 5));
    Json plan = bench.b.finish();
    for (Json &range : plan["ranges"])
      if (range["kind"] == "first_readers")
        change(range);
    return findings(plan);
  };
  CHECK(finding([](Json &) {}) == "");
  // Every rank that reads a head keeps it.
  CHECK_THAT(finding([](Json &range) {
               range["segments"] = Json::array(
                   {{{"begin", {"floordiv", "rank.tp", 2}}, {"size", 1}}});
             }),
             Contains("gives rank 1 on axis 'tp' [0, 1) of 4") &&
                 Contains("what it is the first to read is"));
  CHECK_THAT(finding([](Json &range) { range["of"] = 9; }),
             Contains("9 query heads for 4 KV heads"));
  CHECK_THAT(finding([](Json &range) { range.erase("of"); }), Contains("of"));
}
