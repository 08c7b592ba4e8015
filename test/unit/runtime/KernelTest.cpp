// Every step kind against its formula written out plainly, on several numbers
// of ranks, with even, uneven and empty parts.
#include "KernelBench.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace layline::test;
using Catch::Matchers::Contains;

TEST_CASE("norm", "[kernels]") {
  auto ranks = GENERATE(1, 2, 5);
  auto isRms = GENERATE(true, false);
  auto byRows = GENERATE(true, false);
  Bench bench(ranks, 7);
  Value x = randomValue({64, 6}, 1), w = randomValue({6}, 2),
        c = randomValue({6}, 3);
  std::string xw = bench.table("x", x), ww = bench.table("w", w),
              cw = bench.table("c", c);
  bench.begin();
  std::string source = bench.source(xw, 6);
  if (byRows)
    source = bench.rows(source, 6);
  Json dims = {byRows ? bench.b.block("tokens") : Json(), nullptr};
  std::string y = bench.buffer({"tokens", 6}, dims);
  Json args = {{"input", source}, {"weight", ww}};
  if (!isRms)
    args["bias"] = cw;
  args["output"] = y;
  bench.b.step("norm", args,
               {{"norm", isRms ? "rms" : "layer"},
                {"eps", 1e-3},
                {"weight_offset", 1.0}});
  bench.b.output("y", y);
  std::vector<double> expected;
  for (int t = 0; t < 7; ++t) {
    const double *row = &x.data[t * 6];
    double mean = isRms ? 0 : std::accumulate(row, row + 6, 0.0) / 6,
           variance = 0;
    for (int i = 0; i < 6; ++i)
      variance += (row[i] - mean) * (row[i] - mean) / 6;
    for (int i = 0; i < 6; ++i)
      expected.push_back((row[i] - mean) / std::sqrt(variance + 1e-3) *
                             (1 + w.data[i]) +
                         (isRms ? 0 : c.data[i]));
  }
  CHECK(error(bench.run().output("y").data, expected) < kTolerance);
}

TEST_CASE("a norm with a weight per head", "[kernels]") {
  auto ranks = GENERATE(1, 3);
  Bench bench(ranks, 4);
  Value x = randomValue({64, 12}, 1), w = randomValue({3, 4}, 2);
  std::string xw = bench.table("x", x);
  bench.weight("w", w);
  std::string ww = bench.b.weight("w", {3, 4}, {bench.b.block(3), nullptr});
  bench.begin();
  std::string whole = bench.source(xw, 12);
  std::string part =
      bench.buffer({"tokens", 12}, {nullptr, bench.b.block(3, 4)});
  bench.b.step("slice", {{"input", whole}, {"output", part}},
               {{"dim", 1}, {"range", "n3/tp"}});
  std::string y =
      bench.buffer({"tokens", 3, 4}, {nullptr, bench.b.block(3), nullptr});
  bench.b.step("norm",
               {{"input", {{"buffer", part}, {"shape", {"tokens", 3, 4}}}},
                {"weight", ww},
                {"output", y}},
               {{"norm", "rms"}, {"eps", 0.0}});
  bench.b.output("y", y);
  std::vector<double> expected;
  for (int r = 0; r < 12; ++r) {
    double squares = 0;
    for (int i = 0; i < 4; ++i)
      squares += x.data[r * 4 + i] * x.data[r * 4 + i] / 4;
    for (int i = 0; i < 4; ++i)
      expected.push_back(x.data[r * 4 + i] / std::sqrt(squares) *
                         w.data[r % 3 * 4 + i]);
  }
  CHECK(error(bench.run().output("y").data, expected) < kTolerance);
}

