#include "CostTests.h"
#include "layline/Cost/Targets.h"
#include <cmath>

using namespace layline;
using namespace layline::test;
using Catch::Matchers::Contains;
using C = Collective;

TEST_CASE("the fastest algorithm that the target deploys, and its name") {
  CostModel model = makeModel("h200x8");
  Estimate estimate = model.collective(C::AllReduce, 16 * kMiB, 8);
  CHECK(estimate.us == Approx(87.2).epsilon(1e-3));
  CHECK(estimate.confidence == Confidence::Measured);
  CHECK(estimate.source ==
        "aiconfigurator @095f58a h200_sxm vllm 0.24.0 vllm_custom");
  std::vector<Candidate> all =
      model.collectiveCandidates(C::AllReduce, 16 * kMiB, 8);
  CHECK(all.size() == 4); // NCCL, SGLang, TensorRT-LLM, vLLM
  for (size_t i = 1; i < all.size(); ++i)
    CHECK(all[i - 1].estimate.us <= all[i].estimate.us);
  CHECK(all.front().estimate.us == estimate.us);
}

TEST_CASE("one rank and no bytes cost nothing") {
  CostModel model = makeModel("h200x8");
  CHECK(model.collective(C::AllReduce, kMiB, 1).us == 0);
  CHECK(model.collective(C::AllGather, 0, 8).us == 0);
}

TEST_CASE("a sum is as well known as its worst part") {
  Estimate a{1, Confidence::Measured, "a"}, b{2, Confidence::Formula, "b"};
  CHECK((a + b).us == 3);
  CHECK((a + b).confidence == Confidence::Formula);
  CHECK((a + b).source == "a + b");
  CHECK((a + a).source == "a");
}

TEST_CASE("DeepSeek-V3's latent gather on 8 H200 at 4096 tokens") {
  CostModel model = makeModel("h200x8");
  constexpr int64_t tokens = 4096, hidden = 7168, latent = 2112;
  double reduced = model.collective(C::AllReduce, tokens * hidden * 2, 8).us;
  double split = model.collective(C::ReduceScatter, tokens * hidden * 2, 8).us +
                 model.collective(C::AllGather, tokens * latent * 2, 8).us;
  CHECK(reduced == Approx(283).epsilon(0.01));
  CHECK(split == Approx(245).epsilon(0.01));
}

TEST_CASE("outside the tables a number says so") {
  CostModel model = makeModel("h200x8");
  Estimate large = model.collective(C::ReduceScatter, int64_t(4) << 30, 8);
  CHECK(large.confidence == Confidence::Formula);
  CHECK_THAT(large.source, Contains("above 512 MiB measured"));
  Estimate small = model.collective(C::ReduceScatter, 64, 8);
  CHECK(small.confidence == Confidence::Formula);
  CHECK_THAT(small.source, Contains("below 512 B measured"));

  Estimate between = model.collective(C::AllReduce, kMiB, 6);
  CHECK(between.confidence == Confidence::Formula);
  CHECK_THAT(between.source, Contains("between 4 and 8 ranks"));
  CHECK(between.us > model.collective(C::AllReduce, kMiB, 4).us);
  CHECK(between.us < model.collective(C::AllReduce, kMiB, 8).us);

  Estimate nodes = model.collective(C::AllReduce, kMiB, 16);
  CHECK(nodes.confidence == Confidence::Formula);
  CHECK_THAT(nodes.source, Contains("2 nodes, 400 Gb/s a card assumed"));
  CHECK(nodes.us > model.collective(C::AllReduce, kMiB, 8).us + 20);
}

TEST_CASE("a formula never displaces what was measured at that size") {
  // TokenWeave's multimem curve begins at 1 MiB; engines' begin at 256 B.
  CostModel model = makeModel("h100x8");
  std::vector<Candidate> all =
      model.collectiveCandidates(C::AllReduce, 16 * kKiB, 8);
  CHECK(all.front().estimate.confidence == Confidence::Measured);
  CHECK(all.back().algorithm == "pytorch symm_mem multimem");
  CHECK(all.back().estimate.confidence == Confidence::Formula);
}

TEST_CASE("every target answers for every collective, group and size") {
  for (const std::string &target : knownTargets()) {
    CostModel model = makeModel(target);
    for (C op : {C::AllReduce, C::ReduceScatter, C::AllGather, C::AllToAll})
      for (int64_t ranks : {2, 3, 4, 6, 7, 8, 16, 72, 4096}) {
        double before = 0;
        for (int64_t bytes = 1; bytes < int64_t(1) << 36; bytes *= 4) {
          Estimate estimate = model.collective(op, bytes, ranks);
          INFO(target << " " << getName(op) << " " << ranks << " " << bytes);
          REQUIRE(std::isfinite(estimate.us));
          REQUIRE(estimate.us > 0);
          REQUIRE_FALSE(estimate.source.empty());
          // Not slower for less, but where a formula takes over from a table.
          if (estimate.confidence == Confidence::Measured)
            CHECK(estimate.us >= before * 0.999);
          before = estimate.us;
        }
      }
  }
}

TEST_CASE("cards without a table go by a closed form") {
  CostModel model = makeModel("h20x8");
  Estimate estimate = model.collective(C::ReduceScatter, 256 * kMiB, 8);
  CHECK(estimate.confidence == Confidence::Formula);
  CHECK_THAT(estimate.source, Contains("h20x8 has no table"));
  // Its links are those of an H200, which measures within a fifth of the form.
  CHECK(
      estimate.us ==
      Approx(makeModel("h200x8").collective(C::ReduceScatter, 256 * kMiB, 8).us)
          .epsilon(0.2));
}

TEST_CASE("an unknown target names the known ones") {
  std::string error;
  CHECK_FALSE(CostModel::create({"h300", "", "", LaunchMode::Graph}, error));
  CHECK_THAT(error, Contains("found 'h300', expected one of a100x8") &&
                        Contains("h200x8"));
}
