// all_gathers of what kernels of rows do not compute with: ids, rows of 8 bits,
// rows that are no vectors. Moved by gather_rows, bit for bit.
#include "Both.h"
#include "StepPlans.h"

#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::test;

namespace {

std::string gatherOf(std::int64_t ranks, bool isByWord) {
  return "gather_rows x" + std::to_string(ranks) + " own->everyone" +
         (isByWord ? " by_word" : "");
}

} // namespace

TEST_CASE("ids are gathered as bytes") {
  // Fewer rows than ranks, uneven ones, as many.
  auto [ranks, tokens] = GENERATE(std::pair(2, 1), std::pair(3, 7),
                                  std::pair(4, 9), std::pair(8, 16));
  CAPTURE(ranks, tokens);
  constexpr int kExperts = 5, kTop = 2;
  Bench bench(ranks, tokens, 0, "f32");
  std::string table = bench.table("x", randomValue({64, kExperts}, 2));
  bench.begin();
  // One id a row is 8 bytes, two are a vector.
  std::string ids = addRouter(bench, bench.source(table, kExperts), kTop).ids;
  Json block = bench.b.block("tokens");
  bench.b.output("positions", addGather(bench, bench.positions, "i64",
                                        Json::array({"tokens"}), block));
  bench.b.output("ids", addGather(bench, ids, "i32", {"tokens", kTop}, block));
  Both both(bench);
  CHECK(both.kernels.integers("positions") == count(tokens));
  CHECK(both.kernels.integers("ids") == both.cpu.integers("ids"));
  both.checkKernel(gatherOf(ranks, true));
  both.checkKernel(gatherOf(ranks, false));
}

TEST_CASE("ids of zigzag rows are put in their places") {
  Bench bench(1, 16, 0, "f32");
  bench.b.addContextAxis(4);
  bench.begin();
  bench.b.output("ids",
                 addGather(bench, bench.ids, "i64", Json::array({"tokens"}),
                           bench.b.zigzag("tokens"), "cp"));
  Both both(bench);
  CHECK(both.kernels.integers("ids") == count(16));
  both.checkKernel(gatherOf(4, true));
}

TEST_CASE("quantized rows and their scales are gathered as bytes") {
  auto ranks = GENERATE(2, 3, 8);
  auto group = GENERATE(0, 8);
  auto format = GENERATE(as<std::string>(), "fp8_e4m3", "fp8_e5m2");
  // Rows of 24 bytes are no vectors; as floats they are.
  auto width = GENERATE(64, 24);
  auto precision = GENERATE(LAYLINE_PRECISION_F32, LAYLINE_PRECISION_BF16);
  CAPTURE(ranks, group, format, width, precision);
  const bool isBF16 = precision == LAYLINE_PRECISION_BF16;
  Bench bench(ranks, 7, 0, isBF16 ? "bf16" : "f32");
  bench.b.require("quantized_rows");
  std::string table = bench.table("x", randomValue({64, width}, 3));
  bench.begin();
  std::string x = bench.source(table, width);
  const int columns = group ? width / group : 1;
  Json whole = {nullptr, nullptr}, attrs = {{"format", format}};
  std::string values = bench.b.typed(format, {"tokens", width}, whole),
              scales = bench.b.typed("f32", {"tokens", columns}, whole),
              y = bench.buffer({"tokens", width}, whole);
  if (group)
    attrs["group_size"] = group;
  bench.b.step("quantize",
               {{"input", x}, {"values", values}, {"scales", scales}}, attrs);
  Json block = bench.b.block("tokens");
  std::string allValues =
                  addGather(bench, values, format, {"tokens", width}, block),
              allScales =
                  addGather(bench, scales, "f32", {"tokens", columns}, block);
  bench.b.step("dequantize",
               {{"values", allValues}, {"scales", allScales}, {"output", y}});
  for (auto [id, buffer] : {std::pair("values", allValues),
                            std::pair("scales", allScales), std::pair("y", y)})
    bench.b.output(id, buffer);
  Both both(bench, precision);
  // What is quantized is the same on both devices, to the bit.
  for (const char *id : {"values", "scales", "y"})
    both.checkBits(id);
  bool isOfWords = isBF16 && width == 24, areScalesOfWords = columns % 4 != 0,
       areScalesOfRows = columns % 8 == 0;
  int byWord = isOfWords + areScalesOfWords,
      byVector = !isOfWords + (!areScalesOfWords && !areScalesOfRows);
  both.checkKernel(gatherOf(ranks, true), byWord);
  both.checkKernel(gatherOf(ranks, false), byVector);
  both.checkKernel("row_collective f32 x" + std::to_string(ranks) +
                       " own->everyone",
                   areScalesOfRows);
}

TEST_CASE("rows of a number of elements that no vector holds are bytes") {
  auto [width, precision, isMoved] =
      GENERATE(std::tuple(3, LAYLINE_PRECISION_F32, true),
               std::tuple(6, LAYLINE_PRECISION_BF16, true),
               std::tuple(3, LAYLINE_PRECISION_BF16, false));
  CAPTURE(width, precision);
  const bool isBF16 = precision == LAYLINE_PRECISION_BF16;
  Bench bench(3, 7, 0, isBF16 ? "bf16" : "f32");
  std::string table = bench.table("x", randomValue({64, width}, 1));
  bench.begin();
  bench.b.output("all", addGather(bench, bench.source(table, width),
                                  isBF16 ? "bf16" : "f32", {"tokens", width},
                                  bench.b.block("tokens")));
  Both both(bench, precision);
  both.checkBits("all");
  if (isMoved)
    return both.checkKernel(gatherOf(3, true));
  both.checkWithout("all_gather: row_collective bf16 x3 own->everyone: width "
                    "3, expected a multiple of 8 elements");
}

TEST_CASE("ids that no kernel gathers go step by step, and the listing says "
          "why") {
  auto [ranks, reason] = GENERATE(
      std::pair(5, "no kernel is gather_rows x5 own->everyone by_word"),
      std::pair(1, "its group is one rank"));
  CAPTURE(ranks);
  Bench bench(ranks, 7, 0, "f32");
  bench.begin();
  bench.b.output("ids",
                 addGather(bench, bench.ids, "i64", Json::array({"tokens"}),
                           bench.b.block("tokens")));
  Both both(bench);
  CHECK(both.kernels.integers("ids") == count(7));
  both.checkWithout("all_gather: " + std::string(reason));
}
