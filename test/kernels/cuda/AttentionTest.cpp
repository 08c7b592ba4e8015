// An engine's own attention on device cuda: by the call's contract alone, on
// the stream that it is given.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "layline/hooks.h"
#include "weights/HalfFloat.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

using namespace layline::test;
using layline::runtime::narrowToBF16;
using layline::runtime::widenBF16;

namespace {

constexpr double kTolerance = 5e-6;

float widened(const void *data, layline_dtype dtype, std::int64_t i) {
  if (dtype == LAYLINE_F32)
    return static_cast<const float *>(data)[i];
  return widenBF16(static_cast<const std::uint16_t *>(data)[i]);
}

void store(void *data, layline_dtype dtype, std::int64_t i, double value) {
  auto narrow = static_cast<float>(value);
  if (dtype == LAYLINE_F32)
    static_cast<float *>(data)[i] = narrow;
  else
    static_cast<std::uint16_t *>(data)[i] = narrowToBF16(narrow);
}

std::int64_t placeOf(const layline_pages &pages, std::int64_t row,
                     std::int64_t item) {
  std::int64_t page = row / pages.page_rows;
  page = pages.table ? pages.table[page] : page;
  return page * pages.page_stride + row % pages.page_rows * pages.row_stride +
         item * pages.item_stride;
}

void attend(const layline_attention_call &a,
            const std::vector<std::int32_t> &keyHead,
            const std::vector<std::int32_t> &valueHead) {
  for (std::int64_t t = 0; t < a.query_rows; ++t)
    for (std::int64_t h = 0; h < a.heads; ++h) {
      std::vector<double> y(static_cast<std::size_t>(a.value_width));
      double sum = a.sinks ? std::exp(double(widened(a.sinks, a.dtype, h))) : 0;
      for (std::int64_t s = 0; s < a.key_rows; ++s) {
        std::int64_t position = static_cast<const std::int64_t *>(
            a.key_position_pages.base)[placeOf(a.key_position_pages, s, 0)];
        std::int64_t distance = a.positions[t] - position;
        if ((a.causal && distance < 0) || (a.window && distance >= a.window))
          continue;
        std::int64_t key = placeOf(a.keys, s, keyHead[h]),
                     value = placeOf(a.values, s, valueHead[h]);
        double score = 0;
        for (std::int64_t i = 0; i < a.width; ++i)
          score += double(widened(a.query, a.dtype,
                                  (t * a.heads + h) * a.width + i)) *
                   widened(a.keys.base, a.dtype, key + i);
        score *= a.scale;
        if (a.softcap != 0)
          score = a.softcap * std::tanh(score / a.softcap);
        sum += std::exp(score);
        for (std::int64_t i = 0; i < a.value_width; ++i)
          y[i] += std::exp(score) * widened(a.values.base, a.dtype, value + i);
      }
      for (std::int64_t i = 0; i < a.value_width; ++i)
        store(a.output, a.dtype, (t * a.heads + h) * a.value_width + i,
              y[i] / sum);
    }
}

struct Engine {
  layline_status answer = LAYLINE_OK;
  std::set<std::int64_t> declines; ///< ranks
  std::size_t calls = 0;
  std::map<std::int64_t, std::size_t> byRank;
  std::set<layline_dtype> types;
  bool haveStreams = true, haveDensePositions = true;

  static layline_status attention(void *user,
                                  const layline_attention_call *call) {
    auto &engine = *static_cast<Engine *>(user);
    ++engine.calls;
    ++engine.byRank[call->call->rank];
    engine.types.insert(call->dtype);
    engine.haveStreams = engine.haveStreams && call->call->stream;
    engine.haveDensePositions =
        engine.haveDensePositions &&
        call->key_positions == call->key_position_pages.base;
    if (engine.answer == LAYLINE_RUN_FAILURE)
      std::snprintf(call->call->message, call->call->message_bytes,
                    "no kernel for it");
    if (engine.answer != LAYLINE_OK)
      return engine.answer;
    if (engine.declines.count(call->call->rank))
      return LAYLINE_DECLINED;
    // Of the host, and gone when this returns.
    std::vector<std::int32_t> keyHead(call->key_head,
                                      call->key_head + call->heads),
        valueHead(call->value_head, call->value_head + call->heads);
    runProduct(
        static_cast<Stream>(call->call->stream),
        [a = *call, keyHead, valueHead] { attend(a, keyHead, valueHead); });
    return LAYLINE_OK;
  }
};

} // namespace

