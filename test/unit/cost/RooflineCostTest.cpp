#include "CostTests.h"

using namespace layline;
using namespace layline::test;

TEST_CASE("norms of TokenWeave's table, launched one by one") {
  CostModel eager = makeModel("h100x8", LaunchMode::Eager);
  // Tokens and the whole norm's time; it reads and writes row and residual.
  for (auto [tokens, us] :
       {std::pair(256, 11.9), std::pair(4096, 96.3), std::pair(32768, 712.4)}) {
    int64_t bytes = int64_t(tokens) * 8192 * 2;
    Estimate estimate = eager.rowKernel(2 * bytes, 2 * bytes);
    CHECK(estimate.us == Approx(us).epsilon(0.02));
    CHECK(estimate.confidence == Confidence::Measured);
  }
  // The roofline through them, where no table is at hand.
  CostModel h200 = makeModel("h200x8", LaunchMode::Eager);
  CHECK(h200.rowKernel(0, 1).us == Approx(7.6).epsilon(0.01));
  CHECK(h200.rowKernel(0, 1).confidence == Confidence::Formula);
}

TEST_CASE("the roofline meets the table it was fitted to") {
  // In a graph only the launch is cheaper.
  CostModel eager = makeModel("h100x8", LaunchMode::Eager),
            graph = makeModel("h100x8");
  double saved = eager.launchOverheadUs() - graph.launchOverheadUs();
  CHECK(saved > 0);
  for (int64_t tokens = 64; tokens <= 32768; tokens *= 2) {
    int64_t bytes = tokens * 8192 * 2;
    INFO(tokens);
    CHECK(graph.rowKernel(2 * bytes, 2 * bytes).us + saved ==
          Approx(eager.rowKernel(2 * bytes, 2 * bytes).us).epsilon(0.12));
  }
}

TEST_CASE("nothing to do costs nothing") {
  CostModel model = makeModel("h200x8");
  CHECK(model.rowKernel(0, 0).us == 0);
  CHECK(model.gemm(0, 1, 1, 2, 2).us == 0);
}

TEST_CASE("a GEMM of few rows is bound by its weight, of many by arithmetic") {
  CostModel model = makeModel("h200x8");
  double launch = model.launchOverheadUs();
  constexpr int64_t n = 8192, k = 8192;
  double weight = double(n * k * 2) / (4.8e6 * 0.91);
  CHECK(model.gemm(1, n, k, 2, 2).us - launch == Approx(weight).epsilon(0.01));
  CHECK(model.gemm(1, n, k, 2, 2).source == "roofline, memory");
  Estimate large = model.gemm(16384, n, k, 2, 2);
  CHECK(large.source == "roofline, arithmetic");
  CHECK(large.us == Approx(2.0 * 16384 * n * k / (989e6 * 0.75)).epsilon(0.05));
  // 8-bit operands halve both.
  CHECK(model.gemm(16384, n, k, 1, 1).us == Approx(large.us / 2).epsilon(0.05));
  // A weight of 8 bits under 16-bit rows saves its traffic only.
  CHECK(model.gemm(16384, n, k, 1, 2).us == Approx(large.us).epsilon(0.01));
  CHECK(model.gemm(1, n, k, 1, 2).us - launch ==
        Approx(weight / 2).epsilon(0.01));
}

TEST_CASE("rows on 1/8 of the ranks do not make a GEMM 8 times faster") {
  CostModel model = makeModel("h200x8");
  // DeepSeek-V3's q_a and kv_a: 7168 to 2112.
  auto gain = [&](int64_t tokens) {
    return model.gemm(tokens, 2112, 7168, 2, 2).us /
           model.gemm(tokens / 8, 2112, 7168, 2, 2).us;
  };
  for (int64_t tokens = 8; tokens <= 32768; tokens *= 2) {
    CHECK(gain(tokens) >= 1);
    CHECK(gain(tokens) <= 8);
  }
  CHECK(gain(64) < 1.1); // the weight is read either way
  CHECK(gain(32768) > 6);
}

TEST_CASE("the anchor of sglang PR 10568: q_a and kv_a on H20, 16 K chunks") {
  // 205.1 ms on all rows against 26.1 ms on an eighth. How many chunks a pass
  // has is not said there, so the ratio is what compares.
  CostModel model = makeModel("h20x8");
  double ratio = model.gemm(16384, 2112, 7168, 1, 1).us /
                 model.gemm(2048, 2112, 7168, 1, 1).us;
  CHECK(ratio == Approx(205.1 / 26.1).epsilon(0.12));
}
