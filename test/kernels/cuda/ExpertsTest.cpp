// The local side of a mixture by kernels of the catalogue on device cuda: rows
// sorted by expert, permuted, and merged.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "Uses.h"
#include "plans/StepPlans.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

using namespace layline::test;

namespace {

constexpr int kExperts = 5, kInner = 6, kWidth = 16;
const std::string kKernels =
    "experts: sort_by_expert, permute_rows bf16, merge_experts bf16";

/// Experts dealt out over the ranks, their rows whole on each.
class Mixture {
public:
  Mixture(std::int64_t ranks, std::int64_t tokens, const std::string &dtype)
      : bench(ranks, tokens, 0, dtype),
        x_(bench.table("x", randomValue({64, kWidth}, 1))),
        experts_(bench, kExperts, kInner, kWidth) {}

  /// Sums over the ranks of what `ids` choose, by `weights`.
  void experts(const Json &ids, const std::string &weights) {
    std::string owed = bench.buffer({"tokens", kWidth}, {nullptr, nullptr},
                                    /*owes=*/true),
                y = bench.buffer({"tokens", kWidth}, {nullptr, nullptr});
    experts_.add(bench.source(x_, kWidth), ids, weights, owed);
    bench.b.step("all_reduce", {{"input", owed}, {"output", y}},
                 {{"group", "tp"}});
    bench.b.output("y", y);
  }

  Bench bench;

private:
  std::string x_;
  Experts experts_;
};

} // namespace

TEST_CASE("a mixture's rows are sorted, permuted and merged on cards",
          "[fused]") {
  constexpr int kTop = 2;
  // With 8 ranks three have no expert; of 3 one has fewer than the others.
  auto [count, ranks, tokens] =
      GENERATE(std::tuple(1, 3, 7), std::tuple(2, 3, 1), std::tuple(2, 8, 7),
               std::tuple(4, 4, 12));
  bool isBF16 = GENERATE(true, false);
  CAPTURE(count, ranks, tokens, isBF16);
  Mixture mixture(ranks, tokens, isBF16 ? "bf16" : "f32");
  Bench &bench = mixture.bench;
  std::string table = bench.table("logits", randomValue({64, kExperts}, 2));
  bench.begin();
  Choice choice = addRouter(bench, bench.source(table, kExperts), kTop);
  mixture.experts(choice.ids, choice.weights);
  Json plan = bench.b.finish();
  REQUIRE(findings(plan) == "");
  auto precision = isBF16 ? LAYLINE_PRECISION_BF16 : LAYLINE_PRECISION_F32;
  FakeGpu gpu(checkedCards(count));
  {
    TestEngine cuda(plan, precision, "cuda"), cpu(plan, precision, "cpu");
    bench.run(cpu);
    for (int time = 0; time < 2; ++time) {
      bench.run(cuda);
      // In bfloat16 each expert's rows are rounded, and each rank's sum.
      CHECK(error(cuda.output("y").data, cpu.output("y").data) <
            (isBF16 ? 0x1p-6 : 5e-6));
    }
    std::vector<std::string> uses = usesOf(cuda.get());
    INFO(Catch::Detail::stringify(uses));
    CHECK(usesWith(uses, isBF16 ? kKernels
                                : "experts: layline_experts (no kernel is "
                                  "permute_rows f32)") == 1);
  }
  INFO(gpu.emulatorError());
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("a choice of no expert is told, and the next run is right",
          "[fused]") {
  // The positions of the run are the choices.
  Mixture mixture(2, kExperts, "bf16");
  Bench &bench = mixture.bench;
  std::string table = bench.table("weights", randomValue({64, 1}, 7));
  bench.begin();
  mixture.experts(
      {{"buffer", bench.positions}, {"shape", Json::array({"tokens", 1})}},
      bench.source(table, 1));
  Json plan = bench.b.finish();
  REQUIRE(findings(plan) == "");
  FakeGpu gpu(cards(2));
  TestEngine cuda(plan, LAYLINE_PRECISION_BF16, "cuda"),
      cpu(plan, LAYLINE_PRECISION_BF16, "cpu");
  bench.run(cuda);
  bench.run(cpu);
  CHECK(usesWith(usesOf(cuda.get()), kKernels) == 1);
  std::vector<double> expected = cpu.output("y").data;
  CHECK(error(cuda.output("y").data, expected) < 0x1p-6);
  for (std::int64_t wrong : {std::int64_t(kExperts), std::int64_t(-1),
                             (std::int64_t(1) << 32) + 1}) {
    cuda.input("positions", {0, 1, 2, 3, wrong});
    CHECK_THROWS_WITH(cuda.run(kExperts),
                      Catch::Contains("(experts") &&
                          Catch::Contains("expert id " + std::to_string(wrong) +
                                          " of row 4 is outside the experts"));
  }
  bench.run(cuda);
  CHECK(error(cuda.output("y").data, expected) < 0x1p-6);
}

TEST_CASE("the mixture of a golden model in bfloat16", "[fused]") {
  FakeGpu gpu(cards(3));
  GoldenRun cuda("cuda", "v1.0/qwen3_moe-tp3", "qwen3_moe",
                 LAYLINE_PRECISION_BF16),
      cpu("cpu", "v1.0/qwen3_moe-tp3", "qwen3_moe", LAYLINE_PRECISION_BF16);
  for (auto [begin, tokens] : {std::pair(0, 5), std::pair(5, 1)}) {
    cuda.run(begin, tokens);
    cpu.run(begin, tokens);
    CHECK(error(cuda.logits(), cpu.logits()) < 0.03);
  }
  std::vector<std::string> uses = cuda.uses();
  INFO(Catch::Detail::stringify(uses));
  CHECK(usesWith(uses, kKernels) == 1);
  CHECK(usesWith(uses, "rope: rope bf16 x1 own->own half") == 1);
  CHECK(gpu.emulatorError().empty());
}
