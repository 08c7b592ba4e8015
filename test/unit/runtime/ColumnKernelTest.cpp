// Windows of columns, columns side by side, rows times a scale.
#include "KernelBench.h"

using namespace layline::test;
using Catch::Matchers::Contains;

TEST_CASE("windows of columns and columns side by side", "[kernels]") {
  auto ranks = GENERATE(1, 3, 8); // 8: ranks without a row
  auto byRows = GENERATE(true, false);
  Bench bench(ranks, 5);
  bench.b.require("columns");
  Value x = randomValue({64, 7}, 1);
  std::string xw = bench.table("x", x);
  bench.begin();
  std::string source = bench.source(xw, 7);
  if (byRows)
    source = bench.rows(source, 7);
  Json dims = {byRows ? bench.b.block("tokens") : Json(), nullptr};
  std::string tail = bench.buffer({"tokens", 3}, dims),
              head = bench.buffer({"tokens", 2}, dims),
              y = bench.buffer({"tokens", 5}, dims);
  bench.b.step("slice_columns", {{"input", source}, {"output", tail}},
               {{"begin", 4}});
  bench.b.step("slice_columns", {{"input", source}, {"output", head}},
               {{"begin", 0}});
  bench.b.step("concat_columns", {{"inputs", {tail, head}}, {"output", y}});
  bench.b.output("y", y);
  std::vector<double> expected;
  for (int t = 0; t < 5; ++t)
    for (int i : {4, 5, 6, 0, 1})
      expected.push_back(x.data[t * 7 + i]);
  CHECK(bench.run().output("y").data == expected);
}

TEST_CASE("a window of every head", "[kernels]") {
  auto ranks = GENERATE(1, 2, 4); // 3 heads
  Bench bench(ranks, 4);
  bench.b.require("columns");
  Value x = randomValue({64, 12}, 1);
  std::string xw = bench.table("x", x);
  bench.begin();
  std::string whole = bench.source(xw, 12);
  std::string part =
      bench.buffer({"tokens", 12}, {nullptr, bench.b.block(3, 4)});
  bench.b.step("slice", {{"input", whole}, {"output", part}},
               {{"dim", 1}, {"range", "n3/tp"}});
  std::string y =
      bench.buffer({"tokens", 3, 2}, {nullptr, bench.b.block(3), nullptr});
  bench.b.step("slice_columns",
               {{"input", {{"buffer", part}, {"shape", {"tokens", 3, 4}}}},
                {"output", y}},
               {{"begin", 1}});
  bench.b.output("y", y);
  std::vector<double> expected;
  for (int r = 0; r < 12; ++r)
    for (int i : {1, 2})
      expected.push_back(x.data[r * 4 + i]);
  CHECK(bench.run().output("y").data == expected);
}

TEST_CASE("a gate of each row scales a value that owes a sum", "[kernels]") {
  auto ranks = GENERATE(1, 2, 5);
  Bench bench(ranks, 6);
  bench.b.require("columns");
  Value x = randomValue({64, 4}, 1), w = randomValue({3, 4}, 2),
        g = randomValue({1, 4}, 3);
  bench.weight("w", w);
  std::string xw = bench.table("x", x), gw = bench.table("g", g),
              ww = bench.b.weight("w", {3, 4}, {nullptr, bench.b.block(4)});
  bench.begin();
  std::string source = bench.source(xw, 4);
  std::string logit = bench.buffer({"tokens", 1}, {nullptr, nullptr}),
              gate = bench.buffer({"tokens", 1}, {nullptr, nullptr}),
              mine = bench.buffer({"tokens", 4}, {nullptr, bench.b.block(4)}),
              partial = bench.buffer({"tokens", 3}, {nullptr, nullptr}, true),
              scaled = bench.buffer({"tokens", 3}, {nullptr, nullptr}, true),
              y = bench.buffer({"tokens", 3}, {nullptr, nullptr});
  bench.b.step("linear",
               {{"input", source}, {"weight", gw}, {"output", logit}});
  bench.b.step("activation", {{"input", logit}, {"output", gate}},
               {{"function", "sigmoid"}});
  bench.b.step("slice", {{"input", source}, {"output", mine}},
               {{"dim", 1}, {"range", "n4/tp"}});
  bench.b.step("linear",
               {{"input", mine}, {"weight", ww}, {"output", partial}});
  bench.b.step("row_scale",
               {{"input", partial}, {"scales", gate}, {"output", scaled}});
  bench.b.step("all_reduce", {{"input", scaled}, {"output", y}},
               {{"group", "tp"}});
  bench.b.output("y", y);
  std::vector<double> rows = firstRows(x, 6), expected = product(rows, w),
                      gates = product(rows, g);
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] *= function("sigmoid", gates[i / 3]);
  CHECK(error(bench.run().output("y").data, expected) < kTolerance);
}

TEST_CASE("contracts of columns", "[plan][contract]") {
  // y and z of 5 and 3 columns from x of 7, with one thing wrong.
  auto finding = [](const std::function<void(Bench &, Json &)> &change,
                    bool isRequired = true) {
    Bench bench(2, 4);
    if (isRequired)
      bench.b.require("columns");
    std::string xw = bench.table("x", randomValue({64, 7}, 1));
    bench.begin();
    Json s = {{"x", bench.source(xw, 7)},
              {"begin", 4},
              {"columns", 3},
              {"scale", 1},
              {"count", 2}};
    change(bench, s);
    std::string part =
        bench.buffer({"tokens", s["columns"]}, {nullptr, nullptr});
    bench.b.step("slice_columns", {{"input", s["x"]}, {"output", part}},
                 {{"begin", s["begin"]}});
    std::string joined = bench.buffer({"tokens", 10}, {nullptr, nullptr});
    Json inputs = Json::array({part, s["x"]});
    if (s["count"] == 1)
      inputs = Json::array({s["x"]});
    bench.b.step("concat_columns", {{"inputs", inputs}, {"output", joined}});
    std::string scales =
        bench.buffer({"tokens", s["scale"]}, {nullptr, nullptr});
    bench.b.step("slice_columns", {{"input", joined}, {"output", scales}},
                 {{"begin", 0}});
    std::string y = bench.buffer({"tokens", 10}, {nullptr, nullptr});
    bench.b.step("row_scale",
                 {{"input", joined}, {"scales", scales}, {"output", y}});
    bench.b.output("y", y);
    return findings(bench.b.finish());
  };
  auto nothing = [](Bench &, Json &) {};
  CHECK(finding(nothing) == "");
  CHECK_THAT(finding(nothing, false),
             Contains("(slice_columns): is of this kind; 'requires' does not "
                      "list the feature 'columns'"));
  CHECK_THAT(finding([](Bench &, Json &s) { s["begin"] = 5; }),
             Contains("takes the columns [5, 8) of the 7"));
  CHECK_THAT(finding([](Bench &, Json &s) { s["columns"] = 2; }),
             Contains("puts 9 columns into the 10"));
  CHECK_THAT(finding([](Bench &, Json &s) { s["scale"] = 2; }),
             Contains("dimension 1") && Contains("1 is expected"));
  CHECK_THAT(finding([](Bench &, Json &s) { s["count"] = 1; }),
             Contains("has one input; two or more are expected"));
}