TEST_CASE("linear, split by rows of the weight and by columns", "[kernels]") {
  auto ranks = GENERATE(1, 2, 3, 8); // 8: ranks without a column
  auto tokens = GENERATE(1, 5);
  Bench bench(ranks, tokens);
  Value x = randomValue({64, 5}, 1), a = randomValue({7, 5}, 2),
        bias = randomValue({7}, 3), d = randomValue({4, 7}, 4),
        late = randomValue({4}, 5);
  std::string xw = bench.table("x", x), lw = bench.table("late", late);
  bench.weight("a", a);
  bench.weight("bias", bias);
  bench.weight("d", d);
  Json part = bench.b.block(7);
  std::string aw = bench.b.weight("a", {7, 5}, {part, nullptr}),
              bw = bench.b.weight("bias", {7}, Json::array({part})),
              dw = bench.b.weight("d", {4, 7}, {nullptr, part});
  bench.begin();
  std::string source = bench.source(xw, 5);
  std::string h = bench.buffer({"tokens", 7}, {nullptr, part}),
              partial = bench.buffer({"tokens", 4}, {nullptr, nullptr}, true),
              doubled = bench.buffer({"tokens", 4}, {nullptr, nullptr}, true),
              sum = bench.buffer({"tokens", 4}, {nullptr, nullptr}),
              y = bench.buffer({"tokens", 4}, {nullptr, nullptr});
  bench.b.step(
      "linear",
      {{"input", source}, {"weight", aw}, {"bias", bw}, {"output", h}});
  bench.b.step("linear", {{"input", h}, {"weight", dw}, {"output", partial}},
               Json::object(), {"partial"});
  bench.b.step("scale", {{"input", partial}, {"output", doubled}},
               {{"factor", 2.0}});
  bench.b.step("all_reduce", {{"input", doubled}, {"output", sum}},
               {{"group", "tp"}});
  bench.b.step("add_bias", {{"input", sum}, {"bias", lw}, {"output", y}});
  bench.b.output("y", y);
  std::vector<double> hidden = product(firstRows(x, tokens), a);
  for (std::size_t i = 0; i < hidden.size(); ++i)
    hidden[i] += bias.data[i % 7];
  std::vector<double> summed = product(hidden, d), expected = summed;
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] = 2 * expected[i] + late.data[i % 4];
  TestEngine &engine = bench.run();
  CHECK(error(engine.output("y").data, expected) < kTolerance);
  // A tap of a value that owes a sum is the sum.
  CHECK(error(engine.tap("partial").data, summed) < kTolerance);
}

TEST_CASE("a vocabulary split over ranks", "[kernels]") {
  auto ranks = GENERATE(1, 3, 16);
  Bench bench(ranks, 9);
  Value x = randomValue({10, 3}, 1);
  bench.weight("x", x);
  std::string xw = bench.b.weight("x", {10, 3}, {bench.b.block(10), nullptr});
  bench.begin();
  std::string partial = bench.buffer({"tokens", 3}, {nullptr, nullptr}, true),
              y = bench.buffer({"tokens", 3},
                               {bench.b.block("tokens"), nullptr});
  bench.b.step("embedding",
               {{"ids", bench.ids}, {"weight", xw}, {"output", partial}});
  bench.b.step("reduce_scatter", {{"input", partial}, {"output", y}},
               {{"group", "tp"}, {"dim", 0}, {"range", "tokens/tp"}});
  bench.b.output("y", y);
  TestEngine &engine = bench.run();
  CHECK(engine.output("y").data == firstRows(x, 9));

  SECTION("an id outside it is a failure on one rank that stops all") {
    engine.input("input_ids", {0, 1, 2, 10, 4, 5, 6, 7, 8});
    CHECK(layline_run(engine.get(), 9) == LAYLINE_RUN_FAILURE);
    CHECK_THAT(layline_engine_error(engine.get()),
               Contains("(embedding) on rank 0: token id 10 of row 3 is "
                        "outside the vocabulary"));
    double value = 0;
    CHECK(layline_output_read(engine.get(), "y", LAYLINE_F64, &value, 1) ==
          LAYLINE_NOT_BOUND);
    engine.input("input_ids", count(9));
    engine.run(9);
    CHECK(engine.output("y").data == firstRows(x, 9));
  }
}

