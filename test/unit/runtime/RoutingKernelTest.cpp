// Rows sent to the ranks of their experts and back, and what a loader refuses.
#include "KernelBench.h"

using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

constexpr int kExperts = 5, kInner = 6, kWidth = 4, kTop = 2, kTokens = 7;

/// A plan of one layer of experts, with places where a test can go wrong.
struct RoutedPlan {
  explicit RoutedPlan(std::int64_t ranks)
      : bench(ranks, kTokens), block(bench.b.block("tokens")),
        routed(bench.b.routed("tokens", kExperts)),
        experts(bench.b.block(kExperts)) {}

  Bench bench;
  Json block, routed, experts;
  int count = kExperts; ///< in dispatch and combine
  bool isRequired = true;
  std::string combineBy = "ids", readIds = "sent_ids", returned = "made";
  std::function<void(RoutedPlan &)> extra;
  std::map<std::string, std::string> at; ///< buffers by name
  Value x = randomValue({64, kWidth}, 1),
        logits = randomValue({64, kExperts}, 2),
        gate = randomValue({kExperts, kInner, kWidth}, 3),
        up = randomValue({kExperts, kInner, kWidth}, 4),
        down = randomValue({kExperts, kWidth, kInner}, 5);

  std::string rows(const Json &layout, int width, bool owes = false,
                   const std::string &dtype = "") {
    return bench.b.buffer({"tokens", width}, {layout, nullptr}, owes, dtype);
  }
  void route(const std::string &suffix, const std::string &scores) {
    at["ids" + suffix] = rows(block, kTop, false, "i32");
    at["weights" + suffix] = rows(block, kTop);
    bench.b.step("router",
                 {{"logits", scores},
                  {"ids", at["ids" + suffix]},
                  {"weights", at["weights" + suffix]}},
                 {{"top_k", kTop},
                  {"scoring", suffix.empty() ? "softmax" : "sigmoid"},
                  {"renormalize", true}});
  }
  void send(const std::string &suffix) {
    at["sent" + suffix] = rows(routed, kWidth);
    at["sent_ids" + suffix] = rows(routed, kTop, false, "i32");
    at["sent_weights" + suffix] = rows(routed, kTop);
    bench.b.step("dispatch",
                 {{"input", at["x"]},
                  {"ids", at["ids" + suffix]},
                  {"weights", at["weights" + suffix]},
                  {"output", at["sent" + suffix]},
                  {"output_ids", at["sent_ids" + suffix]},
                  {"output_weights", at["sent_weights" + suffix]}},
                 {{"group", "tp"}, {"range", "tokens/tp"}, {"experts", count}});
  }

  void build() {
    if (isRequired)
      bench.b.require("expert_parallel");
    std::string xw = bench.table("x", x), lw = bench.table("logits", logits);
    auto stack = [&](const char *key, const Value &value) {
      bench.weight(key, value);
      return bench.b.weight(key, value.shape, {experts, nullptr, nullptr});
    };
    std::string g = stack("gate", gate), u = stack("up", up),
                d = stack("down", down);
    bench.begin();
    at["x"] = bench.rows(bench.source(xw, kWidth), kWidth);
    std::string scores = bench.rows(bench.source(lw, kExperts), kExperts);
    route("", scores);
    route("2", scores);
    send("");
    send("2");
    at["made"] = rows(routed, kWidth, !experts.is_null());
    bench.b.step("experts",
                 {{"input", at["sent"]},
                  {"ids", at[readIds]},
                  {"weights", at["sent_weights"]},
                  {"gate", g},
                  {"up", u},
                  {"down", d},
                  {"output", at["made"]}},
                 {{"function", "silu"}});
    if (extra)
      extra(*this);
    at["y"] = rows(block, kWidth);
    bench.b.step(
        "combine",
        {{"input", at[returned]}, {"ids", at[combineBy]}, {"output", at["y"]}},
        {{"group", "tp"}, {"range", "tokens/tp"}, {"experts", count}});
    bench.b.output("y", at["y"]);
  }

