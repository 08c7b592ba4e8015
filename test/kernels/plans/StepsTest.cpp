// Steps that are one launch each, beside the device "cpu": what is only moved
// has the same bits, what is computed is as near as float32 is.
#include "Both.h"
#include "LlamaPlan.h"
#include "PagedCache.h"
#include "StepPlans.h"

#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::test;

namespace {

Json rowsOf(Bench &bench) { return bench.b.block("tokens"); }

} // namespace

TEST_CASE("a rank's value goes to all of its group") {
  auto ranks = GENERATE(2, 3, 4, 8);
  auto root = GENERATE(0, -1); // the first, the last
  // 2048 elements are chunks for several blocks, 5 x 3 no whole vectors.
  auto [tokens, width] = GENERATE(std::pair(8, 256), std::pair(5, 3));
  Bench bench(ranks, tokens, 0, "f32");
  addBroadcasts(bench, root, width);
  Both both(bench);
  both.checkBits("sent");
  CHECK(both.kernels.integers("ids") == count(tokens));
  std::string name = "broadcast x" + std::to_string(ranks);
  if (width == 256)
    return both.checkKernel(name, 2);
  both.checkWithout("broadcast: it is 60 bytes, kernels move multiples of 16");
  both.checkWithout("broadcast: it is 40 bytes, kernels move multiples of 16");
}

TEST_CASE("columns are gathered as rows, where all ranks hold equally many") {
  auto ranks = GENERATE(2, 3, 4, 8);
  auto columns = GENERATE(48, 32); // 32 are no equal parts of 3 ranks
  Bench bench(ranks, 5, 0, "f32");
  std::string table = bench.table("x", randomValue({64, columns * 8}, 1));
  bench.begin();
  std::string x = bench.source(table, columns * 8),
              part = bench.buffer({"tokens", columns * 8},
                                  {nullptr, bench.b.block(columns, 8)}),
              all = bench.buffer({"tokens", columns * 8}, {nullptr, nullptr});
  std::string range = "n" + std::to_string(columns) + "/tp";
  bench.b.step("slice", {{"input", x}, {"output", part}},
               {{"dim", 1}, {"range", range}});
  bench.b.step("all_gather", {{"input", part}, {"output", all}},
               {{"group", "tp"}, {"dim", 1}, {"range", range}});
  bench.b.output("all", all);
  Both both(bench);
  both.checkBits("all");
  if (columns % ranks == 0)
    return both.checkKernel("row_collective f32 x" + std::to_string(ranks) +
                            " own->everyone");
  both.checkWithout("all_gather: member 2 holds 80 of 256 columns, kernels "
                    "gather equal parts");
}

TEST_CASE("zigzag rows are gathered as blocks, where they are as many") {
  auto tokens = GENERATE(16, 13);
  Bench bench(1, tokens, 0, "f32");
  bench.b.addContextAxis(4);
  std::string table = bench.table("x", randomValue({64, 8}, 1));
  bench.begin();
  Json zigzag = bench.b.zigzag("tokens");
  std::string x = bench.source(table, 8),
              part = bench.buffer({"tokens", 8}, {zigzag, nullptr}),
              all = bench.buffer({"tokens", 8}, {nullptr, nullptr});
  bench.b.step("slice", {{"input", x}, {"output", part}},
               {{"dim", 0}, {"range", zigzag["range"]}});
  bench.b.step("all_gather", {{"input", part}, {"output", all}},
               {{"group", "cp"}, {"dim", 0}, {"range", zigzag["range"]}});
  bench.b.output("all", all);
  Both both(bench);
  both.checkBits("all");
  if (tokens == 16)
    return both.checkKernel("row_collective f32 x4 own->everyone");
  // 8 parts of 2 or 1 rows: the first 5 have 2.
  both.checkWithout("all_gather: member 0 holds 3 of 13 rows, kernels deal "
                    "rows out by balanced block");
}

