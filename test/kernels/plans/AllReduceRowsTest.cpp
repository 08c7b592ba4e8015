// All ranks have all rows of what goes with an all_reduce, a kernel that deals
// rows out takes each rank's own: where those begin.
#include "KernelBench.h"
#include "KernelUses.h"
#include "devices/simt/plan/SimtDevice.h"
#include "kernels/Instances.cuh"

#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::test;

namespace {

constexpr int kRanks = 3;
constexpr int kWidth = 16;

/// The catalogue with an all_reduce that activates its rows: no model asks for
/// one, so that it is not compiled for use.
const char *withActivatedSums() {
  using namespace kernels;
  runtime::SimtOptions simt = runtime::parseSimtOptions("weak,seed=3");
  simt.find = [](const Variant &variant, std::string &error) {
    static KernelList added = [] {
      KernelList list;
      addRows<float, kRanks, Input::Owed, Output::Everyone,
              Activated<Function::Silu>>(list);
      return list;
    }();
    return variant == added.front().variant ? &added.front()
                                            : findKernel(variant, error);
  };
  runtime::enableSimtDevice(simt);
  return "simt";
}

} // namespace

TEST_CASE("the factor of an all_reduce's rows is the rows' own on every rank") {
  auto tokens = GENERATE(7, 2); // a rank has no row, too
  Bench bench(kRanks, tokens, 0, "f32");
  std::string xw = bench.table("x", randomValue({64, 12}, 1)),
              uw = bench.table("u", randomValue({64, kWidth}, 2));
  bench.weight("w", randomValue({kWidth, 12}, 3));
  std::string w =
      bench.b.weight("w", {kWidth, 12}, {nullptr, bench.b.block(12)});
  bench.begin();
  std::string x = bench.source(xw, 12), up = bench.source(uw, kWidth),
              part = bench.buffer({"tokens", 12}, {nullptr, bench.b.block(12)});
  bench.b.step("slice", {{"input", x}, {"output", part}},
               {{"dim", 1}, {"range", "n12/tp"}});
  Json whole = {nullptr, nullptr};
  std::string owed = bench.buffer({"tokens", kWidth}, whole, /*owes=*/true),
              sum = bench.b.buffer({"tokens", kWidth}, whole, false, "",
                                   "register"),
              y = bench.buffer({"tokens", kWidth}, whole);
  bench.b.step("linear", {{"input", part}, {"weight", w}, {"output", owed}});
  bench.b.fused(
      {owed, up}, {y},
      {bench.b.bodyStep("all_reduce", {{"input", owed}, {"output", sum}},
                        {{"group", "tp"}}),
       bench.b.bodyStep("gated_activation",
                        {{"gate", sum}, {"up", up}, {"output", y}},
                        {{"function", "silu"}})});
  bench.b.output("y", y);
  Json plan = bench.b.finish();
  INFO(findings(plan));
  TestEngine cpu(plan, LAYLINE_PRECISION_F32, "cpu"),
      kernels(plan, LAYLINE_PRECISION_F32, withActivatedSums());
  bench.run(cpu);
  bench.run(kernels);
  CHECK(count(kernelUses(kernels),
              "row_collective f32 x3 owed->everyone silu") == 1);
  CHECK(error(kernels.output("y").data, cpu.output("y").data) < 1e-6);
}
