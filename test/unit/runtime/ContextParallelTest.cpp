// Plans of format 1.1: rows split over a second axis by zigzag, block or
// cyclic, and a rank's rows again over tp.
#include "LlamaPlan.h"
#include "TestEngine.h"
#include "plan/Load.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>

using namespace layline::test;
using Catch::Matchers::Contains;
using layline::runtime::Items;
using layline::runtime::Part;
using layline::runtime::Plan;
using layline::runtime::Range;

namespace {

const std::string kModel = LAYLINE_GOLDEN_DIR "/llama/model.safetensors";

struct Mesh {
  std::int64_t tp;
  Context context;
};

/// Ids that do not repeat in the order of their positions.
std::vector<std::int64_t> someIds(std::int64_t tokens, std::int64_t from) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < tokens; ++i)
    ids.push_back((from + i) * 37 % 128);
  return ids;
}

void run(TestEngine &engine, std::int64_t tokens, std::int64_t past) {
  engine.input("input_ids", someIds(tokens, past));
  engine.input("positions", count(tokens, past));
  engine.run(tokens);
}

/// Every named value of one engine against the other's.
void compare(TestEngine &found, TestEngine &expected) {
  CHECK(error(found.output("logits").data, expected.output("logits").data) <
        1e-12);
  REQUIRE(found.tapNames() == expected.tapNames());
  for (const std::string &name : found.tapNames()) {
    CAPTURE(name);
    CHECK(error(found.tap(name).data, expected.tap(name).data) < 1e-12);
  }
}

std::vector<double> cacheRows(TestEngine &engine, const std::string &id,
                              std::int64_t rows) {
  std::vector<double> values(static_cast<std::size_t>(rows * 2 * 16));
  engine.check(layline_cache_read(engine.get(), id.c_str(), LAYLINE_F64,
                                  values.data(),
                                  static_cast<std::int64_t>(values.size())));
  return values;
}

Plan loaded(const Json &plan) {
  layline::runtime::LoadedPlan result =
      layline::runtime::loadPlan(plan.dump(), "plan");
  CHECK(result.findings == std::vector<std::string>());
  return std::move(result.plan);
}

std::vector<std::int64_t> listed(const Items &items) {
  std::vector<std::int64_t> result;
  for (Part part : items)
    for (std::int64_t i = part.begin; i < part.end(); ++i)
      result.push_back(i);
  return result;
}

int rangeOf(const Plan &plan, const std::string &id) {
  for (std::size_t i = 0; i < plan.ranges.size(); ++i)
    if (plan.ranges[i].id == id)
      return static_cast<int>(i);
  throw std::out_of_range(id);
}

/// y = table[ids], its rows split over cp and then over tp.
PlanBuilder rowsOnly(std::int64_t tp, std::int64_t cp,
                     const std::function<Json(PlanBuilder &)> &rows,
                     std::int64_t maxTokens = 64) {
  PlanBuilder builder(tp, maxTokens, "f64");
  builder.addContextAxis(cp);
  Json outer = rows(builder), inner = builder.within(outer);
  std::string table = builder.weight("t", {64, 3}, {nullptr, nullptr});
  builder.variant("v", 1, maxTokens);
  std::string ids = builder.input("input_ids", inner);
  std::string y = builder.buffer({"tokens", 3}, {inner, nullptr});
  builder.step("embedding", {{"ids", ids}, {"weight", table}, {"output", y}});
  builder.output("y", y);
  return builder;
}

} // namespace

TEST_CASE("llama by context parallelism is llama on one rank", "[context]") {
  auto [tp, context] =
      GENERATE(Mesh{2, {2, "zigzag", 0}}, Mesh{2, {2, "cyclic", 1}},
               Mesh{2, {2, "cyclic", 3}}, Mesh{2, {2, "block", 0}},
               Mesh{3, {2, "zigzag", 0}}, Mesh{2, {3, "zigzag", 0}},
               Mesh{1, {4, "zigzag", 0}}, Mesh{4, {3, "cyclic", 2}});
  auto form = GENERATE(Boundaries::Whole, Boundaries::Rows, Boundaries::Fused);
  CAPTURE(tp, context.ranks, context.kind, context.interleave,
          static_cast<int>(form));
  Json plan = llamaPlan(tp, form, 1, context);
  REQUIRE(findings(plan) == "");
  TestEngine engine(plan), reference(llamaPlan(1, Boundaries::Whole));
  engine.weights(kModel);
  reference.weights(kModel);
  for (std::int64_t tokens : {1, 2, 3, 5, 7, 9, 11}) {
    CAPTURE(tokens);
    for (TestEngine *one : {&engine, &reference}) {
      one->check(layline_past_set(one->get(), 0));
      run(*one, tokens, 0);
    }
    compare(engine, reference);
  }
  // Behind the 11 rows: what the ranks cached is in the order of the sequence.
  std::int64_t past = 11;
  for (std::int64_t tokens : {5, 1, 2, 7}) {
    CAPTURE(past, tokens);
    run(engine, tokens, past);
    run(reference, tokens, past);
    compare(engine, reference);
    past += tokens;
  }
  for (std::string id : {"layer.0.key", "layer.1.value"})
    CHECK(error(cacheRows(engine, id, past), cacheRows(reference, id, past)) <
          1e-12);
}

