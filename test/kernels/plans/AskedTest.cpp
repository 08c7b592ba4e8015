// Which kernels plans ask for on a card, and which of them there are there
// (kernels/FusedKernels.h). No kernel is run.
#include "GoldenRun.h"
#include "LlamaPlan.h"
#include "kernels/FusedKernels.h"
#include "kernels/plan/RunPlans.h"
#include "plan/Load.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

using namespace layline;
using namespace layline::test;
using runtime::Environment;
using runtime::KernelSet;
using runtime::Plan;
using runtime::RankRun;
using runtime::RunPlans;

namespace {

/// A kernel of the catalogue that plans ask for and cards do not have. xP: of
/// groups of any size.
struct Absence {
  const char *kernel, *reason;
};
constexpr const char
    *kForChecks = "plans run in float32 to be checked, their steps one by one",
    *kMoved = "gather_rows moves the rows",
    *kFewRanks = "rows in FP8 are of groups of 4 and 8 ranks, as models that "
                 "have them are served",
    *kStays = "no bytes are saved where rows stay: they are quantized by a "
              "kernel of one rank behind it";
const Absence kAbsences[] = {
    {"row_collective f32 x1 own->own", kForChecks},
    {"row_collective f32 x1 own->own rms", kForChecks},
    {"row_collective f32 x1 own->own layer", kForChecks},
    {"row_collective f32 x1 own->own silu", kForChecks},
    {"row_collective f32 x1 own->own gelu", kForChecks},
    {"row_collective f32 x1 own->own gelu_tanh", kForChecks},
    {"row_collective f32 xP owed->own", kForChecks},
    {"row_collective f32 xP owed->own rms", kForChecks},
    {"row_collective f32 xP own->everyone", kMoved},
    {"row_collective f32 xP own->everyone rms", kForChecks},
    {"one_shot f32 xP layer", kForChecks},
    {"rope f32 x1 own->own half", kForChecks},
    {"rope f32 x1 own->own half by_element", kForChecks},
    {"rope f32 x1 own->own interleaved_to_half", kForChecks},
    {"permute_rows f32", kForChecks},
    {"row_collective f32 x1 own->own fp8:row", kForChecks},
    {"row_collective f32 x1 own->own fp8:group", kForChecks},
    {"row_collective bf16 x3 owed->everyone rms fp8:group", kFewRanks},
    {"row_collective bf16 x3 own->everyone fp8:group", kFewRanks},
    {"row_collective bf16 xP owed->own rms fp8:row", kStays},
    {"row_collective bf16 xP owed->own rms fp8:group", kStays},
    {"row_collective bf16 x1 own->own gelu",
     "of gpt_neox and its like, which nobody serves at scale: a kernel of one "
     "step, that is launched beside its products either way"},
};

bool isOf(const Absence &absence, const kernels::Variant &variant) {
  std::string name = variant.name(), ofAny = name,
              size = " x" + std::to_string(variant.ranks);
  if (variant.ranks > 1)
    ofAny.replace(ofAny.find(size), size.size(), " xP");
  return name == absence.kernel || ofAny == absence.kernel;
}

/// Frozen plans, some of rows in 8 bits, and those of golden models that tests
/// write by hand.
std::map<std::string, Json> plans() {
  std::map<std::string, Json> all;
  for (const char *name :
       {"v1.0/llama-tp4", "v1.0/phi3-tp2", "v1.0/qwen2-tp5",
        "v1.0/qwen3_moe-tp3", "v1.1/llama-tp2-cp2", "v1.1/qwen2-tp1-cp3",
        "v1.1/qwen3_moe-tp3-cp2", "v1.2/deepseek_v3-tp4",
        "v1.2/deepseek_v32-tp2-cp2", "v1.2/gemma2-tp3", "v1.2/gpt_neox-tp2",
        "v1.2/gpt_oss-tp3", "v1.2/olmo2-tp8", "v1.2/qwen3_moe-tp3-ep3",
        "quantized/qwen3_moe-tp4-fp8", "quantized/qwen3_moe-tp3-fp8-group16"})
    all[name] = frozenPlan(name);
  for (std::int64_t ranks : {1, 2, 3, 4, 8})
    for (auto [name, boundaries] : {std::pair("whole", Boundaries::Whole),
                                    std::pair("rows", Boundaries::Rows),
                                    std::pair("fused", Boundaries::Fused)})
      all[std::string("llama ") + name + " x" + std::to_string(ranks)] =
          llamaPlan(ranks, boundaries);
  return all;
}

/// By the name of each kernel of the catalogue, a plan that asks for it.
std::map<std::string, std::pair<kernels::Variant, std::string>> asked() {
  std::map<std::string, std::pair<kernels::Variant, std::string>> found;
  for (const auto &[name, frozen] : plans())
    for (layline_precision precision :
         {LAYLINE_PRECISION_F32, LAYLINE_PRECISION_BF16}) {
      // Those of a model in bf16 run in both precisions as they are.
      bool isMade = precision == LAYLINE_PRECISION_BF16 &&
                    frozen["target"]["dtype"] == "f32";
      runtime::LoadedPlan loaded =
          runtime::loadPlan((isMade ? inBF16(frozen) : frozen).dump(), name);
      INFO(name);
      REQUIRE(loaded.findings.empty());
      const Plan &plan = loaded.plan;
      KernelSet card;
      card.has = [&, of = name](const kernels::Variant &variant) {
        std::string error;
        if (kernels::findKernel(variant, error))
          found.emplace(variant.name(), std::pair(variant, of));
        return kernels::findFusedKernel(variant, error) != nullptr;
      };
      card.residentBlocks = [](const kernels::Variant &) { return 64U; };
      for (const runtime::Variant &variant : plan.variants)
        // Up to so many that an all_reduce is no exchange of mailboxes.
        for (std::int64_t tokens :
             {variant.minTokens, variant.maxTokens, std::int64_t(4096)})
          for (std::int64_t r = 0; r < plan.ranks(); ++r) {
            std::vector<std::int64_t> coordinates = plan.coordinates(r);
            std::vector<runtime::Part> parts = plan.parts(tokens, coordinates);
            RankRun rank{
                &plan, r, precision,
                Environment{tokens, 0, coordinates.data(), parts.data()}};
            RunPlans({rank}, variant.steps, card, /*isTapped=*/false);
          }
    }
  return found;
}

} // namespace

TEST_CASE("kernels that plans ask for are compiled for cards, or known not to "
          "be") {
  std::string error;
  std::vector<bool> isMet(std::size(kAbsences));
  for (const auto &[name, of] : asked()) {
    INFO(name << ", of " << of.second);
    bool isCompiled = kernels::findFusedKernel(of.first, error);
    int absences = 0;
    for (std::size_t a = 0; a < std::size(kAbsences); ++a)
      if (isOf(kAbsences[a], of.first)) {
        isMet[a] = true;
        ++absences;
      }
    CHECK(absences == (isCompiled ? 0 : 1));
  }
  // None is listed that nothing asks for.
  for (std::size_t a = 0; a < std::size(kAbsences); ++a) {
    INFO(kAbsences[a].kernel << ": " << kAbsences[a].reason);
    CHECK(isMet[a]);
  }
}
