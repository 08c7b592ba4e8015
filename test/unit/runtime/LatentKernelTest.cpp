// Latent attention with and without a selection, its indexer, sinks, and RoPE
// that reorders its pairs.
#include "KernelBench.h"

#include <numeric>

using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

constexpr int kHeads = 5, kNope = 4, kRope = 2, kValue = 3, kRank = 6,
              kTokens = 7, kMore = 2, kSelected = 3, kIndexHeads = 2,
              kIndexWidth = 5;

/// softmax over `rows` of the scores, times the values [rows, kValue].
void attend(const std::vector<double> &scores,
            const std::vector<std::vector<double>> &values, double *out) {
  double sum = 0;
  for (double score : scores)
    sum += std::exp(score);
  for (std::size_t s = 0; s < scores.size(); ++s)
    for (std::size_t i = 0; i < values[s].size(); ++i)
      out[i] += std::exp(scores[s]) / sum * values[s][i];
}

double dot(const double *a, const double *b, int count) {
  return std::inner_product(a, a + count, b, 0.0);
}

} // namespace

TEST_CASE("latent attention to all rows or to selected ones", "[kernels]") {
  auto ranks = GENERATE(1, 2, 4, 6); // 6: a rank without a head
  auto isSelective = GENERATE(false, true);
  Bench bench(ranks, kTokens);
  bench.b.require("latent_attention");
  Value nope = randomValue({64, kHeads * kNope}, 1),
        rope = randomValue({64, kHeads * kRope}, 2),
        latent = randomValue({64, kRank}, 3),
        ropeKey = randomValue({64, kRope}, 4),
        keyUp = randomValue({kHeads * kNope, kRank}, 5),
        valueUp = randomValue({kHeads * kValue, kRank}, 6),
        iq = randomValue({64, kIndexHeads * kIndexWidth}, 7),
        ik = randomValue({64, kIndexWidth}, 8),
        iw = randomValue({64, kIndexHeads}, 9);
  std::string nw = bench.table("nope", nope), rw = bench.table("rope", rope),
              lw = bench.table("latent", latent),
              kw = bench.table("rope_key", ropeKey),
              iqw = bench.table("iq", iq), ikw = bench.table("ik", ik),
              iww = bench.table("iw", iw);
  bench.weight("key_up", keyUp);
  bench.weight("value_up", valueUp);
  std::string kuw = bench.b.weight("key_up", keyUp.shape,
                                   {bench.b.block(kHeads, kNope), nullptr}),
              vuw = bench.b.weight("value_up", valueUp.shape,
                                   {bench.b.block(kHeads, kValue), nullptr});
  bench.b.cache("latent", 0, "latent", {kRank}, {nullptr, nullptr});
  bench.b.cache("rope_key", 0, "rope_key", {kRope}, {nullptr, nullptr});
  if (isSelective)
    bench.b.cache("index_key", 0, "index_key", {kIndexWidth},
                  {nullptr, nullptr});
  bench.b.cache("positions", -1, "positions", {}, Json::array({nullptr}));
  bench.begin();
  bench.b.step("cache_append",
               {{"input", bench.positions}, {"cache", "positions"}});
  for (auto [table, width, cache] :
       {std::tuple(lw, kRank, "latent"), {kw, kRope, "rope_key"}})
    bench.b.step("cache_append",
                 {{"input", bench.source(table, width)}, {"cache", cache}});
  auto query = [&](const std::string &table, int width) {
    std::string all = bench.source(table, kHeads * width),
                mine = bench.buffer({"tokens", kHeads * width},
                                    {nullptr, bench.b.block(kHeads, width)});
    bench.b.step("slice", {{"input", all}, {"output", mine}},
                 {{"dim", 1}, {"range", "n5/tp"}});
    return Json{{"buffer", mine}, {"shape", {"tokens", kHeads, width}}};
  };
  std::string y = bench.buffer({"tokens", kHeads, kValue},
                               {nullptr, bench.b.block(kHeads), nullptr});
  Json args = {{"query_nope", query(nw, kNope)},
               {"query_rope", query(rw, kRope)},
               {"latent", "latent"},
               {"rope_key", "rope_key"},
               {"key_up", kuw},
               {"value_up", vuw},
               {"positions", bench.positions},
               {"key_positions", "positions"}};
  if (isSelective) {
    bench.b.step("cache_append", {{"input", bench.source(ikw, kIndexWidth)},
                                  {"cache", "index_key"}});
    Json whole = {nullptr, nullptr};
    std::string rows =
                    bench.b.buffer({"tokens", kSelected}, whole, false, "i32"),
                scores = bench.buffer({"tokens", kSelected}, whole);
    std::string q = bench.source(iqw, kIndexHeads * kIndexWidth);
    bench.b.step(
        "indexer",
        {{"query",
          {{"buffer", q}, {"shape", {"tokens", kIndexHeads, kIndexWidth}}}},
         {"keys", "index_key"},
         {"weights", bench.source(iww, kIndexHeads)},
         {"positions", bench.positions},
         {"key_positions", "positions"},
         {"selection", rows},
         {"scores", scores}},
        {{"top_k", kSelected}, {"scale", 0.5}, {"causal", true}},
        {"rows", "scores"});
    args["selection"] = rows;
  }
  args["output"] = y;
  bench.b.step("latent_attention", args,
               {{"scale", 0.3}, {"causal", true}, {"heads", kHeads}});
  bench.b.output("y", y);

  auto select = [&](int t) {
    std::vector<std::int64_t> rows(t + 1);
    std::iota(rows.begin(), rows.end(), 0);
    if (!isSelective)
      return rows;
    std::vector<double> score(t + 1, 0);
    for (int s = 0; s <= t; ++s)
      for (int h = 0; h < kIndexHeads; ++h)
        score[s] +=
            0.5 * iw.data[t * kIndexHeads + h] *
            std::max(0.0, dot(&iq.data[(t * kIndexHeads + h) * kIndexWidth],
                              &ik.data[s * kIndexWidth], kIndexWidth));
    std::sort(rows.begin(), rows.end(), [&](auto a, auto b) {
      return score[a] != score[b] ? score[a] > score[b] : a < b;
    });
    rows.resize(std::min(t + 1, kSelected));
    return rows;
  };
  auto expected = [&](int first, int count) {
    std::vector<double> out(count * kHeads * kValue, 0);
    for (int t = first; t < first + count; ++t)
      for (int h = 0; h < kHeads; ++h) {
        std::vector<double> scores;
        std::vector<std::vector<double>> values;
        for (std::int64_t s : select(t)) {
          const double *row = &latent.data[s * kRank];
          double score = dot(&rope.data[(t * kHeads + h) * kRope],
                             &ropeKey.data[s * kRope], kRope);
          for (int i = 0; i < kNope; ++i)
            score += nope.data[(t * kHeads + h) * kNope + i] *
                     dot(&keyUp.data[(h * kNope + i) * kRank], row, kRank);
          scores.push_back(0.3 * score);
          values.emplace_back();
          for (int i = 0; i < kValue; ++i)
            values.back().push_back(
                dot(&valueUp.data[(h * kValue + i) * kRank], row, kRank));
        }
        attend(scores, values, &out[((t - first) * kHeads + h) * kValue]);
      }
    return out;
  };
  TestEngine &engine = bench.run();
  CHECK(error(engine.output("y").data, expected(0, kTokens)) < kTolerance);
  if (isSelective) {
    // The first row sees one key only.
    std::vector<double> scores = engine.tap("scores").data;
    CHECK(scores[1] == 0);
    CHECK(scores[2] == 0);
  }
  // Later rows see what is cached.
  CHECK(error(bench.again(kMore).output("y").data, expected(kTokens, kMore)) <
        kTolerance);
}

