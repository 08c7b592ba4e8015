//===- HFConfigFamilies.cpp - what HF knows by model_type -----------------===//

#include "HFConfigFamilies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace layline;
using llvm::StringRef;

void Family::name(Weight weight, StringRef tensor) {
  tensorNames[static_cast<unsigned>(weight)] = tensor.str();
}

void Family::nameInLayer(Weight weight, StringRef suffix) {
  name(weight, (layerPrefix + llvm::Twine(suffix)).str());
}

llvm::ArrayRef<Family> layline::hfFamilies() {
  static const std::vector<Family> families = [] {
    std::vector<Family> all;
    addLlamaFamilies(all);
    addGemmaFamilies(all);
    addParallelFamilies(all);
    addMoeFamilies(all);
    addLatentFamilies(all);
    addOlmoFamilies(all);
    llvm::sort(all, [](const Family &a, const Family &b) {
      return StringRef(a.modelType) < b.modelType;
    });
    return all;
  }();
  return families;
}

const Family *layline::findFamily(StringRef modelType) {
  for (const Family &family : hfFamilies())
    if (modelType == family.modelType)
      return &family;
  return nullptr;
}

llvm::ArrayRef<UnsupportedModelType> layline::unsupportedModelTypes() {
  static constexpr UnsupportedModelType kTypes[] = {
      {"deepseek_v4", "hyper-connections: several residual streams"},
      {"gemma3", "a multimodal model; its text model is gemma3_text"},
      {"gemma4", "a multimodal model; layers with two normed MLP branches"},
      {"hunyuan_v1_moe", "layers that share a cache; q/k norms after RoPE"},
      {"kimi_k3", "a multimodal model; residuals taken by attention"},
      {"llama4", "a multimodal model; router weights on the experts' input"},
      {"minimax_m1", "linear attention; the residual is the normed value"},
      {"minimax_m3", "sparse attention"},
      {"ministral3", "a multimodal model; queries scaled by their position"},
      {"nemotron-nas", "layers without attention or MLP"},
      {"nemotron_h", "state-space layers; one mixer a block"},
      {"qwen3_5", "a multimodal model; linear attention"},
      {"qwen3_next", "linear attention"},
  };
  return kTypes;
}