TEST_CASE("a context-parallel plan changes form with the tokens", "[context]") {
  TestEngine engine(llamaPlan(2, Boundaries::Fused, 6, {2, "zigzag", 0})),
      reference(llamaPlan(1, Boundaries::Whole));
  engine.weights(kModel);
  reference.weights(kModel);
  std::int64_t past = 0;
  for (std::int64_t tokens : {9, 1, 5, 6, 2}) {
    run(engine, tokens, past);
    run(reference, tokens, past);
    compare(engine, reference);
    past += tokens;
  }
}

TEST_CASE("the items of every kind", "[context]") {
  auto at = [](const Plan &plan, const std::string &range, std::int64_t tokens,
               std::int64_t tp, std::int64_t cp) {
    return listed(plan.items(rangeOf(plan, range), tokens, {tp, cp}));
  };
  using List = std::vector<std::int64_t>;
  Plan zigzag = loaded(rowsOnly(2, 2, [](PlanBuilder &b) {
                         return b.zigzag("tokens");
                       }).finish());
  // Parts of 3, 3, 3, 2: ranks take 0 and 3, 1 and 2.
  CHECK(at(zigzag, "tokens/cp:zigzag", 11, 0, 0) == List{0, 1, 2, 9, 10});
  CHECK(at(zigzag, "tokens/cp:zigzag", 11, 1, 1) == List{3, 4, 5, 6, 7, 8});
  CHECK(at(zigzag, "tokens/cp:zigzag/tp", 11, 0, 0) == List{0, 1, 2});
  CHECK(at(zigzag, "tokens/cp:zigzag/tp", 11, 1, 0) == List{9, 10});
  CHECK(at(zigzag, "tokens/cp:zigzag/tp", 1, 1, 0).empty());
  int nested = rangeOf(zigzag, "tokens/cp:zigzag/tp");
  CHECK(zigzag.ownItems(nested, 11, {1, 0}) == Items{{3, 2}});
  CHECK(zigzag.items(nested, 11, {1, 1}) == Items{{6, 3}});
  CHECK(zigzag.part(nested, 11, {1, 0}).size == 2);
  CHECK(zigzag.axesOf(nested) == std::vector<int>{0, 1});
  Plan cyclic = loaded(rowsOnly(2, 2, [](PlanBuilder &b) {
                         return b.cyclic("tokens", 3);
                       }).finish());
  CHECK(at(cyclic, "tokens/cp:cyclic3", 11, 0, 0) == List{0, 1, 2, 6, 7, 8});
  CHECK(at(cyclic, "tokens/cp:cyclic3", 11, 0, 1) == List{3, 4, 5, 9, 10});
  CHECK(at(cyclic, "tokens/cp:cyclic3/tp", 11, 1, 1) == List{9, 10});
  CHECK(at(cyclic, "tokens/cp:cyclic3/tp", 11, 0, 1) == List{3, 4, 5});
}

TEST_CASE("every item is dealt out once", "[context]") {
  auto tp = GENERATE(1, 2, 3);
  auto cp = GENERATE(1, 2, 3, 4);
  auto interleave = GENERATE(0, 1, 2, 5);
  Plan plan = loaded(rowsOnly(tp, cp, [&](PlanBuilder &b) {
                       return interleave == 0 ? b.zigzag("tokens")
                                              : b.cyclic("tokens", interleave);
                     }).finish());
  for (std::int64_t tokens = 1; tokens <= 33; ++tokens)
    for (std::size_t range = 0; range < plan.ranges.size(); ++range) {
      std::vector<std::int64_t> all;
      plan.forEachSetting(plan.axesOf(static_cast<int>(range)),
                          [&](const std::vector<std::int64_t> &coordinates) {
                            for (std::int64_t item :
                                 listed(plan.items(static_cast<int>(range),
                                                   tokens, coordinates)))
                              all.push_back(item);
                          });
      std::sort(all.begin(), all.end());
      REQUIRE(all == count(tokens));
    }
}

TEST_CASE("a buffer has room for the rank with most rows", "[context]") {
  // Parts of 1, 1, 1, 0: the second rank has two rows, the first has one.
  Json plan = rowsOnly(
                  1, 2, [](PlanBuilder &b) { return b.zigzag("tokens"); }, 3)
                  .finish();
  REQUIRE(findings(plan) == "");
  for (Json &buffer : plan["variants"][0]["buffers"])
    if (buffer.contains("bytes"))
      buffer["bytes"] = 24;
  CHECK_THAT(findings(plan),
             Contains("buffer 'b1': has 24 bytes; 3 tokens need 48"));
}

