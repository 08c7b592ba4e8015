//===- HFFamiliesLlama.cpp - Llama and those that follow it ---------------===//
//
// Source of every fact: configuration_<type>.py and modeling_<type>.py of
// transformers 5.24.0; tensor names as checkpoints on the hub have them.
//
//===----------------------------------------------------------------------===//

#include "HFConfigFamilies.h"
#include "HFConfigFields.h"

using namespace layline;

/// Pre-norm sequential block, gated MLP, rotate-half RoPE; the others are told
/// by their difference from it.
Family layline::llamaFamily() {
  Family f;
  f.modelType = "llama";
  f.architecture = "LlamaForCausalLM";
  f.kvHeads = WhenAbsent::Derive;
  f.qkvBias = f.oBias = BiasRule::byKey("attention_bias");
  f.mlpBias = BiasRule::byKey("mlp_bias");
  f.ropeScalings = {RopeScalingKind::Linear, RopeScalingKind::Llama3,
                    RopeScalingKind::Yarn, RopeScalingKind::LongRope};

  f.name(Weight::Embedding, "model.embed_tokens.weight");
  f.nameInLayer(Weight::InputNorm, "input_layernorm.weight");
  f.nameInLayer(Weight::Q, "self_attn.q_proj.weight");
  f.nameInLayer(Weight::K, "self_attn.k_proj.weight");
  f.nameInLayer(Weight::V, "self_attn.v_proj.weight");
  f.nameInLayer(Weight::O, "self_attn.o_proj.weight");
  f.nameInLayer(Weight::QBias, "self_attn.q_proj.bias");
  f.nameInLayer(Weight::KBias, "self_attn.k_proj.bias");
  f.nameInLayer(Weight::VBias, "self_attn.v_proj.bias");
  f.nameInLayer(Weight::OBias, "self_attn.o_proj.bias");
  f.nameInLayer(Weight::MlpNorm, "post_attention_layernorm.weight");
  f.nameInLayer(Weight::Gate, "mlp.gate_proj.weight");
  f.nameInLayer(Weight::Up, "mlp.up_proj.weight");
  f.nameInLayer(Weight::Down, "mlp.down_proj.weight");
  f.nameInLayer(Weight::GateBias, "mlp.gate_proj.bias");
  f.nameInLayer(Weight::UpBias, "mlp.up_proj.bias");
  f.nameInLayer(Weight::DownBias, "mlp.down_proj.bias");
  f.name(Weight::FinalNorm, "model.norm.weight");
  f.name(Weight::LmHead, "lm_head.weight");
  return f;
}

namespace {

Family mistral() {
  Family f = llamaFamily();
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
  f.nameInLayer(Weight::Router, "block_sparse_moe.gate.weight");
  f.nameInLayer(Weight::ExpertGate,
                "block_sparse_moe.experts.{expert}.w1.weight");
  f.nameInLayer(Weight::ExpertUp,
                "block_sparse_moe.experts.{expert}.w3.weight");
  f.nameInLayer(Weight::ExpertDown,
                "block_sparse_moe.experts.{expert}.w2.weight");
  return f;
}

/// phi-3, phi-3.5-mini, phi-4, phi-4-mini.
Family phi3() {
  Family f = llamaFamily();
  f.modelType = "phi3";
  f.architecture = "Phi3ForCausalLM";
  f.qkvBias = f.oBias = f.mlpBias = BiasRule::never();
  f.ropeScalings = {RopeScalingKind::LongRope};
  f.longRopeAliases = {"su", "yarn"};
  f.originalMaxPositions = WhenAbsent::Require; // HF: 4096
  f.window = WindowRule::EveryLayer;
  for (Weight weight : {Weight::Q, Weight::K, Weight::V})
    f.nameInLayer(weight, "self_attn.qkv_proj.weight");
  for (Weight weight : {Weight::Gate, Weight::Up})
    f.nameInLayer(weight, "mlp.gate_up_proj.weight");
  return f;
}

/// Qwen2 and Qwen2.5.
Family qwen2() {
  Family f = llamaFamily();
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
  f.qkNorm = QKNorm::PerHead;
  f.nameInLayer(Weight::QNorm, "self_attn.q_norm.weight");
  f.nameInLayer(Weight::KNorm, "self_attn.k_norm.weight");
  return f;
}

/// Llama with a factor at every place.
void readGranite(HFConfigFields &fields, DecoderConfig &config) {
  config.attentionScale = fields.number({"attention_multiplier"});
  config.embeddingScale = fields.number({"embedding_multiplier"});
  config.residualScale = fields.number({"residual_multiplier"});
  config.logitsScale = 1 / fields.number({"logits_scaling"});
}

/// Granite 3.
Family granite() {
  Family f = llamaFamily();
  f.modelType = "granite";
  f.architecture = "GraniteForCausalLM";
  f.ownKeys = {"attention_multiplier", "embedding_multiplier",
               "residual_multiplier", "logits_scaling"};
  f.readOwn = readGranite;
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
  f.nameInLayer(Weight::Router, "mlp.gate.weight");
  f.nameInLayer(Weight::ExpertGate, "mlp.experts.{expert}.gate_proj.weight");
  f.nameInLayer(Weight::ExpertUp, "mlp.experts.{expert}.up_proj.weight");
  f.nameInLayer(Weight::ExpertDown, "mlp.experts.{expert}.down_proj.weight");
  return f;
}

} // namespace

void layline::addLlamaFamilies(std::vector<Family> &families) {
  families.insert(families.end(), {llamaFamily(), mistral(), mixtral(), phi3(),
                                   granite(), qwen2(), qwen3(), qwen3Moe()});
}
