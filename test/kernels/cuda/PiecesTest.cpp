// Fused steps that are no launch on device cuda: the pieces that are, and why
// the whole is none.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "KernelBench.h"
#include "Uses.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace layline::test;

namespace {

constexpr double kF32Bound = 5e-6;

} // namespace

TEST_CASE("a fused step whose kernel keeps a tap to itself runs in pieces",
          "[fused]") {
  bool taps = GENERATE(true, false);
  CAPTURE(taps);
  const std::string asked = "' is asked for, which the kernel keeps to itself)";
  FakeGpu gpu(cards(4));
  GoldenRun run("cuda", "v1.2/olmo2-tp8", "olmo2", LAYLINE_PRECISION_F32, taps);
  run.run(0, 3);
  CHECK(error(run.logits(), run.recorded("logits", 0, 3)) < kF32Bound);
  std::vector<std::string> uses = run.uses();
  INFO(Catch::Detail::stringify(uses));
  CHECK(usesWith(uses, "('layer.0.attn_branch_norm" + asked) == (taps ? 1 : 0));
  CHECK(usesWith(uses, asked) == (taps ? 4 : 0));
  CHECK(usesWith(uses, "all_reduce+norm+add+norm: one_shot f32 x8 rms") ==
        (taps ? 0 : 1));
  CHECK(gpu.emulatorError().empty());
  if (!taps)
    return;
  GoldenRun cpu("cpu", "v1.2/olmo2-tp8", "olmo2", LAYLINE_PRECISION_F32, true);
  cpu.run(0, 3);
  REQUIRE(run.tapNames() == cpu.tapNames());
  for (const std::string &name : run.tapNames()) {
    CAPTURE(name);
    CHECK(error(run.tap(name), cpu.tap(name)) < kF32Bound);
  }
}

TEST_CASE("pieces of a step are as long as kernels are", "[fused]") {
  // Two norms of one sum, where a kernel has one.
  auto [count, ranks] =
      GENERATE(std::pair(1, 2), std::pair(2, 3), std::pair(4, 4));
  // Of the sum of what is owed, which the longest piece keeps to itself.
  bool isAsked = GENERATE(true, false);
  CAPTURE(count, ranks, isAsked);
  constexpr std::int64_t kWidth = 64;
  const Json whole = {nullptr, nullptr}, shape = {"tokens", kWidth};
  Bench bench(ranks, 5, 0, "f32");
  std::string table = bench.table("x", randomValue({64, kWidth}, 1)),
              v = bench.table("v", randomValue({kWidth}, 2)),
              w = bench.table("w", randomValue({kWidth}, 3));
  bench.weight("m", randomValue({kWidth, kWidth}, 4));
  std::string m =
      bench.b.weight("m", {kWidth, kWidth}, {nullptr, bench.b.block(kWidth)});
  bench.begin();
  std::string x = bench.source(table, kWidth),
              part = bench.buffer(shape, {nullptr, bench.b.block(kWidth)}),
              owed = bench.buffer(shape, whole, /*owes=*/true);
  bench.b.step("slice", {{"input", x}, {"output", part}},
               {{"dim", 1}, {"range", "n64/tp"}});
  bench.b.step("linear", {{"input", part}, {"weight", m}, {"output", owed}});
  auto inside = [&] {
    return bench.b.buffer(shape, whole, false, "", "register");
  };
  std::string paid = inside(), sum = inside(), a = bench.buffer(shape, whole),
              b = bench.buffer(shape, whole);
  auto norm = [&](const std::string &weight, const std::string &output) {
    return bench.b.bodyStep(
        "norm", {{"input", sum}, {"weight", weight}, {"output", output}},
        {{"norm", "rms"}, {"eps", 1e-5}});
  };
  bench.b.fused(
      {owed, x, v, w}, {a, b},
      {bench.b.bodyStep("all_reduce", {{"input", owed}, {"output", paid}},
                        {{"group", "tp"}}, {isAsked ? "paid" : ""}),
       bench.b.bodyStep("add",
                        {{"inputs", Json::array({paid, x})}, {"output", sum}},
                        Json::object(), {"sum"}),
       norm(v, a), norm(w, b)});
  bench.b.output("a", a);
  bench.b.output("b", b);
  Json plan = bench.b.finish();
  REQUIRE(findings(plan) == "");
  FakeGpu gpu(cards(count));
  {
    TestEngine cuda(plan, LAYLINE_PRECISION_F32, "cuda"),
        cpu(plan, LAYLINE_PRECISION_F32, "cpu");
    bench.run(cuda);
    bench.run(cpu);
    for (const char *id : {"a", "b"})
      CHECK(error(cuda.output(id).data, cpu.output(id).data) < kF32Bound);
    REQUIRE(cuda.tapNames() == cpu.tapNames());
    for (const std::string &name : cuda.tapNames())
      CHECK(error(cuda.tap(name).data, cpu.tap(name).data) < kF32Bound);
    std::vector<std::string> uses = usesOf(cuda.get());
    INFO(Catch::Detail::stringify(uses));
    CHECK(usesWith(uses, "all_reduce+add+norm+norm:  (norm: it takes another "
                         "value)") == 1);
    std::string name = ": one_shot f32 x" + std::to_string(ranks);
    CHECK(usesWith(uses, "all_reduce+add+norm" + name + " rms") ==
          (isAsked ? 0 : 1));
    CHECK(usesWith(uses, "all_reduce" + name) == (isAsked ? 1 : 0));
    // Behind the piece there is one norm left, else both.
    CHECK(usesWith(uses, "norm: layline_norm (no kernel is row_collective f32 "
                         "x1 own->own rms)") == 1);
    CHECK(usesWith(uses, "add: layline_elementwise (") == (isAsked ? 1 : 0));
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("a step that one rank has no kernel for has none on any", "[fused]") {
  // Features in parts of 4: a rank holds 16 of them, a width that kernels take,
  // another one 12.
  auto features = GENERATE(28, 20, 32); // the last, the first, none
  int count = GENERATE(1, 2);
  CAPTURE(features, count);
  Bench bench(2, 5, 0, "bf16");
  std::string table = bench.table("x", randomValue({64, features}, 1));
  bench.begin();
  Json shape = {"tokens", features}, split = {nullptr, nullptr};
  split[1] = bench.b.block(features / 4, 4);
  std::string part = bench.buffer(shape, split), y = bench.buffer(shape, split);
  bench.b.step("slice",
               {{"input", bench.source(table, features)}, {"output", part}},
               {{"dim", 1}, {"range", split[1]["range"]}});
  bench.b.step("activation", {{"input", part}, {"output", y}},
               {{"function", "silu"}});
  bench.b.output("y", y);
  Json plan = bench.b.finish();
  REQUIRE(findings(plan) == "");
  FakeGpu gpu(cards(count));
  TestEngine cuda(plan, LAYLINE_PRECISION_BF16, "cuda"),
      cpu(plan, LAYLINE_PRECISION_BF16, "cpu");
  bench.run(cuda);
  bench.run(cpu);
  CHECK(error(cuda.output("y").data, cpu.output("y").data) < 0x1p-7);
  std::vector<std::string> uses = usesOf(cuda.get());
  INFO(Catch::Detail::stringify(uses));
  const std::string kernel = "row_collective bf16 x1 own->own silu";
  CHECK(usesWith(uses, features == 32
                           ? "activation: " + kernel
                           : "activation: layline_elementwise (" + kernel +
                                 ": width 12, expected a multiple "
                                 "of 8 elements)") == 1);
  CHECK(gpu.emulatorError().empty());
}
