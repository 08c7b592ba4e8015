// A plan around the steps under test, and plain forms of their formulas.
#ifndef LAYLINE_TEST_UNIT_RUNTIME_KERNELBENCH_H
#define LAYLINE_TEST_UNIT_RUNTIME_KERNELBENCH_H

#include "TestEngine.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <memory>

namespace layline::test {

constexpr double kTolerance = 1e-13;

/// A plan around the steps under test: float inputs come in as embedding tables
/// that the ids 0..T-1 copy out row by row.
class Bench {
public:
  Bench(std::int64_t ranks, std::int64_t tokenCount, std::int64_t past = 0,
        const std::string &dtype = "f64")
      : b(ranks, 64, dtype), tokens(tokenCount), past_(past) {}

  void begin() {
    b.variant("v", 1, 64);
    ids = b.input("input_ids");
    positions = b.input("positions");
  }
  void weight(const std::string &key, const Value &value) {
    values_.push_back({key, value});
  }

  /// [tokens, width], whole on every rank. Its weight is made before begin().
  std::string source(const std::string &tableId, std::int64_t width) {
    std::string x = b.buffer({"tokens", width}, {nullptr, nullptr});
    b.step("embedding", {{"ids", ids}, {"weight", tableId}, {"output", x}});
    return x;
  }
  std::string table(const std::string &key, const Value &value) {
    weight(key, value);
    return b.weight(key, value.shape,
                    Json(std::vector<Json>(value.shape.size(), nullptr)));
  }
  std::string rows(const std::string &x, std::int64_t width) {
    std::string y = b.buffer({"tokens", width}, {b.block("tokens"), nullptr});
    b.step("slice", {{"input", x}, {"output", y}},
           {{"dim", 0}, {"range", "tokens/tp"}});
    return y;
  }
  std::string buffer(const Json &shape, const Json &dims, bool owes = false) {
    return b.buffer(shape, dims, owes);
  }

  TestEngine &run() {
    Json plan = b.finish();
    REQUIRE(findings(plan) == "");
    engine_ = std::make_unique<TestEngine>(plan);
    return run(*engine_);
  }
  /// Of an engine with the finished plan.
  TestEngine &run(TestEngine &engine) {
    for (const auto &[key, value] : values_)
      engine.weight(key, value);
    engine.input("input_ids", count(tokens));
    engine.input("positions", count(tokens, past_));
    engine.run(tokens);
    return engine;
  }
  TestEngine &again(std::int64_t more) {
    engine_->input("input_ids", count(more, tokens));
    engine_->input("positions", count(more, tokens + past_));
    engine_->run(more);
    return *engine_;
  }

  PlanBuilder b;
  std::int64_t tokens;
  std::string ids, positions;

private:
  std::int64_t past_;
  std::vector<std::pair<std::string, Value>> values_;
  std::unique_ptr<TestEngine> engine_;
};

inline std::vector<double> firstRows(const Value &value, std::int64_t rows) {
  std::int64_t width =
      static_cast<std::int64_t>(value.data.size()) / value.shape[0];
  return {value.data.begin(), value.data.begin() + rows * width};
}

inline double function(const std::string &name, double x) {
  if (name == "silu")
    return x / (1 + std::exp(-x));
  if (name == "gelu")
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  if (name == "gelu_tanh")
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) *
                          (x + 0.044715 * x * x * x)));
  if (name == "sigmoid")
    return 1 / (1 + std::exp(-x));
  return std::max(x, 0.0);
}

/// y[t, o] = sum_i x[t, i] w[o, i]
inline std::vector<double> product(const std::vector<double> &x,
                                   const Value &w) {
  std::int64_t out = w.shape[0], in = w.shape[1];
  std::int64_t rows = static_cast<std::int64_t>(x.size()) / in;
  std::vector<double> y(rows * out, 0);
  for (std::int64_t t = 0; t < rows; ++t)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i)
        y[t * out + o] += x[t * in + i] * w.data[o * in + i];
  return y;
}

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_RUNTIME_KERNELBENCH_H