TEST_CASE("rope in both styles, with numbers for long contexts", "[kernels]") {
  auto ranks = GENERATE(1, 2);
  auto style = GENERATE(as<std::string>(), "half", "interleaved");
  auto start = GENERATE(0, 90); // 'long' from position 100 on: 90 + 12 rows
  Bench bench(ranks, 12, start);
  Value x = randomValue({64, 12}, 1);
  std::vector<double> near = {1.0, 0.25}, far = {0.5, 0.125};
  bench.b.table(
      "rope", near,
      {{"long",
        {{"above", 100}, {"attention_factor", 1.5}, {"inv_freq", far}}}});
  std::string xw = bench.table("x", x);
  bench.begin();
  std::string whole = bench.source(xw, 12), mine = bench.rows(whole, 12);
  std::string positions =
      bench.b.buffer(Json::array({"tokens"}),
                     Json::array({bench.b.block("tokens")}), false, "i64");
  bench.b.step("slice", {{"input", bench.positions}, {"output", positions}},
               {{"dim", 0}, {"range", "tokens/tp"}});
  Json view = {{"buffer", mine}, {"shape", {"tokens", 2, 6}}};
  std::string y = bench.buffer({"tokens", 2, 6},
                               {bench.b.block("tokens"), nullptr, nullptr});
  bench.b.step("rope",
               {{"input", view},
                {"positions", positions},
                {"table", "rope"},
                {"output", y}},
               {{"style", style}, {"rotary", 4}});
  bench.b.output("y", y);
  bool isLong = start + 11 >= 100;
  const std::vector<double> &frequencies = isLong ? far : near;
  double factor = isLong ? 1.5 : 1.0;
  std::vector<double> expected = firstRows(x, 12);
  for (int t = 0; t < 12; ++t)
    for (int h = 0; h < 2; ++h)
      for (int i = 0; i < 2; ++i) {
        int a = style == "half" ? i : 2 * i,
            c = style == "half" ? i + 2 : 2 * i + 1;
        const double *in = &x.data[(t * 2 + h) * 6];
        double *out = &expected[(t * 2 + h) * 6];
        double angle = (start + t) * frequencies[i];
        out[a] = factor * (in[a] * std::cos(angle) - in[c] * std::sin(angle));
        out[c] = factor * (in[c] * std::cos(angle) + in[a] * std::sin(angle));
      }
  CHECK(error(bench.run().output("y").data, expected) < kTolerance);
}

TEST_CASE("attention, causal and windowed, over earlier rows", "[kernels]") {
  auto ranks =
      GENERATE(1, 2, 4, 5); // 6 query heads, 2 KV heads: uneven, shared
  auto window = GENERATE(0, 3);
  auto causal = GENERATE(true, false);
  auto queriesByRows = GENERATE(false, true);
  if (!causal && window)
    return;
  constexpr int kHeads = 6, kKvHeads = 2, kWidth = 4,
                kShare = kHeads / kKvHeads;
  Bench bench(ranks, 7);
  Value q = randomValue({64, kHeads * kWidth}, 1),
        k = randomValue({64, kKvHeads * kWidth}, 2),
        v = randomValue({64, kKvHeads * kWidth}, 3);
  std::string qw = bench.table("q", q), kw = bench.table("k", k),
              vw = bench.table("v", v);
  // Either the heads are split and each rank holds the KV heads they read, or
  // the query rows are and every rank holds all KV heads.
  Json kvDim = queriesByRows ? Json() : bench.b.readers(kKvHeads, kHeads);
  bench.b.cache("key", 0, "key", {kKvHeads, kWidth}, {nullptr, kvDim, nullptr});
  bench.b.cache("value", 0, "value", {kKvHeads, kWidth},
                {nullptr, kvDim, nullptr});
  bench.b.cache("positions", -1, "positions", {}, Json::array({nullptr}));
  bench.begin();
  bench.b.step("cache_append",
               {{"input", bench.positions}, {"cache", "positions"}});
  for (auto [table, cache] : {std::pair(kw, "key"), {vw, "value"}}) {
    std::string part = bench.source(table, kKvHeads * kWidth);
    if (!queriesByRows) {
      std::string mine =
          bench.buffer({"tokens", kKvHeads * kWidth},
                       {nullptr, bench.b.readers(kKvHeads, kHeads, kWidth)});
      bench.b.step("slice", {{"input", part}, {"output", mine}},
                   {{"dim", 1}, {"range", "kv2of6/tp"}});
      part = mine;
    }
    bench.b.step(
        "cache_append",
        {{"input", {{"buffer", part}, {"shape", {"tokens", kKvHeads, kWidth}}}},
         {"cache", cache}});
  }
  std::string query = bench.source(qw, kHeads * kWidth),
              positions = bench.positions;
  Json rowDim, headDim = bench.b.block(kHeads);
  if (queriesByRows) {
    query = bench.rows(query, kHeads * kWidth);
    rowDim = bench.b.block("tokens");
    headDim = nullptr;
    positions = bench.b.buffer(Json::array({"tokens"}), Json::array({rowDim}),
                               false, "i64");
    bench.b.step("slice", {{"input", bench.positions}, {"output", positions}},
                 {{"dim", 0}, {"range", "tokens/tp"}});
  } else {
    std::string mine = bench.buffer({"tokens", kHeads * kWidth},
                                    {nullptr, bench.b.block(kHeads, kWidth)});
    bench.b.step("slice", {{"input", query}, {"output", mine}},
                 {{"dim", 1}, {"range", "n6/tp"}});
    query = mine;
  }
  std::string y =
      bench.buffer({"tokens", kHeads, kWidth}, {rowDim, headDim, nullptr});
  Json attrs = {{"scale", 0.3}, {"causal", causal}};
  if (window)
    attrs["window"] = window;
  // Low enough to bend most scores.
  double softcap = window ? 0.2 : 0;
  if (softcap != 0) {
    attrs["softcap"] = softcap;
    bench.b.require("softcap");
  }
  attrs["heads"] = kHeads;
  attrs["kv_heads"] = kKvHeads;
  bench.b.step(
      "attention",
      {{"query", {{"buffer", query}, {"shape", {"tokens", kHeads, kWidth}}}},
       {"keys", "key"},
       {"values", "value"},
       {"positions", positions},
       {"key_positions", "positions"},
       {"output", y}},
      attrs);
  bench.b.output("y", y);

  auto expected = [&](int first, int tokens) {
    std::vector<double> result(tokens * kHeads * kWidth, 0);
    int keys = first + tokens;
    for (int t = first; t < keys; ++t)
      for (int h = 0; h < kHeads; ++h) {
        std::vector<double> e(keys, 0);
        double sum = 0;
        for (int s = 0; s < keys; ++s) {
          if ((causal && s > t) || (window && t - s >= window))
            continue;
          double dot = 0;
          for (int i = 0; i < kWidth; ++i)
            dot += q.data[(t * kHeads + h) * kWidth + i] *
                   k.data[(s * kKvHeads + h / kShare) * kWidth + i];
          double score = 0.3 * dot;
          if (softcap != 0)
            score = softcap * std::tanh(score / softcap);
          sum += e[s] = std::exp(score);
        }
        for (int s = 0; s < keys; ++s)
          for (int i = 0; i < kWidth; ++i)
            result[((t - first) * kHeads + h) * kWidth + i] +=
                e[s] / sum * v.data[(s * kKvHeads + h / kShare) * kWidth + i];
      }
    return result;
  };
  CHECK(error(bench.run().output("y").data, expected(0, 7)) < kTolerance);
  CHECK(error(bench.again(2).output("y").data, expected(7, 2)) < kTolerance);
}