TEST_CASE("rows are quantized as kernels do, to the bit") {
  auto group = GENERATE(0, 16, 4);
  auto format = GENERATE(as<std::string>(), "fp8_e4m3", "fp8_e5m2");
  constexpr std::int64_t kWidth = 64;
  Bench bench(3, 7, 0, "f32");
  bench.b.require("quantized_rows");
  Value x = randomValue({64, kWidth}, 3);
  std::fill_n(x.data.begin() + 2 * kWidth, kWidth, 0.0);
  std::string table = bench.table("x", x);
  bench.begin();
  std::string part = bench.rows(bench.source(table, kWidth), kWidth);
  std::int64_t columns = group ? kWidth / group : 1;
  Json rows = rowsOf(bench);
  std::string values =
                  bench.b.typed(format, {"tokens", kWidth}, {rows, nullptr}),
              scales =
                  bench.b.typed("f32", {"tokens", columns}, {rows, nullptr}),
              y = bench.buffer({"tokens", kWidth}, {rows, nullptr});
  Json attrs = {{"format", format}};
  if (group)
    attrs["group_size"] = group;
  bench.b.step("quantize",
               {{"input", part}, {"values", values}, {"scales", scales}},
               attrs);
  bench.b.step("dequantize",
               {{"values", values}, {"scales", scales}, {"output", y}});
  for (auto [id, buffer] : {std::pair("values", values),
                            std::pair("scales", scales), std::pair("y", y)})
    bench.b.output(id, buffer);
  Both both(bench);
  for (const char *id : {"values", "scales", "y"})
    both.checkBits(id);
  if (format == "fp8_e5m2")
    both.checkWithout("quantize: kernels give fp8_e4m3, no fp8_e5m2");
  else
    both.checkKernel(group ? "row_collective f32 x1 own->own fp8:group"
                           : "row_collective f32 x1 own->own fp8:row");
  both.checkWithout("dequantize: no kernel of rows takes values with scales");
}

TEST_CASE("heads are rotated in all styles, by vectors and by elements") {
  auto style =
      GENERATE(as<std::string>(), "half", "interleaved", "interleaved_to_half");
  auto rotary = GENERATE(16, 12);
  auto start = GENERATE(0, 90); // other numbers from position 100 on
  Bench bench(3, 12, start, "f32");
  addRope(bench, style, rotary);
  Both both(bench);
  // An angle is reduced in another way (kernels/Rope.cuh).
  CHECK(error(both.kernels.output("y").data, both.cpu.output("y").data) < 1e-6);
  both.checkKernel("rope f32 x1 own->own " + style +
                   (rotary == 16 ? "" : " by_element"));
}

TEST_CASE("rows are scattered into pages where they lie") {
  auto pageRows = GENERATE(1, 4, 100);
  auto isByHead = GENERATE(false, true);
  constexpr std::int64_t kRanks = 3;
  TestEngine own(llamaPlan(kRanks, Boundaries::Rows), LAYLINE_PRECISION_F32,
                 simt("race")),
      paged(llamaPlan(kRanks, Boundaries::Rows), LAYLINE_PRECISION_F32,
            simt("race"));
  PagedCache cache(pageRows, isByHead);
  layline_cache_hooks hooks = cache.hooks();
  paged.check(layline_cache_hooks_set(paged.get(), nullptr, &hooks));
  for (TestEngine *engine : {&own, &paged})
    engine->weights(LAYLINE_GOLDEN_DIR "/llama/model.safetensors");
  std::int64_t past = 0;
  for (std::int64_t tokens : {7, 1, 3}) {
    for (TestEngine *engine : {&own, &paged}) {
      engine->input("input_ids", count(tokens, past));
      engine->input("positions", count(tokens, past));
      engine->run(tokens);
      // Keys and values of two layers, and positions: rows of 8 bytes.
      CHECK(count(kernelUses(*engine), "scatter_pages") == 5);
    }
    past += tokens;
    CHECK(paged.output("logits").data == own.output("logits").data);
  }
  for (const char *id : {"layer.0.key", "layer.1.value"}) {
    std::vector<double> rows[2];
    for (int i : {0, 1}) {
      TestEngine &engine = i ? paged : own;
      rows[i].resize(static_cast<std::size_t>(past) * 2 * 16);
      engine.check(
          layline_cache_read(engine.get(), id, LAYLINE_F64, rows[i].data(),
                             static_cast<std::int64_t>(rows[i].size())));
    }
    CHECK(rows[0] == rows[1]);
  }
}

