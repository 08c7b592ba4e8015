// The checks must stay far from quadratic: a plan of a real model has thousands
// of steps.
#include "TestEngine.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <ctime>

using namespace layline::test;

namespace {

/// A plan of as many layers, of six steps each.
std::string makeLayers(int layers) {
  PlanBuilder builder(8, 64, "bf16");
  std::string table = builder.weight("t", {64, 16}, {nullptr, nullptr});
  Json inner = builder.block(16);
  std::vector<std::string> norms, ups, downs;
  for (int i = 0; i < layers; ++i) {
    std::string layer = "model.layers." + std::to_string(i);
    norms.push_back(
        builder.weight(layer + ".norm", {16}, Json::array({nullptr})));
    ups.push_back(builder.weight(layer + ".up", {16, 16}, {inner, nullptr}));
    downs.push_back(
        builder.weight(layer + ".down", {16, 16}, {nullptr, inner}));
  }
  builder.variant("v", 1, 64);
  Json whole = {nullptr, nullptr}, shape = {"tokens", 16};
  std::string x = builder.buffer(shape, whole);
  builder.step(
      "embedding",
      {{"ids", builder.input("input_ids")}, {"weight", table}, {"output", x}});
  for (int i = 0; i < layers; ++i) {
    std::string y = builder.buffer(shape, whole),
                h = builder.buffer(shape, {nullptr, inner}),
                partial = builder.buffer(shape, whole, true),
                sum = builder.buffer(shape, whole),
                next = builder.buffer(shape, whole);
    builder.step("norm", {{"input", x}, {"weight", norms[i]}, {"output", y}},
                 {{"norm", "rms"}, {"eps", 1e-5}, {"weight_offset", 0.0}});
    builder.step("linear", {{"input", y}, {"weight", ups[i]}, {"output", h}});
    builder.step("activation", {{"input", h}, {"output", h}},
                 {{"function", "silu"}});
    builder.step("linear",
                 {{"input", h}, {"weight", downs[i]}, {"output", partial}});
    builder.step("all_reduce", {{"input", partial}, {"output", sum}},
                 {{"group", "tp"}});
    builder.step("add", {{"inputs", {x, sum}}, {"output", next}});
    x = next;
  }
  builder.output("x", x);
  return builder.finish().dump(1);
}

/// Processor time of one check: other work on the machine is not the check's.
double timeCheck(const std::string &text) {
  std::clock_t begin = std::clock();
  char *report = nullptr;
  CHECK(layline_plan_check_memory(text.data(), text.size(), "plan", &report) ==
        LAYLINE_OK);
  CHECK(std::string(report) == "");
  layline_string_free(report);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

} // namespace

TEST_CASE("four times the steps take far less than sixteen times as long",
          "[plan]") {
  std::string small = makeLayers(200), large = makeLayers(800);
  double few = timeCheck(small);
  for (int i = 0; i < 2; ++i)
    few = std::min(few, timeCheck(small));
  double many = std::min(timeCheck(large), timeCheck(large));
  INFO(few << " s of " << small.size() << " bytes, " << many << " s of "
           << large.size());
  // 4 if every check is linear, 16 if one that matters is quadratic.
  CHECK(many < 10 * few);
}