TEST_CASE("activation functions, gated and not, and products", "[kernels]") {
  auto name = GENERATE(as<std::string>(), "silu", "gelu", "gelu_tanh", "relu");
  auto ranks = GENERATE(1, 3);
  Bench bench(ranks, 4);
  Value x = randomValue({64, 5}, 1), u = randomValue({64, 5}, 2);
  std::string xw = bench.table("x", x), uw = bench.table("u", u);
  bench.begin();
  std::string a = bench.source(xw, 5), c = bench.source(uw, 5);
  Json dims = {nullptr, nullptr};
  std::string y = bench.buffer({"tokens", 5}, dims),
              g = bench.buffer({"tokens", 5}, dims),
              m = bench.buffer({"tokens", 5}, dims),
              copy = bench.buffer({"tokens", 5}, dims);
  bench.b.step("activation", {{"input", a}, {"output", y}},
               {{"function", name}});
  bench.b.step("gated_activation", {{"gate", a}, {"up", c}, {"output", g}},
               {{"function", name}});
  bench.b.step("mul", {{"inputs", {y, g, c}}, {"output", m}});
  bench.b.step("cast", {{"input", m}, {"output", copy}});
  std::string s = bench.buffer({"tokens", 5}, dims);
  bench.b.require("softcap");
  bench.b.step("softcap", {{"input", c}, {"output", s}}, {{"cap", 0.5}});
  bench.b.output("s", s);
  bench.b.output("y", y);
  bench.b.output("g", g);
  bench.b.output("m", copy);
  std::vector<double> f, gated, all, capped;
  for (int i = 0; i < 20; ++i) {
    capped.push_back(0.5 * std::tanh(2 * u.data[i]));
    f.push_back(function(name, x.data[i]));
    gated.push_back(f.back() * u.data[i]);
    all.push_back(f.back() * gated.back() * u.data[i]);
  }
  TestEngine &engine = bench.run();
  CHECK(error(engine.output("y").data, f) < kTolerance);
  CHECK(error(engine.output("g").data, gated) < kTolerance);
  CHECK(error(engine.output("m").data, all) < kTolerance);
  CHECK(error(engine.output("s").data, capped) < kTolerance);
}

