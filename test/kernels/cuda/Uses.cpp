#include "Uses.h"
#include "kernels/FusedKernels.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

namespace layline::test {

static nlohmann::json kernelsOf(layline_engine *engine) {
  const char *json = nullptr;
  if (layline_run_kernels(engine, &json) != LAYLINE_OK)
    throw std::runtime_error(layline_engine_error(engine));
  return nlohmann::json::parse(json);
}

std::vector<std::string> usesOf(layline_engine *engine) {
  std::vector<std::string> uses;
  for (const auto &use : kernelsOf(engine)) {
    std::string reason = use["reason"];
    uses.push_back(use["step"].get<std::string>() + ": " +
                   use["kernel"].get<std::string>() +
                   (reason.empty() ? "" : " (" + reason + ")"));
  }
  return uses;
}

bool isFused(const std::string &symbol) {
  return symbol.rfind("layline_fused_", 0) == 0;
}

bool waitsForRanks(const std::string &symbol) {
  const auto &fused = kernels::fusedKernels();
  return symbol == "layline_group_barrier" ||
         std::any_of(fused.begin(), fused.end(), [&](const auto &kernel) {
           return kernel.symbol == symbol && kernel.variant.waits();
         });
}

std::map<std::string, int> stepsBy(layline_engine *engine) {
  std::map<std::string, int> steps;
  for (const auto &use : kernelsOf(engine))
    for (const char *what : {"kernel", "reason"})
      steps[use[what].get<std::string>()] += use["steps"].get<int>();
  return steps;
}

std::ptrdiff_t usesWith(const std::vector<std::string> &uses,
                        const std::string &text) {
  return std::count_if(uses.begin(), uses.end(), [&](const std::string &use) {
    return use.find(text) != std::string::npos;
  });
}

} // namespace layline::test