TEST_CASE("inputs and outputs split twice", "[context]") {
  auto interleave = GENERATE(0, 1, 3);
  TestEngine engine(rowsOnly(2, 3, [&](PlanBuilder &b) {
                      return interleave == 0 ? b.zigzag("tokens")
                                             : b.cyclic("tokens", interleave);
                    }).finish());
  Value table = randomValue({64, 3}, 1);
  engine.weight("t", table);
  for (std::int64_t tokens : {1, 2, 4, 13, 64}) {
    engine.check(layline_past_set(engine.get(), 0));
    std::vector<std::int64_t> ids;
    std::vector<double> expected;
    for (std::int64_t i = 0; i < tokens; ++i) {
      ids.push_back(i * 29 % 64);
      for (int j = 0; j < 3; ++j)
        expected.push_back(table.data[ids.back() * 3 + j]);
    }
    engine.input("input_ids", ids);
    engine.input("positions", count(tokens));
    engine.run(tokens);
    CHECK(engine.output("y").data == expected);
  }
}

TEST_CASE("slices and collectives of segmented ranges along every dimension",
          "[context]") {
  auto dim = GENERATE(0, 1);
  auto interleave = GENERATE(0, 1, 3);
  auto tokens = GENERATE(1, 3, 9, 10);
  constexpr std::int64_t kWidth = 14, kUnit = 2;
  PlanBuilder b(2, 64, "f64");
  b.addContextAxis(3);
  Json extent = dim == 0 ? Json("tokens") : Json(kWidth / kUnit);
  std::int64_t unit = dim == 0 ? 1 : kUnit;
  Json outer = interleave == 0 ? b.zigzag(extent, unit)
                               : b.cyclic(extent, interleave, unit),
       inner = b.within(outer),
       inputs = dim == 1 ? outer : b.block(kWidth, 1, "cp");
  std::string table = b.weight("t", {64, kWidth}, {nullptr, nullptr}),
              a = b.weight("a", {kWidth, kWidth}, {nullptr, inputs});
  b.variant("v", 1, 64);
  std::string ids = b.input("input_ids");
  auto buffer = [&](const Json &split, bool owes = false) {
    Json dims = {nullptr, nullptr};
    dims[dim] = split;
    return b.buffer({"tokens", kWidth}, dims, owes);
  };
  auto attrs = [&](const char *group, const Json &range) {
    return Json{{"group", group}, {"dim", dim}, {"range", range["range"]}};
  };
  auto slice = [&](const Json &range) {
    return Json{{"dim", dim}, {"range", range["range"]}};
  };
  std::string x = buffer(nullptr), cut = buffer(outer),
              cutAgain = buffer(inner), back = buffer(outer),
              whole = buffer(nullptr),
              mine = b.buffer({"tokens", kWidth}, {nullptr, inputs}),
              partial = buffer(nullptr), summed = buffer(outer),
              result = buffer(nullptr);
  b.step("embedding", {{"ids", ids}, {"weight", table}, {"output", x}});
  b.step("slice", {{"input", x}, {"output", cut}}, slice(outer), {"cut"});
  b.step("slice", {{"input", cut}, {"output", cutAgain}}, slice(inner),
         {"cut_again"});
  b.step("all_gather", {{"input", cutAgain}, {"output", back}},
         attrs("tp", inner));
  b.step("all_gather", {{"input", back}, {"output", whole}},
         attrs("cp", outer));
  b.step("slice", {{"input", x}, {"output", mine}},
         {{"dim", 1}, {"range", inputs["range"]}});
  b.step("linear", {{"input", mine}, {"weight", a}, {"output", partial}});
  b.step("reduce_scatter", {{"input", partial}, {"output", summed}},
         attrs("cp", outer), {"summed"});
  b.step("all_gather", {{"input", summed}, {"output", result}},
         attrs("cp", outer));
  b.output("whole", whole);
  b.output("result", result);
  Json plan = b.finish();
  for (Json &one : plan["variants"][0]["buffers"])
    if (one["id"] == partial)
      one["layout"]["owes"] = Json::array({"cp"});
  REQUIRE(findings(plan) == "");
  TestEngine engine(plan);
  Value t = randomValue({64, kWidth}, 1), w = randomValue({kWidth, kWidth}, 2);
  engine.weight("t", t);
  engine.weight("a", w);
  engine.input("input_ids", count(tokens));
  engine.input("positions", count(tokens));
  engine.run(tokens);
  std::vector<double> rows(t.data.begin(), t.data.begin() + tokens * kWidth),
      product(rows.size(), 0);
  for (std::int64_t r = 0; r < tokens; ++r)
    for (std::int64_t o = 0; o < kWidth; ++o)
      for (std::int64_t i = 0; i < kWidth; ++i)
        product[r * kWidth + o] +=
            rows[r * kWidth + i] * w.data[o * kWidth + i];
  CHECK(engine.tap("cut").data == rows);
  CHECK(engine.tap("cut_again").data == rows);
  CHECK(engine.output("whole").data == rows);
  CHECK(error(engine.tap("summed").data, product) < 1e-13);
  CHECK(error(engine.output("result").data, product) < 1e-13);
}