TEST_CASE("a sink takes its part of the softmax", "[kernels]") {
  auto ranks = GENERATE(1, 2, 4);
  constexpr int kWidth = 4, kCount = 4;
  Bench bench(ranks, kTokens);
  bench.b.require("attention_sinks");
  Value q = randomValue({64, kCount * kWidth}, 1),
        k = randomValue({64, kWidth}, 2), v = randomValue({64, kWidth}, 3),
        sinks = randomValue({kCount}, 4);
  sinks.data[1] = 30; // larger than any score
  std::string qw = bench.table("q", q), kw = bench.table("k", k),
              vw = bench.table("v", v);
  bench.weight("sinks", sinks);
  std::string sw =
      bench.b.weight("sinks", {kCount}, Json::array({bench.b.block(kCount)}));
  Json whole = {nullptr, nullptr, nullptr};
  bench.b.cache("key", 0, "key", {1, kWidth}, whole);
  bench.b.cache("value", 0, "value", {1, kWidth}, whole);
  bench.b.cache("positions", -1, "positions", {}, Json::array({nullptr}));
  bench.begin();
  bench.b.step("cache_append",
               {{"input", bench.positions}, {"cache", "positions"}});
  for (auto [table, cache] : {std::pair(kw, "key"), {vw, "value"}})
    bench.b.step("cache_append", {{"input",
                                   {{"buffer", bench.source(table, kWidth)},
                                    {"shape", {"tokens", 1, kWidth}}}},
                                  {"cache", cache}});
  std::string all = bench.source(qw, kCount * kWidth),
              mine = bench.buffer({"tokens", kCount * kWidth},
                                  {nullptr, bench.b.block(kCount, kWidth)}),
              y = bench.buffer({"tokens", kCount, kWidth},
                               {nullptr, bench.b.block(kCount), nullptr});
  bench.b.step("slice", {{"input", all}, {"output", mine}},
               {{"dim", 1}, {"range", "n4/tp"}});
  bench.b.step(
      "attention",
      {{"query", {{"buffer", mine}, {"shape", {"tokens", kCount, kWidth}}}},
       {"keys", "key"},
       {"values", "value"},
       {"positions", bench.positions},
       {"key_positions", "positions"},
       {"sinks", sw},
       {"output", y}},
      {{"scale", 0.3}, {"causal", true}, {"heads", kCount}, {"kv_heads", 1}});
  bench.b.output("y", y);
  std::vector<double> expected(kTokens * kCount * kWidth, 0);
  for (int t = 0; t < kTokens; ++t)
    for (int h = 0; h < kCount; ++h) {
      std::vector<double> scores = {sinks.data[h]};
      std::vector<std::vector<double>> values = {
          std::vector<double>(kWidth, 0)};
      for (int s = 0; s <= t; ++s) {
        scores.push_back(0.3 * dot(&q.data[(t * kCount + h) * kWidth],
                                   &k.data[s * kWidth], kWidth));
        values.emplace_back(&v.data[s * kWidth], &v.data[(s + 1) * kWidth]);
      }
      attend(scores, values, &expected[(t * kCount + h) * kWidth]);
    }
  CHECK(error(bench.run().output("y").data, expected) < kTolerance);
}

