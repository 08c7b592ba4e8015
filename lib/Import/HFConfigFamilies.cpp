//===- HFConfigFamilies.cpp - what HF knows by model_type -----------------===//
//
// Source of every fact: configuration_<type>.py and modeling_<type>.py of
// transformers 5.24.0; tensor names as checkpoints on the hub have them.
//
//===----------------------------------------------------------------------===//

#include "HFConfigFamilies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace layline;
using llvm::StringRef;

namespace {

void name(Family &family, Weight weight, StringRef tensor) {
  family.tensorNames[static_cast<unsigned>(weight)] = tensor.str();
}

/// Names a weight of a layer: `suffix` follows "model.layers.N.".
void nameInLayer(Family &family, Weight weight, StringRef suffix) {
  name(family, weight, ("model.layers.{layer}." + llvm::Twine(suffix)).str());
}

/// Pre-norm sequential block, gated MLP, rotate-half RoPE; the others are told
/// by their difference from it.
Family llama() {
  Family f;
  f.modelType = "llama";
  f.architecture = "LlamaForCausalLM";
  f.kvHeads = WhenAbsent::Derive;
  f.qkvBias = f.oBias = BiasRule::byKey("attention_bias");
  f.mlpBias = BiasRule::byKey("mlp_bias");
  f.ropeScalings = {RopeScalingKind::Linear, RopeScalingKind::Llama3,
                    RopeScalingKind::Yarn, RopeScalingKind::LongRope};

  name(f, Weight::Embedding, "model.embed_tokens.weight");
  nameInLayer(f, Weight::InputNorm, "input_layernorm.weight");
  nameInLayer(f, Weight::Q, "self_attn.q_proj.weight");
  nameInLayer(f, Weight::K, "self_attn.k_proj.weight");
  nameInLayer(f, Weight::V, "self_attn.v_proj.weight");
  nameInLayer(f, Weight::O, "self_attn.o_proj.weight");
  nameInLayer(f, Weight::QBias, "self_attn.q_proj.bias");
  nameInLayer(f, Weight::KBias, "self_attn.k_proj.bias");
  nameInLayer(f, Weight::VBias, "self_attn.v_proj.bias");
  nameInLayer(f, Weight::OBias, "self_attn.o_proj.bias");
  nameInLayer(f, Weight::MlpNorm, "post_attention_layernorm.weight");
  nameInLayer(f, Weight::Gate, "mlp.gate_proj.weight");
  nameInLayer(f, Weight::Up, "mlp.up_proj.weight");
  nameInLayer(f, Weight::Down, "mlp.down_proj.weight");
  nameInLayer(f, Weight::GateBias, "mlp.gate_proj.bias");
  nameInLayer(f, Weight::UpBias, "mlp.up_proj.bias");
  nameInLayer(f, Weight::DownBias, "mlp.down_proj.bias");
  name(f, Weight::FinalNorm, "model.norm.weight");
  name(f, Weight::LmHead, "lm_head.weight");
  return f;
}

Family mistral() {
  Family f = llama();
  f.modelType = "mistral";
  f.architecture = "MistralForCausalLM";
  f.kvHeads = WhenAbsent::Require; // HF: 8
  f.qkvBias = f.oBias = f.mlpBias = BiasRule::never();
  f.window = WindowRule::EveryLayerSet; // HF: 4096
  return f;
}

Family mixtral() {
  Family f = mistral();
  f.modelType = "mixtral";
  f.architecture = "MixtralForCausalLM";
  f.ropeTheta = 1e6;
  f.window = WindowRule::EveryLayer;
  f.moe.countKeys = {"num_local_experts", "num_experts", "n_routed_experts"};
  f.moe.intermediateKey = "intermediate_size";
  nameInLayer(f, Weight::Router, "block_sparse_moe.gate.weight");
  nameInLayer(f, Weight::ExpertGate,
              "block_sparse_moe.experts.{expert}.w1.weight");
  nameInLayer(f, Weight::ExpertUp,
              "block_sparse_moe.experts.{expert}.w3.weight");
  nameInLayer(f, Weight::ExpertDown,
              "block_sparse_moe.experts.{expert}.w2.weight");
  return f;
}

/// phi-3, phi-3.5-mini, phi-4, phi-4-mini.
Family phi3() {
  Family f = llama();
  f.modelType = "phi3";
  f.architecture = "Phi3ForCausalLM";
  f.qkvBias = f.oBias = f.mlpBias = BiasRule::never();
  f.ropeScalings = {RopeScalingKind::LongRope};
  f.longRopeAliases = {"su", "yarn"};
  f.originalMaxPositions = WhenAbsent::Require; // HF: 4096
  f.window = WindowRule::EveryLayer;
  for (Weight weight : {Weight::Q, Weight::K, Weight::V})
    nameInLayer(f, weight, "self_attn.qkv_proj.weight");
  for (Weight weight : {Weight::Gate, Weight::Up})
    nameInLayer(f, weight, "mlp.gate_up_proj.weight");
  return f;
}

/// Qwen2 and Qwen2.5.
Family qwen2() {
  Family f = llama();
  f.modelType = "qwen2";
  f.architecture = "Qwen2ForCausalLM";
  f.kvHeads = WhenAbsent::Require; // HF: 32
  f.qkvBias = BiasRule::always();
  f.oBias = f.mlpBias = BiasRule::never();
  f.window = WindowRule::TailWhenEnabled;
  return f;
}

Family qwen3() {
  Family f = qwen2();
  f.modelType = "qwen3";
  f.architecture = "Qwen3ForCausalLM";
  f.headDim = WhenAbsent::Require; // HF: 128
  f.qkvBias = f.oBias = BiasRule::byKey("attention_bias");
  f.qkNorm = true;
  nameInLayer(f, Weight::QNorm, "self_attn.q_norm.weight");
  nameInLayer(f, Weight::KNorm, "self_attn.k_norm.weight");
  return f;
}

Family qwen3Moe() {
  Family f = qwen3();
  f.modelType = "qwen3_moe";
  f.architecture = "Qwen3MoeForCausalLM";
  f.headDim = WhenAbsent::Derive;
  f.window = WindowRule::WhenEnabled;
  f.moe.countKeys = {"num_experts", "num_local_experts", "n_routed_experts"};
  f.moe.intermediateKey = "moe_intermediate_size";
  f.moe.layers = MoeRule::Layers::BySteps;
  f.moe.renormalize = MoeRule::Renormalize::ByNormTopkProb;
  nameInLayer(f, Weight::Router, "mlp.gate.weight");
  nameInLayer(f, Weight::ExpertGate, "mlp.experts.{expert}.gate_proj.weight");
  nameInLayer(f, Weight::ExpertUp, "mlp.experts.{expert}.up_proj.weight");
  nameInLayer(f, Weight::ExpertDown, "mlp.experts.{expert}.down_proj.weight");
  return f;
}

} // namespace

llvm::ArrayRef<Family> layline::hfFamilies() {
  static const std::vector<Family> families = [] {
    std::vector<Family> all = {llama(), mistral(), mixtral(), phi3(),
                               qwen2(), qwen3(),   qwen3Moe()};
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
