// Routers with groups and biases, experts with biases and limits, stacks that
// are stored as one tensor.
#include "KernelBench.h"

#include <numeric>

using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

constexpr int kExperts = 8, kInner = 6, kWidth = 4, kTop = 3, kTokens = 6;

struct Choice {
  std::vector<std::int64_t> ids;
  std::vector<double> weights;
};

/// Sigmoid scores, the best of `chosen` of `groups` groups, each by its
/// `counted` best, by score and bias; weights of sum 1, times 2.5.
Choice choose(const Value &logits, const Value &bias, int groups, int chosen,
              int counted) {
  Choice choice;
  int size = kExperts / groups;
  for (int t = 0; t < kTokens; ++t) {
    std::vector<double> score(kExperts), merit(kExperts);
    for (int e = 0; e < kExperts; ++e) {
      score[e] = function("sigmoid", logits.data[t * kExperts + e]);
      merit[e] = score[e] + bias.data[e];
    }
    std::vector<double> groupMerit(groups);
    for (int g = 0; g < groups; ++g) {
      std::vector<double> own(merit.begin() + g * size,
                              merit.begin() + (g + 1) * size);
      std::sort(own.rbegin(), own.rend());
      groupMerit[g] = std::accumulate(own.begin(), own.begin() + counted, 0.0);
    }
    std::vector<int> order(kExperts);
    std::iota(order.begin(), order.end(), 0);
    auto rankOf = [&](int g) {
      return std::count_if(groupMerit.begin(), groupMerit.end(),
                           [&](double other) { return other > groupMerit[g]; });
    };
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      bool inA = rankOf(a / size) < chosen, inB = rankOf(b / size) < chosen;
      if (inA != inB)
        return inA;
      return merit[a] != merit[b] ? merit[a] > merit[b] : a < b;
    });
    double sum = 0;
    for (int k = 0; k < kTop; ++k)
      sum += score[order[k]];
    for (int k = 0; k < kTop; ++k) {
      choice.ids.push_back(order[k]);
      choice.weights.push_back(score[order[k]] / sum * 2.5);
    }
  }
  return choice;
}

} // namespace

TEST_CASE("a router that chooses groups first, with a bias", "[kernels]") {
  auto ranks = GENERATE(1, 3);
  auto isMax = GENERATE(true, false);
  auto groups = GENERATE(1, 2, 4);
  Bench bench(ranks, kTokens);
  bench.b.require("routing");
  Value logits = randomValue({64, kExperts}, 2),
        bias = randomValue({kExperts}, 3);
  std::string lw = bench.table("logits", logits),
              bw = bench.table("bias", bias);
  bench.begin();
  std::string scores = bench.rows(bench.source(lw, kExperts), kExperts);
  Json dims = {bench.b.block("tokens"), nullptr};
  std::string ids = bench.b.buffer({"tokens", kTop}, dims, false, "i32"),
              weights = bench.buffer({"tokens", kTop}, dims);
  int chosen = groups == 1 ? 1 : 2;
  bench.b.step(
      "router",
      {{"logits", scores}, {"bias", bw}, {"ids", ids}, {"weights", weights}},
      {{"top_k", kTop},
       {"scoring", "sigmoid"},
       {"renormalize", true},
       {"scale", 2.5},
       {"groups", groups},
       {"chosen_groups", chosen},
       {"group_score", isMax ? "max" : "top2_sum"}});
  bench.b.output("ids", ids);
  bench.b.output("weights", weights);
  Choice expected = choose(logits, bias, groups, chosen, isMax ? 1 : 2);
  TestEngine &engine = bench.run();
  CHECK(engine.integers("ids") == expected.ids);
  CHECK(error(engine.output("weights").data, expected.weights) < kTolerance);
}