TEST_CASE("interleaved pairs come out half by half", "[kernels]") {
  auto inPlace = GENERATE(false, true);
  Bench bench(1, kTokens, 40);
  bench.b.require("latent_attention");
  Value x = randomValue({64, 6}, 1);
  std::vector<double> frequencies = {1.0, 0.25};
  bench.b.table("rope", frequencies);
  std::string xw = bench.table("x", x);
  bench.begin();
  std::string source = bench.source(xw, 6);
  std::string y =
      inPlace ? source
              : bench.buffer({"tokens", 1, 6}, {nullptr, nullptr, nullptr});
  Json view = {{"buffer", source}, {"shape", {"tokens", 1, 6}}};
  bench.b.step("rope",
               {{"input", view},
                {"positions", bench.positions},
                {"table", "rope"},
                {"output", inPlace ? view : Json(y)}},
               {{"style", "interleaved_to_half"}, {"rotary", 4}});
  bench.b.output("y", y);
  std::vector<double> expected = firstRows(x, kTokens);
  for (int t = 0; t < kTokens; ++t)
    for (int i = 0; i < 2; ++i) {
      const double *in = &x.data[t * 6];
      double angle = (40 + t) * frequencies[i];
      expected[t * 6 + i] =
          in[2 * i] * std::cos(angle) - in[2 * i + 1] * std::sin(angle);
      expected[t * 6 + i + 2] =
          in[2 * i + 1] * std::cos(angle) + in[2 * i] * std::sin(angle);
    }
  CHECK(error(bench.run().output("y").data, expected) < kTolerance);
}