TEST_CASE("a window of every so many rows of a stored tensor", "[kernels]") {
  // 5 groups of 4 rows; rows 1 and 2 of each are the weight.
  auto ranks = GENERATE(1, 2, 3, 7, 16);
  auto byRows = GENERATE(true, false);
  Bench bench(ranks, 10);
  Value stored = randomValue({20, 3}, 1);
  bench.weight("stored", stored);
  Json rows = byRows ? bench.b.block(10) : Json(),
       columns = byRows ? Json() : bench.b.block(3);
  std::string w = bench.b.weight("stored", {20, 3}, {rows, columns},
                                 {{"rows", {1, 3}}, {"period", 4}});
  bench.b.require("periodic_rows");
  bench.begin();
  std::string y = bench.buffer({"tokens", 3}, {nullptr, columns}, byRows);
  bench.b.step("embedding", {{"ids", bench.ids}, {"weight", w}, {"output", y}});
  if (byRows) {
    std::string whole = bench.buffer({"tokens", 3}, {nullptr, nullptr});
    bench.b.step("all_reduce", {{"input", y}, {"output", whole}},
                 {{"group", "tp"}});
    y = whole;
  }
  bench.b.output("y", y);
  std::vector<double> expected;
  for (int group = 0; group < 5; ++group)
    for (int row : {1, 2})
      for (int i = 0; i < 3; ++i)
        expected.push_back(stored.data[(group * 4 + row) * 3 + i]);
  CHECK(bench.run().output("y").data == expected);
}

TEST_CASE("router and experts", "[kernels]") {
  auto ranks = GENERATE(1, 2, 3, 7);
  auto scoring = GENERATE(as<std::string>(), "softmax", "sigmoid");
  auto renormalize = GENERATE(true, false);
  auto splitExperts = GENERATE(true, false); // or their inner dimension
  constexpr int kExperts = 5, kInner = 6, kWidth = 4, kTop = 2, kTokens = 6;
  Bench bench(ranks, kTokens);
  Value x = randomValue({64, kWidth}, 1),
        logits = randomValue({64, kExperts}, 2);
  // Two equal largest logits: the lower index comes first.
  logits.data[1 * kExperts + 3] = logits.data[1 * kExperts + 1] = 2;
  std::vector<Value> gate, up, down;
  Json eDim = splitExperts ? bench.b.block(kExperts) : Json(),
       fDim = splitExperts ? Json() : bench.b.block(kInner);
  auto experts = [&](const std::string &name,
                     const std::vector<std::int64_t> &shape,
                     std::vector<Value> &list, const Json &dims,
                     std::uint64_t seed) {
    for (int e = 0; e < kExperts; ++e) {
      list.push_back(randomValue(shape, seed * 100 + e));
      bench.weight("experts." + std::to_string(e) + "." + name, list.back());
    }
    return bench.b.weight(
        "experts.{expert}." + name, shape, dims,
        {{"stack", {{"name", "expert"}, {"count", kExperts}}}});
  };
  std::string gw = experts("gate", {kInner, kWidth}, gate,
                           {eDim, fDim, nullptr}, 3),
              uw =
                  experts("up", {kInner, kWidth}, up, {eDim, fDim, nullptr}, 4),
              dw = experts("down", {kWidth, kInner}, down,
                           {eDim, nullptr, fDim}, 5);
  std::string xw = bench.table("x", x), lw = bench.table("logits", logits);
  bench.begin();
  std::string input = bench.source(xw, kWidth),
              scores = bench.source(lw, kExperts);
  std::string ids = bench.b.buffer({"tokens", kTop}, {nullptr, nullptr}, false,
                                   "i32"),
              weights = bench.buffer({"tokens", kTop}, {nullptr, nullptr}),
              partial =
                  bench.buffer({"tokens", kWidth}, {nullptr, nullptr}, true),
              y = bench.buffer({"tokens", kWidth}, {nullptr, nullptr});
  bench.b.step("router",
               {{"logits", scores}, {"ids", ids}, {"weights", weights}},
               {{"top_k", kTop},
                {"scoring", scoring},
                {"renormalize", renormalize},
                {"scale", 2.5}},
               {"topk_idx", "topk_w"});
  bench.b.step("experts",
               {{"input", input},
                {"ids", ids},
                {"weights", weights},
                {"gate", gw},
                {"up", uw},
                {"down", dw},
                {"output", partial}},
               {{"function", "silu"}});
  bench.b.step("all_reduce", {{"input", partial}, {"output", y}},
               {{"group", "tp"}});
  bench.b.output("y", y);
  bench.b.output("ids", ids);

  std::vector<std::int64_t> expectedIds;
  std::vector<double> expectedWeights, expected(kTokens * kWidth, 0);
  for (int t = 0; t < kTokens; ++t) {
    std::vector<double> s(kExperts);
    double sum = 0;
    for (int e = 0; e < kExperts; ++e)
      sum += s[e] = std::exp(logits.data[t * kExperts + e]);
    for (double &one : s)
      one = scoring == "softmax" ? one / sum : one / (1 + one);
    std::vector<int> order(kExperts);
    std::iota(order.begin(), order.end(), 0);
    // Ties go to the lower number.
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return s[a] != s[b] ? s[a] > s[b] : a < b; });
    double chosen = s[order[0]] + s[order[1]];
    for (int n = 0; n < kTop; ++n) {
      int e = order[n];
      double weight = s[e] / (renormalize ? chosen : 1) * 2.5;
      expectedIds.push_back(e);
      expectedWeights.push_back(weight);
      std::vector<double> row(&x.data[t * kWidth], &x.data[(t + 1) * kWidth]);
      std::vector<double> g = product(row, gate[e]), u = product(row, up[e]);
      for (int i = 0; i < kInner; ++i)
        g[i] = function("silu", g[i]) * u[i];
      std::vector<double> out = product(g, down[e]);
      for (int i = 0; i < kWidth; ++i)
        expected[t * kWidth + i] += weight * out[i];
    }
  }
  TestEngine &engine = bench.run();
  CHECK(engine.integers("ids") == expectedIds);
  CHECK(expectedIds[2] == 1);
  CHECK(error(engine.tap("topk_w").data, expectedWeights) < kTolerance);
  CHECK(error(engine.output("y").data, expected) < kTolerance);
}

