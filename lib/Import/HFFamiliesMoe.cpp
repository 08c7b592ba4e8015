//===- HFFamiliesMoe.cpp - attention with heads, routers of their own -----===//
//
// Source of every fact: configuration_<type>.py and modeling_<type>.py of
// transformers 5.24.0; tensor names as checkpoints on the hub have them.
//
//===----------------------------------------------------------------------===//

#include "HFConfigFamilies.h"
#include "HFConfigFields.h"
#include "llvm/ADT/Twine.h"

using namespace layline;
using llvm::StringRef;
using llvm::Twine;

/// The router and the experts of DeepSeek-V3 and those that follow it.
void layline::addSigmoidExperts(Family &f) {
  f.moe.countKeys = {"n_routed_experts", "num_local_experts", "num_experts"};
  f.moe.intermediateKey = "moe_intermediate_size";
  f.moe.layers = MoeRule::Layers::BehindLeading;
  f.moe.scoring = RouterScoring::Sigmoid;
  f.moe.renormalize = MoeRule::Renormalize::ByNormTopkProb;
  f.moe.renormalizeWhenAbsent = true;
  f.moe.groups = MoeRule::Groups::Top2Sum;
  f.moe.isScaled = true;
  f.moe.hasShared = true;
  f.ownKeys.insert(
      f.ownKeys.end(),
      {"n_shared_experts", "routed_scaling_factor", "first_k_dense_replace"});
  f.nameInLayer(Weight::Router, "mlp.gate.weight");
  f.nameInLayer(Weight::ChoiceBias, "mlp.gate.e_score_correction_bias");
  f.nameInLayer(Weight::ExpertGate, "mlp.experts.{expert}.gate_proj.weight");
  f.nameInLayer(Weight::ExpertUp, "mlp.experts.{expert}.up_proj.weight");
  f.nameInLayer(Weight::ExpertDown, "mlp.experts.{expert}.down_proj.weight");
  f.nameInLayer(Weight::SharedGate, "mlp.shared_experts.gate_proj.weight");
  f.nameInLayer(Weight::SharedUp, "mlp.shared_experts.up_proj.weight");
  f.nameInLayer(Weight::SharedDown, "mlp.shared_experts.down_proj.weight");
}

