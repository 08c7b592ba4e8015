//===- HFFamiliesOlmo.cpp - OLMo-2 ----------------------------------------===//
//
// Source of every fact: configuration_olmo2.py and modeling_olmo2.py of
// transformers 5.24.0; tensor names as checkpoints on the hub have them.
//
//===----------------------------------------------------------------------===//

#include "HFConfigFamilies.h"

using namespace layline;

/// Norms behind the branches, none before them; q and k are normed over all
/// heads together.
static Family olmo2() {
  Family f = llamaFamily();
  f.modelType = "olmo2";
  f.architecture = "Olmo2ForCausalLM";
  f.block = BlockStructure::PostNorm;
  f.qkNorm = QKNorm::FullWidth;
  f.mlpBias = BiasRule::never();
  f.name(Weight::InputNorm, "");
  f.name(Weight::MlpNorm, "");
  f.nameInLayer(Weight::AttnBranchNorm, "post_attention_layernorm.weight");
  f.nameInLayer(Weight::MlpBranchNorm, "post_feedforward_layernorm.weight");
  f.nameInLayer(Weight::QNorm, "self_attn.q_norm.weight");
  f.nameInLayer(Weight::KNorm, "self_attn.k_norm.weight");
  return f;
}

void layline::addOlmoFamilies(std::vector<Family> &families) {
  families.push_back(olmo2());
}