TEST_CASE("collectives along every dimension, with uneven and empty parts",
          "[kernels]") {
  auto ranks = GENERATE(1, 2, 3, 8, 16);
  auto tokens = GENERATE(1, 2, 9);
  auto dim = GENERATE(0, 1);
  Bench bench(ranks, tokens);
  Value x = randomValue({64, 10}, 1), a = randomValue({10, 10}, 2);
  std::string xw = bench.table("x", x);
  bench.weight("a", a);
  std::string aw = bench.b.weight("a", {10, 10}, {nullptr, bench.b.block(10)});
  Json dims = {nullptr, nullptr}, split = dims;
  split[dim] = dim == 0 ? bench.b.block("tokens") : bench.b.block(5, 2);
  Json attrs = {{"group", "tp"},
                {"dim", dim},
                {"range", dim == 0 ? "tokens/tp" : "n5/tp"}};
  bench.begin();
  std::string whole = bench.source(xw, 10);
  std::string mine = bench.buffer({"tokens", 10}, {nullptr, bench.b.block(10)}),
              partial = bench.buffer({"tokens", 10}, dims, true),
              part = bench.buffer({"tokens", 10}, split),
              gathered = bench.buffer({"tokens", 10}, dims),
              reduced = bench.buffer({"tokens", 10}, dims),
              sent = bench.buffer({"tokens", 10}, dims);
  bench.b.step("slice", {{"input", whole}, {"output", mine}},
               {{"dim", 1}, {"range", "n10/tp"}});
  bench.b.step("linear",
               {{"input", mine}, {"weight", aw}, {"output", partial}});
  bench.b.step("reduce_scatter", {{"input", partial}, {"output", part}}, attrs,
               {"part"});
  bench.b.step("all_gather", {{"input", part}, {"output", gathered}}, attrs);
  bench.b.step("all_reduce", {{"input", partial}, {"output", reduced}},
               {{"group", "tp"}});
  bench.b.step("broadcast", {{"input", reduced}, {"output", sent}},
               {{"group", "tp"}, {"root", ranks - 1}});
  bench.b.output("gathered", gathered);
  bench.b.output("reduced", reduced);
  bench.b.output("sent", sent);
  std::vector<double> expected = product(firstRows(x, tokens), a);
  TestEngine &engine = bench.run();
  CHECK(error(engine.output("gathered").data, expected) < kTolerance);
  CHECK(error(engine.tap("part").data, expected) < kTolerance);
  // The same order of summation in all of them: the same bits.
  CHECK(engine.output("reduced").data == engine.output("gathered").data);
  CHECK(engine.output("sent").data == engine.output("gathered").data);
}
