// What an engine does itself on device cuda: its products, on the stream that
// it is given; and the record of what ran when.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "layline/hooks.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <map>

using namespace layline::test;

namespace {

constexpr double kTolerance = 5e-6;

struct Products {
  layline_status answer = LAYLINE_OK;
  std::size_t calls = 0;
  std::map<std::string, std::size_t> weights;
  bool areStreams = true, areF32 = true;

  /// By the contract alone: work in the call's stream, on device pointers.
  static layline_status multiply(void *user, const layline_gemm_call *call) {
    auto &products = *static_cast<Products *>(user);
    ++products.calls;
    ++products.weights[call->weight];
    products.areStreams = products.areStreams && call->call->stream;
    products.areF32 = products.areF32 && call->a_dtype == LAYLINE_F32 &&
                      call->b_dtype == LAYLINE_F32 &&
                      call->c_dtype == LAYLINE_F32;
    if (products.answer == LAYLINE_RUN_FAILURE)
      std::snprintf(call->call->message, call->call->message_bytes,
                    "no workspace");
    if (products.answer != LAYLINE_OK)
      return products.answer;
    layline_gemm_call g = *call;
    runProduct(static_cast<Stream>(call->call->stream), [g] {
      const auto *a = static_cast<const float *>(g.a),
                 *b = static_cast<const float *>(g.b);
      auto *c = static_cast<float *>(g.c);
      for (std::int64_t i = 0; i < g.m; ++i)
        for (std::int64_t j = 0; j < g.n; ++j) {
          double sum = 0;
          for (std::int64_t l = 0; l < g.k; ++l)
            sum += double(a[i * g.lda + l]) * b[j * g.ldb + l];
          c[i * g.ldc + j] = static_cast<float>(g.alpha * sum);
        }
    });
    return LAYLINE_OK;
  }
};

nlohmann::json readJson(const std::string &path) {
  std::ifstream file(path);
  nlohmann::json json = nlohmann::json::parse(file);
  std::remove(path.c_str());
  return json;
}

} // namespace

TEST_CASE("an engine's products run on the device's streams, in every run",
          "[hooks]") {
  int count = GENERATE(1, 2);
  CAPTURE(count);
  FakeGpu gpu(cards(count, 2));
  {
    GoldenRun run("cuda", "v1.0/llama-tp4", "llama");
    Products products;
    run.check(layline_gemm_set(run.get(), Products::multiply, &products));
    std::size_t inOne = 0;
    for (int time = 0; time < 2; ++time) {
      run.setPast(0);
      run.run(0, 3);
      CHECK(error(run.logits(), run.recorded("logits", 0, 3)) < kTolerance);
      if (time == 0)
        inOne = products.calls;
    }
    CHECK(inOne > 0);
    CHECK(products.calls == 2 * inOne);
    CHECK(products.areStreams);
    CHECK(products.areF32);
    // Of each rank, twice; those that are given back are the runtime's.
    CHECK(products.weights["model.layers.0.self_attn.o_proj.weight"] == 8);
    products.answer = LAYLINE_DECLINED;
    run.setPast(0);
    run.run(0, 3);
    CHECK(error(run.logits(), run.recorded("logits", 0, 3)) < kTolerance);
    products.answer = LAYLINE_RUN_FAILURE;
    run.setPast(0);
    CHECK_THROWS_WITH(run.run(0, 3),
                      Catch::Contains(" (linear") &&
                          Catch::Contains(") on rank 0: the engine's GEMM "
                                          "function: no workspace"));
    // Taken back, graphs again.
    run.check(layline_gemm_set(run.get(), nullptr, nullptr));
    run.setPast(0);
    run.run(0, 3);
    CHECK(error(run.logits(), run.recorded("logits", 0, 3)) < kTolerance);
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("an engine's products and experts are refused together", "[hooks]") {
  FakeGpu gpu(cards(1, 2));
  GoldenRun run("cuda", "v1.0/qwen3_moe-tp3", "qwen3_moe");
  Products products;
  run.check(layline_gemm_set(run.get(), Products::multiply, &products));
  CHECK_THROWS_WITH(run.run(0, 2),
                    Catch::Contains("(experts") &&
                        Catch::Contains("device 'cuda' asks an engine for "
                                        "products of linear steps, not for "
                                        "those of experts"));
  CHECK(products.calls == 0);
}

TEST_CASE("a trace has every step of every rank, by the cards' events",
          "[hooks]") {
  int count = GENERATE(1, 2);
  CAPTURE(count);
  FakeGpu gpu(cards(count, 2));
  {
    GoldenRun run("cuda", "v1.0/llama-tp4", "llama");
    run.run(0, 3); // a run that is not recorded, by graphs
    run.check(layline_trace_begin(run.get()));
    run.run(3, 2);
    run.check(layline_trace_end(run.get()));
    CHECK(error(run.logits(), run.recorded("logits", 3, 2)) < kTolerance);
    std::string path = "cuda-trace-" + std::to_string(count) + ".json";
    run.check(layline_trace_write(run.get(), path.c_str()));
    std::map<int, std::size_t> ofRank;
    std::map<std::pair<int, int>, double> ends; ///< by rank and stream
    const nlohmann::json trace = readJson(path);
    for (const nlohmann::json &event : trace["traceEvents"]) {
      if (event["ph"] != "X")
        continue;
      int rank = event["pid"], stream = event["tid"];
      double begin = event["ts"], length = event["dur"];
      ++ofRank[rank];
      CHECK(event["args"]["past"] == 3);
      CHECK(length > 0);
      // A stream's steps follow one another.
      CHECK(begin >= ends[{rank, stream}]);
      ends[{rank, stream}] = begin + length;
    }
    CHECK(ofRank.size() == 4);
    for (const auto &[rank, steps] : ofRank)
      CHECK(steps == ofRank[0]);
    CHECK(ofRank[0] > 20);
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}
