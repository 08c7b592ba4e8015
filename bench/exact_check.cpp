// Time of the exact check on a synthetic model of many layers and ranks.
// Usage: exact_check [layers] [tp] [cp] [programs]
#include "Decoder.h"
#include "layline/Exact/Checker.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

int main(int argc, char **argv) {
  auto argument = [&](int i, int64_t otherwise) {
    return argc > i ? std::atoll(argv[i]) : otherwise;
  };
  Model model;
  model.layers = argument(1, 94);
  model.hidden = 4096;
  model.heads = 64;
  model.kvHeads = 4;
  model.width = model.rotary = 128;
  model.features = 1536;
  model.vocabulary = 151936;
  model.experts = 128;
  model.topK = 8;
  int64_t tp = argument(2, 32), cp = argument(3, 1);
  CheckerOptions options;
  Checker checker(buildReference(model), options);
  for (int64_t i = 0; i < argument(4, 2); ++i)
    checker.addProgram(
        Decoder(model, {tp, cp, Partition::zigzag(), i % 2 == 1}).build(),
        i % 2 == 1 ? "by rows" : "whole");
  for (const Mismatch &mismatch : checker.check())
    std::printf("%s: %s\n", mismatch.program.c_str(), mismatch.text.c_str());
  const Statistics &figures = checker.getStatistics();
  std::printf("%lld layers, tp %lld, cp %lld: %zu runs, %zu op executions, "
              "%zu computed, %.3f s\n",
              static_cast<long long>(model.layers), static_cast<long long>(tp),
              static_cast<long long>(cp), figures.runs, figures.operations,
              figures.computed, figures.seconds);
  return 0;
}