TEST_CASE("experts of one stored tensor, with biases and limits", "[kernels]") {
  auto ranks = GENERATE(1, 2, 3, 7);
  auto splitExperts = GENERATE(true, false); // or their inner dimension
  constexpr double kLimit = 0.4, kAlpha = 1.702;
  Bench bench(ranks, kTokens);
  for (const char *feature : {"routing", "stored_layouts", "periodic_rows"})
    bench.b.require(feature);
  Value x = randomValue({64, kWidth}, 1),
        logits = randomValue({64, kExperts}, 2);
  // Columns of gate and up in turns, rows behind columns.
  Value gateUp = randomValue({kExperts, kWidth, 2 * kInner}, 3),
        gateUpBias = randomValue({kExperts, 2 * kInner}, 4),
        down = randomValue({kExperts, kInner, kWidth}, 5),
        downBias = randomValue({kExperts, kWidth}, 6);
  Json eDim = splitExperts ? bench.b.block(kExperts) : Json(),
       fDim = splitExperts ? Json() : bench.b.block(kInner);
  bench.weight("gate_up", gateUp);
  bench.weight("gate_up_bias", gateUpBias);
  bench.weight("down", down);
  auto weight = [&](const std::string &key,
                    const std::vector<std::int64_t> &shape, const Json &dims,
                    const std::vector<std::int64_t> &stored, int turn,
                    bool isMatrix) {
    Json extra = {{"stored_shape", stored}, {"stored_stack", true}};
    if (isMatrix)
      extra["transposed"] = true;
    if (turn >= 0) {
      extra["rows"] = {turn, turn + 1};
      extra["period"] = 2;
    }
    return bench.b.weight(key, shape, dims, extra);
  };
  std::string up[2], upBias[2];
  for (int turn : {0, 1}) {
    up[turn] = weight("gate_up", {kExperts, kInner, kWidth},
                      {eDim, fDim, nullptr}, gateUp.shape, turn, true);
    upBias[turn] = weight("gate_up_bias", {kExperts, kInner}, {eDim, fDim},
                          gateUpBias.shape, turn, false);
  }
  std::string dw = weight("down", {kExperts, kWidth, kInner},
                          {eDim, nullptr, fDim}, down.shape, -1, true);
  std::string bw = bench.table("down_bias", downBias);
  std::string xw = bench.table("x", x), lw = bench.table("logits", logits);
  bench.begin();
  std::string input = bench.source(xw, kWidth),
              scores = bench.source(lw, kExperts);
  Json whole = {nullptr, nullptr};
  std::string ids = bench.b.buffer({"tokens", kTop}, whole, false, "i32"),
              weights = bench.buffer({"tokens", kTop}, whole),
              partial = bench.buffer({"tokens", kWidth}, whole, true),
              sum = bench.buffer({"tokens", kWidth}, whole),
              y = bench.buffer({"tokens", kWidth}, whole);
  bench.b.step("router",
               {{"logits", scores}, {"ids", ids}, {"weights", weights}},
               {{"top_k", kTop},
                {"scoring", "sigmoid"},
                {"renormalize", true},
                {"scale", 2.5}});
  bench.b.step("experts",
               {{"input", input},
                {"ids", ids},
                {"weights", weights},
                {"gate", up[0]},
                {"up", up[1]},
                {"down", dw},
                {"gate_bias", upBias[0]},
                {"up_bias", upBias[1]},
                {"output", partial}},
               {{"function", "silu"},
                {"limit", kLimit},
                {"alpha", kAlpha},
                {"up_offset", 1.0}});
  bench.b.step("all_reduce", {{"input", partial}, {"output", sum}},
               {{"group", "tp"}});
  bench.b.step("add_expert_bias", {{"input", sum},
                                   {"ids", ids},
                                   {"weights", weights},
                                   {"bias", bw},
                                   {"output", y}});
  bench.b.output("y", y);

  Value none{{kExperts}, std::vector<double>(kExperts, 0)};
  Choice choice = choose(logits, none, 1, 1, 1);
  std::vector<double> expected(kTokens * kWidth, 0);
  for (int i = 0; i < kTokens * kTop; ++i) {
    int t = i / kTop, e = static_cast<int>(choice.ids[i]);
    const double *row = &x.data[t * kWidth];
    std::vector<double> out(&downBias.data[e * kWidth],
                            &downBias.data[e * kWidth] + kWidth);
    for (int f = 0; f < kInner; ++f) {
      double part[2];
      for (int turn : {0, 1}) {
        int column = 2 * f + turn;
        part[turn] = gateUpBias.data[e * 2 * kInner + column];
        for (int h = 0; h < kWidth; ++h)
          part[turn] +=
              row[h] * gateUp.data[(e * kWidth + h) * 2 * kInner + column];
      }
      double gate = std::min(part[0], kLimit),
             value = std::min(std::max(part[1], -kLimit), kLimit);
      double inner = gate / (1 + std::exp(-kAlpha * gate)) * (value + 1);
      for (int h = 0; h < kWidth; ++h)
        out[h] += inner * down.data[(e * kInner + f) * kWidth + h];
    }
    for (int h = 0; h < kWidth; ++h)
      expected[t * kWidth + h] += choice.weights[i] * out[h];
  }
  CHECK(error(bench.run().output("y").data, expected) < kTolerance);
}

TEST_CASE("contracts of routers", "[plan][contract]") {
  auto finding = [](const Json &attrs, bool isRequired = true) {
    Bench bench(2, kTokens);
    if (isRequired)
      bench.b.require("routing");
    std::string lw = bench.table("logits", randomValue({64, kExperts}, 2));
    bench.begin();
    std::string scores = bench.source(lw, kExperts);
    Json whole = {nullptr, nullptr};
    std::string ids = bench.b.buffer({"tokens", kTop}, whole, false, "i32"),
                weights = bench.buffer({"tokens", kTop}, whole);
    Json all = {{"top_k", kTop}, {"scoring", "sigmoid"}, {"renormalize", true}};
    all.update(attrs);
    bench.b.step("router",
                 {{"logits", scores}, {"ids", ids}, {"weights", weights}}, all);
    bench.b.output("weights", weights);
    bench.b.output("ids", ids);
    return findings(bench.b.finish());
  };
  Json good = {
      {"groups", 4}, {"chosen_groups", 2}, {"group_score", "top2_sum"}};
  auto with = [&](const char *key, const Json &value) {
    Json changed = good;
    changed[key] = value;
    return changed;
  };
  CHECK(finding(good) == "");
  CHECK_THAT(finding(good, false),
             Contains("has this 'groups'; 'requires' does not list the feature "
                      "'routing'"));
  CHECK_THAT(finding({{"groups", 4}}), Contains("both or none are expected"));
  CHECK_THAT(finding(with("groups", 3)), Contains("groups that divide them"));
  CHECK_THAT(finding(with("chosen_groups", 1)),
             Contains("takes the 3 largest of 1 of 4 groups of 2 experts"));
  CHECK_THAT(finding(with("groups", 8)),
             Contains("groups of one expert") || Contains("takes the 3"));
}