TEST_CASE("an engine's attention runs on the device's streams", "[hooks]") {
  // Uneven heads, soft-caps and windows, sinks.
  auto [count, plan, model] =
      GENERATE(std::tuple(1, "v1.0/llama-tp4", "llama"),
               std::tuple(2, "v1.0/llama-tp4", "llama"),
               std::tuple(2, "v1.0/qwen2-tp5", "qwen2"),
               std::tuple(1, "v1.2/gemma2-tp3", "gemma2"),
               std::tuple(3, "v1.2/gpt_oss-tp3", "gpt_oss"),
               std::tuple(2, "v1.1/llama-tp2-cp2", "llama"));
  CAPTURE(count, plan);
  FakeGpu gpu(cards(count, 3));
  {
    GoldenRun run("cuda", plan, model);
    run.run(0, 3); // a graph without it
    run.setPast(0);
    Engine engine;
    run.check(layline_attention_set(run.get(), Engine::attention, &engine));
    for (auto [begin, tokens] :
         {std::pair(0, 9), std::pair(9, 1), std::pair(10, 1)}) {
      CAPTURE(begin);
      gpu.forgetCalls();
      std::size_t launches = gpu.launches().size();
      run.run(begin, tokens);
      CHECK(error(run.logits(), run.recorded("logits", begin, tokens)) <
            kTolerance);
      CHECK(gpu.callsOf("cuGraphLaunch") == 0);
      for (std::size_t i = launches; i < gpu.launches().size(); ++i)
        CHECK(gpu.launches()[i].kernel != "layline_attention");
    }
    CHECK(engine.calls > 0);
    CHECK(engine.haveStreams);
    CHECK(engine.haveDensePositions);
    CHECK(engine.types == std::set<layline_dtype>{LAYLINE_F32});
    std::vector<std::string> uses = run.uses();
    CHECK(std::count(uses.begin(), uses.end(),
                     "attention: the engine's, or layline_attention") == 1);
    // One rank is declined by itself, its kernel writes no other's output.
    engine.declines = {engine.byRank.begin()->first};
    run.setPast(0);
    run.run(0, 9);
    CHECK(error(run.logits(), run.recorded("logits", 0, 9)) < kTolerance);
    // Taken back: graphs again.
    run.check(layline_attention_set(run.get(), nullptr, nullptr));
    std::size_t calls = engine.calls;
    run.setPast(0);
    gpu.forgetCalls();
    run.run(0, 9);
    CHECK(gpu.callsOf("cuGraphLaunch") > 0);
    CHECK(engine.calls == calls);
    CHECK(error(run.logits(), run.recorded("logits", 0, 9)) < kTolerance);
  }
  INFO(gpu.emulatorError());
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("what an engine's attention declines is done as without it",
          "[hooks]") {
  auto precision = GENERATE(LAYLINE_PRECISION_F32, LAYLINE_PRECISION_BF16);
  CAPTURE(precision);
  FakeGpu gpu(cards(2, 3));
  GoldenRun own("cuda", "v1.0/llama-tp4", "llama", precision),
      asking("cuda", "v1.0/llama-tp4", "llama", precision);
  Engine engine;
  engine.answer = LAYLINE_DECLINED;
  asking.check(layline_attention_set(asking.get(), Engine::attention, &engine));
  for (auto [begin, tokens] : {std::pair(0, 5), std::pair(5, 1)}) {
    own.run(begin, tokens);
    asking.run(begin, tokens);
    CHECK(asking.logits() == own.logits());
  }
  CHECK(engine.calls > 0);
  CHECK(engine.byRank.size() == 4);
  bool isBF16 = precision == LAYLINE_PRECISION_BF16;
  CHECK(engine.types ==
        std::set<layline_dtype>{isBF16 ? LAYLINE_BF16 : LAYLINE_F32});
  // And done, in numbers of that type.
  engine.answer = LAYLINE_OK;
  own.run(6, 1);
  asking.run(6, 1);
  CHECK(error(asking.logits(), own.logits()) < (isBF16 ? 2e-2 : kTolerance));
  CHECK(gpu.emulatorError().empty());
}

TEST_CASE("an engine's attention that fails is named with its step and rank",
          "[hooks]") {
  FakeGpu gpu(cards(1, 3));
  {
    GoldenRun run("cuda", "v1.0/llama-tp4", "llama");
    Engine engine;
    engine.answer = LAYLINE_RUN_FAILURE;
    run.check(layline_attention_set(run.get(), Engine::attention, &engine));
    CHECK_THROWS_WITH(run.run(0, 3),
                      Catch::Contains(" (attention") &&
                          Catch::Contains(") on rank 0: the engine's attention "
                                          "function: no kernel for it"));
    CHECK(engine.calls == 1);
    engine.answer = LAYLINE_OK;
    run.run(0, 3);
    CHECK(error(run.logits(), run.recorded("logits", 0, 3)) < kTolerance);
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}