  /// What one rank computes.
  std::vector<double> expected() const {
    std::vector<double> y(kTokens * kWidth, 0);
    for (int t = 0; t < kTokens; ++t) {
      std::vector<double> score(kExperts);
      double sum = 0;
      for (int e = 0; e < kExperts; ++e)
        score[e] = std::exp(logits.data[t * kExperts + e]);
      std::vector<int> order = {0, 1, 2, 3, 4};
      std::sort(order.begin(), order.end(),
                [&](int a, int b) { return score[a] > score[b]; });
      for (int k = 0; k < kTop; ++k)
        sum += score[order[k]];
      for (int k = 0; k < kTop; ++k) {
        int e = order[k];
        for (int i = 0; i < kInner; ++i) {
          double g = 0, u = 0;
          for (int w = 0; w < kWidth; ++w) {
            int cell = (e * kInner + i) * kWidth + w;
            g += gate.data[cell] * x.data[t * kWidth + w];
            u += up.data[cell] * x.data[t * kWidth + w];
          }
          for (int o = 0; o < kWidth; ++o)
            y[t * kWidth + o] += score[e] / sum * function("silu", g) * u *
                                 down.data[(e * kWidth + o) * kInner + i];
        }
      }
    }
    return y;
  }
};

} // namespace

TEST_CASE("rows go to their experts and come back", "[kernels]") {
  // 8 ranks: three have no expert, one has no row.
  auto ranks = GENERATE(1, 2, 3, 5, 8);
  RoutedPlan plan(ranks);
  plan.build();
  TestEngine &engine = plan.bench.run();
  CHECK(error(engine.output("y").data, plan.expected()) < kTolerance);
}

TEST_CASE("contracts of routed rows", "[plan][contract]") {
  auto finding = [](const std::function<void(RoutedPlan &)> &change) {
    RoutedPlan plan(3);
    change(plan);
    plan.build();
    return findings(plan.bench.b.finish());
  };
  CHECK(finding([](RoutedPlan &) {}) == "");
  CHECK_THAT(finding([](RoutedPlan &p) { p.isRequired = false; }),
             Contains("range 'routed5.tokens/tp': is of kind 'routed'; "
                      "'requires' does not list the feature "
                      "'expert_parallel'") &&
                 Contains("(dispatch): is of this kind"));
  CHECK_THAT(finding([](RoutedPlan &p) { p.count = 4; }),
             Contains("rows routed to 4 experts over axis 'tp' are expected"));
  CHECK_THAT(finding([](RoutedPlan &p) { p.experts = nullptr; }),
             Contains("experts in blocks over that axis are expected"));
  CHECK_THAT(finding([](RoutedPlan &p) { p.readIds = "sent_ids2"; }),
             Contains("rows, ids and weights of one dispatch are expected"));
  CHECK_THAT(finding([](RoutedPlan &p) { p.combineBy = "ids2"; }),
             Contains("sends rows back by") &&
                 Contains("they were dispatched by"));
  CHECK_THAT(finding([](RoutedPlan &p) { p.combineBy = "sent_ids"; }),
             Contains("rows by range 'tokens/tp' are expected"));
  CHECK_THAT(finding([](RoutedPlan &p) { p.returned = "sent"; }),
             Contains("a sum over 'tp' is expected"));
  // Nobody else reads rows of which some are not there.
  CHECK_THAT(finding([](RoutedPlan &p) {
               p.extra = [](RoutedPlan &q) {
                 q.at["twice"] = q.rows(q.routed, kWidth, true);
                 q.bench.b.step("add",
                                {{"inputs", {q.at["made"], q.at["made"]}},
                                 {"output", q.at["twice"]}});
               };
               p.returned = "twice";
             }),
             Contains("'experts' and 'combine' take such rows"));
  CHECK_THAT(
      finding([](RoutedPlan &p) {
        p.extra = [](RoutedPlan &q) {
          std::string all = q.rows(nullptr, kWidth);
          q.bench.b.step(
              "all_gather", {{"input", q.at["sent"]}, {"output", all}},
              {{"group", "tp"}, {"dim", 0}, {"range", "routed5.tokens/tp"}});
        };
      }),
      Contains("'experts' and 'combine' take such rows"));
  CHECK_THAT(finding([](RoutedPlan &p) {
               p.extra = [](RoutedPlan &q) {
                 q.bench.b.output("sent", q.at["sent"]);
               };
             }),
             Contains("output 'sent': has rows routed by range"));
  // Other ids in the buffer by the time that rows come back.
  CHECK_THAT(finding([](RoutedPlan &p) {
               p.extra = [](RoutedPlan &q) {
                 q.bench.b.step("cast", {{"input", q.at["ids2"]},
                                         {"output", q.at["ids"]}});
               };
             }),
             Contains("sends rows back by"));
  CHECK_THAT(finding([](RoutedPlan &p) {
               Json columns = p.routed;
               p.extra = [columns](RoutedPlan &q) {
                 q.bench.b.weight("z", {3, 5}, {nullptr, columns});
               };
             }),
             Contains("by which only rows are routed, one by one"));
}