namespace {

void readGlm4Moe(HFConfigFields &fields, DecoderConfig &config) {
  if (fields.flag({"use_qk_norm"}, false))
    config.qkNorm = QKNorm::PerHead;
}

/// GLM-4.5, 4.6, 4.7.
Family glm4Moe() {
  Family f = llamaFamily();
  f.modelType = "glm4_moe";
  f.architecture = "Glm4MoeForCausalLM";
  f.kvHeads = WhenAbsent::Require; // HF: 8
  f.headDim = WhenAbsent::Require; // HF: 128
  f.qkvBias = BiasRule::byKey("attention_bias");
  f.oBias = f.mlpBias = BiasRule::never();
  f.rotaryFraction = WhenAbsent::Require; // HF: 0.5
  f.normEps = 1e-5;
  f.maxPositions = 131072;
  f.ownKeys = {"use_qk_norm"};
  f.readLast = readGlm4Moe;
  addSigmoidExperts(f);
  f.moe.groupsWhenAbsent = 1;
  f.moe.scaleWhenAbsent = 1;
  f.nameInLayer(Weight::QNorm, "self_attn.q_norm.weight");
  f.nameInLayer(Weight::KNorm, "self_attn.k_norm.weight");
  return f;
}

void readGptOss(HFConfigFields &fields, DecoderConfig &config) {
  // Constants of the code before they were keys.
  config.moe.limit =
      fields.optionalNumber({"swiglu_limit"}, {0, 1e6}).value_or(7);
  config.moe.alpha =
      fields.optionalNumber({"swiglu_alpha"}, {0, 1e6}).value_or(1.702);
  config.moe.upOffset = 1;
  config.moe.storage = ExpertStorage::StackedTransposed;
}

Family gptOss() {
  Family f = llamaFamily();
  f.modelType = "gpt_oss";
  f.architecture = "GptOssForCausalLM";
  f.kvHeads = WhenAbsent::Require; // HF: 8
  f.headDim = WhenAbsent::Require; // HF: 64
  f.qkvBias = f.oBias = BiasRule::byKey("attention_bias", /*whenAbsent=*/true);
  f.mlpBias = BiasRule::never();
  f.ropeTheta = 150000;
  f.ropeScalings = {RopeScalingKind::Yarn};
  f.window = WindowRule::LayerTypes;
  f.windowPeriod = 2;
  f.readLast = readGptOss;
  // The softmax of the chosen logits is that of all, renormalised.
  f.moe.countKeys = {"num_local_experts", "num_experts", "n_routed_experts"};
  f.moe.intermediateKey = "intermediate_size";
  f.nameInLayer(Weight::Sinks, "self_attn.sinks");
  f.nameInLayer(Weight::Router, "mlp.router.weight");
  f.nameInLayer(Weight::RouterBias, "mlp.router.bias");
  for (Weight weight : {Weight::ExpertGate, Weight::ExpertUp})
    f.nameInLayer(weight, "mlp.experts.gate_up_proj");
  for (Weight weight : {Weight::ExpertGateBias, Weight::ExpertUpBias})
    f.nameInLayer(weight, "mlp.experts.gate_up_proj_bias");
  f.nameInLayer(Weight::ExpertDown, "mlp.experts.down_proj");
  f.nameInLayer(Weight::ExpertDownBias, "mlp.experts.down_proj_bias");
  return f;
}

/// What a released file says of the code is that; the code has no other way.
void readMinimaxM2(HFConfigFields &fields, DecoderConfig &config) {
  for (StringRef key : {"use_qk_norm", "use_routing_bias"})
    if (!fields.flag({key}, true))
      fields.refuse(key, "found boolean false, expected true or nothing for "
                         "minimax_m2");
  std::optional<std::string> norm = fields.optionalString({"qk_norm_type"});
  if (norm && *norm != "per_layer")
    fields.refuse("qk_norm_type", "found " + fields.describe("qk_norm_type") +
                                      ", expected per_layer: a norm over all "
                                      "heads together");
  if (fields.optionalInteger({"shared_intermediate_size"}, {0, kMaxSize})
          .value_or(0) != 0)
    fields.refuse("shared_intermediate_size",
                  "found " + fields.describe("shared_intermediate_size") +
                      ", expected 0 or nothing: no shared expert");
  for (int64_t type : fields.optionalIntegers("attn_type_list", {0, kMaxSize}))
    if (type != 1)
      fields.refuse("attn_type_list", "found an entry " + Twine(type) +
                                          ", expected 1, softmax attention, "
                                          "for every layer");
}

/// MiniMax-M2, M2.5: experts in every layer, q and k normed over all heads.
Family minimaxM2() {
  Family f = llamaFamily();
  f.modelType = "minimax_m2";
  f.architecture = "MiniMaxM2ForCausalLM";
  f.kvHeads = WhenAbsent::Require; // HF: 8
  f.headDim = WhenAbsent::Require; // HF: 128
  f.qkvBias = f.oBias = f.mlpBias = BiasRule::never();
  f.qkNorm = QKNorm::FullWidth;
  f.ropeTheta = 5e6;
  // Released files have this key, those that transformers writes a fraction.
  f.rotaryDimKey = "rotary_dim";
  f.rotaryDim = WhenAbsent::Derive;
  f.ownKeys = {"use_qk_norm"};
  f.readOwn = readMinimaxM2;
  f.moe.countKeys = {"num_local_experts", "num_experts", "n_routed_experts"};
  f.moe.intermediateKey = "intermediate_size";
  f.moe.scoring = RouterScoring::Sigmoid;
  f.nameInLayer(Weight::QNorm, "self_attn.q_norm.weight");
  f.nameInLayer(Weight::KNorm, "self_attn.k_norm.weight");
  f.nameInLayer(Weight::Router, "block_sparse_moe.gate.weight");
  f.nameInLayer(Weight::ChoiceBias, "block_sparse_moe.e_score_correction_bias");
  f.nameInLayer(Weight::ExpertGate,
                "block_sparse_moe.experts.{expert}.w1.weight");
  f.nameInLayer(Weight::ExpertUp,
                "block_sparse_moe.experts.{expert}.w3.weight");
  f.nameInLayer(Weight::ExpertDown,
                "block_sparse_moe.experts.{expert}.w2.weight");
  return f;
}

} // namespace

void layline::addMoeFamilies(std::vector<Family> &families) {
  families.insert(families.end(), {glm4Moe(), gptOss(), minimaxM2()});
}