TEST_CASE("rows of a page that kernels cannot write go there all the same") {
  layline_cache_hooks far{};
  far.size = sizeof far;
  far.append = [](void *, const layline_cache_request *, const void *) {
    return LAYLINE_OK;
  };
  far.read = [](void *, const layline_cache_request *request, void *rows) {
    auto bytes = request->rows * request->items * request->item_elements *
                 (request->dtype == LAYLINE_F32 ? 4 : 8);
    std::fill_n(static_cast<char *>(rows), bytes, char(0));
    return LAYLINE_OK;
  };
  TestEngine engine(llamaPlan(2, Boundaries::Rows), LAYLINE_PRECISION_F32,
                    simt());
  engine.weights(LAYLINE_GOLDEN_DIR "/llama/model.safetensors");
  engine.check(layline_cache_hooks_set(engine.get(), "layer.0.key", &far));
  engine.input("input_ids", count(5));
  engine.input("positions", count(5));
  engine.run(5);
  CHECK(count(withoutKernel(engine),
              "cache_append: the engine's functions take the rows") == 1);
  CHECK(count(kernelUses(engine), "scatter_pages") == 4);
}

TEST_CASE("a mixture's rows are sorted, permuted and merged by kernels") {
  // With 8 ranks three have no expert, and one has no row.
  auto ranks = GENERATE(1, 3, 8);
  auto isRouted = GENERATE(false, true);
  constexpr int kExperts = 5, kInner = 6, kWidth = 16, kTop = 2;
  Bench bench(ranks, 7, 0, "f32");
  if (isRouted)
    bench.b.require("expert_parallel");
  std::string xw = bench.table("x", randomValue({64, kWidth}, 1)),
              lw = bench.table("logits", randomValue({64, kExperts}, 2));
  Experts experts(bench, kExperts, kInner, kWidth);
  bench.begin();
  std::string x = bench.source(xw, kWidth), scores = bench.source(lw, kExperts);
  if (isRouted) {
    x = bench.rows(x, kWidth);
    scores = bench.rows(scores, kExperts);
  }
  auto rows = [&](const Json &layout, int width, bool owes = false,
                  const std::string &dtype = "") {
    return bench.b.buffer({"tokens", width}, {layout, nullptr}, owes, dtype);
  };
  Json block = isRouted ? rowsOf(bench) : Json(),
       at = isRouted ? bench.b.routed("tokens", kExperts) : Json();
  auto [ids, weights] = addRouter(bench, scores, kTop, block);
  std::string made = rows(at, kWidth, true);
  std::string chosen = ids;
  Json group = {{"group", "tp"}, {"range", "tokens/tp"}, {"experts", kExperts}};
  if (isRouted) {
    std::string sent = rows(at, kWidth), sentWeights = rows(at, kTop);
    chosen = rows(at, kTop, false, "i32");
    bench.b.step("dispatch",
                 {{"input", x},
                  {"ids", ids},
                  {"weights", weights},
                  {"output", sent},
                  {"output_ids", chosen},
                  {"output_weights", sentWeights}},
                 group);
    x = sent;
    weights = sentWeights;
  }
  experts.add(x, chosen, weights, made);
  std::string y = rows(block, kWidth);
  if (isRouted)
    bench.b.step("combine", {{"input", made}, {"ids", ids}, {"output", y}},
                 group);
  else
    bench.b.step("all_reduce", {{"input", made}, {"output", y}},
                 {{"group", "tp"}});
  bench.b.output("y", y);
  Both both(bench);
  CHECK(error(both.kernels.output("y").data, both.cpu.output("y").data) < 1e-6);
  both.checkKernel("sort_by_expert, permute_rows f32, merge_experts f32");
}
