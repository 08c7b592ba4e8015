// Time to plan migrations of 94 layers: kv_planning [ROUNDS]. A plan does not
// depend on the number of tokens.
#include "layline/KV/Planner.h"
#include "plan/Error.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

using namespace layline::kv;

namespace {

Model makeModel(bool isLatent) {
  Model model;
  model.name = "bench";
  model.layers = 94;
  model.dtype = "bf16";
  model.kvLayers.resize(94);
  std::iota(model.kvLayers.begin(), model.kvLayers.end(), 0);
  if (isLatent) {
    model.latentRank = 512;
    model.ropeDim = 64;
    model.indexDim = 128;
    model.indexLayers = model.kvLayers;
  } else {
    model.kvHeads = 4;
    model.headDim = 128;
  }
  return model;
}

struct Pair {
  bool isLatent;
  const char *from, *to;
};

} // namespace

int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 31;
  if (rounds < 1) {
    std::fprintf(stderr, "rounds: found '%s', expected 1 or more\n", argv[1]);
    return 2;
  }
  const Pair pairs[] = {{false, "tp1,cp4", "tp4"},
                        {false, "tp4,cp2", "tp8"},
                        {false, "tp8", "tp2"},
                        {true, "cp8,layersplit,interleave", "tp8"},
                        {true, "tp8", "tp8,dcp8"},
                        {false, "pp4,tp4,cp8", "tp8"},
                        {false, "pp4,tp4,cp8", "pp4,tp32"},
                        {true, "pp4,tp4,cp8", "tp128"},
                        {true, "tp128", "tp128,dcp128"},
                        {true, "cp128,pagesplit", "tp128"}};
  std::printf("%-28s %-14s %-14s %9s %10s\n", "from", "to", "profile",
              "transfers", "median ms");
  for (const Pair &pair : pairs)
    for (Profile profile : {Profile::SGLangCompat, Profile::Optimised}) {
      PlanOptions options;
      options.profile = profile;
      Model model = makeModel(pair.isLatent);
      std::vector<double> times;
      std::size_t transfers = 0;
      for (int i = 0; i < rounds; ++i) {
        auto start = std::chrono::steady_clock::now();
        transfers = planMigration(model, parseSideSpec(pair.from),
                                  parseSideSpec(pair.to), options)
                        .transfers.size();
        times.push_back(std::chrono::duration<double, std::milli>(
                            std::chrono::steady_clock::now() - start)
                            .count());
      }
      std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
      std::printf("%-28s %-14s %-14s %9zu %10.2f\n", pair.from, pair.to,
                  profile == Profile::Optimised ? "optimised" : "sglang-compat",
                  transfers, times[rounds / 2]);
    }
  return 0;
}
