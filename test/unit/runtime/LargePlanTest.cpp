// The checks must stay far from quadratic: a plan of a real model has thousands
// of steps.
#include "TestEngine.h"

#include <catch2/catch.hpp>

#include <chrono>

using namespace layline::test;

TEST_CASE("a plan of 5000 steps loads in seconds", "[plan]") {
  PlanBuilder builder(8, 64, "bf16");
  std::string table = builder.weight("t", {64, 16}, {nullptr, nullptr});
  Json inner = builder.block(16);
  std::vector<std::string> norms, ups, downs;
  constexpr int kLayers = 835;
  for (int i = 0; i < kLayers; ++i) {
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
  for (int i = 0; i < kLayers; ++i) {
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
  std::string text = builder.finish().dump(1);
  auto begin = std::chrono::steady_clock::now();
  char *report = nullptr;
  CHECK(layline_plan_check_memory(text.data(), text.size(), "plan", &report) ==
        LAYLINE_OK);
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  CHECK(std::string(report) == "");
  layline_string_free(report);
  INFO(text.size() << " bytes, " << seconds << " s");
  // It takes 0.2 s; the bound leaves room for sanitizers and busy machines and
  // none for a quadratic check.
  CHECK(seconds < 30);
}
