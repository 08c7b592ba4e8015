// Plans of the workloads of expansion.py, as kv.json: kv_plans DIRECTORY.
#include "layline/KV/PlanJSON.h"
#include "layline/KV/Planner.h"

#include <cstdio>
#include <exception>
#include <fstream>
#include <numeric>
#include <string>

using namespace layline::kv;

namespace {

Model makeModel(std::string name, std::int64_t layers) {
  Model model;
  model.name = std::move(name);
  model.layers = layers;
  model.dtype = "bf16";
  model.kvLayers.resize(static_cast<std::size_t>(layers));
  std::iota(model.kvLayers.begin(), model.kvLayers.end(), 0);
  return model;
}

Model makeQwen(std::string name, std::int64_t layers) {
  Model model = makeModel(std::move(name), layers);
  model.kvHeads = 4;
  model.headDim = 128;
  return model;
}

Model makeDeepSeek() {
  Model model = makeModel("deepseek-v3", 61);
  model.latentRank = 512;
  model.ropeDim = 64;
  return model;
}

struct Workload {
  const char *name;
  Model model;
  const char *source, *target;
  SenderRule senders = SenderRule::All;
};

} // namespace

int main(int count, char **arguments) try {
  if (count != 2) {
    std::fprintf(stderr, "usage: kv_plans DIRECTORY\n");
    return 2;
  }
  const Model small = makeQwen("qwen3-30b-a3b", 48);
  const Model large = makeQwen("qwen3-235b-a22b", 94);
  const Workload workloads[] = {
      {"seed_page64", small, "tp1,cp4,page64", "tp4,page64"},
      {"seed_page1", small, "tp1,cp4,page1", "tp4,page1"},
      {"seed_first", small, "tp1,cp4,page64", "tp4,page64", SenderRule::First},
      {"equal_tp", small, "tp4,page64", "tp4,page64"},
      {"tp4_tp8", large, "tp4,page64", "tp8,page64"},
      {"mla_page64", makeDeepSeek(), "tp1,page64", "tp1,page64"},
      {"mla_page1", makeDeepSeek(), "tp1,page1", "tp1,page1"},
      {"mla_dcp8", makeDeepSeek(), "tp8,page64", "tp8,dcp8,page64"},
  };
  for (const Workload &workload : workloads) {
    PlanOptions options;
    options.profile = Profile::SGLangCompat;
    options.senders = workload.senders;
    std::ofstream file(std::string(arguments[1]) + "/" + workload.name +
                       ".json");
    file << toJSON(planMigration(workload.model, parseSideSpec(workload.source),
                                 parseSideSpec(workload.target), options));
    if (!file.flush()) {
      std::fprintf(stderr, "kv_plans: cannot write to '%s'\n", arguments[1]);
      return 1;
    }
  }
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "kv_plans: %s\n", error.what());
  return 1;
}
