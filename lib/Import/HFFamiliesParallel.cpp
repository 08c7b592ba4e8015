//===- HFFamiliesParallel.cpp - layer norms, branches side by side --------===//
//
// Families with a LayerNorm; most of them run attention and MLP side by side,
// some only if a key says so.
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

namespace {

/// A projection's weight and, where the family may have one, its bias.
void nameBoth(Family &f, Weight weight, Weight bias, StringRef suffix) {
  f.nameInLayer(weight, (suffix + ".weight").str());
  f.nameInLayer(bias, (suffix + ".bias").str());
}

/// What they share: of Llama's only what is named again here stays.
Family layerNormFamily() {
  Family f = llamaFamily();
  f.norm = NormKind::Layer;
  f.keys.normEps = {"layer_norm_eps"};
  f.qkvBias = f.oBias = f.mlpBias = BiasRule::never();
  return f;
}

void readCohere(HFConfigFields &fields, DecoderConfig &config) {
  config.logitsScale = fields.number({"logit_scale"}); // HF: 0.0625
  if (fields.flag({"use_qk_norm"}, false))
    config.qkNorm = QKNorm::PerHeadWeight;
}

/// Command R.
Family cohere() {
  Family f = layerNormFamily();
  f.modelType = "cohere";
  f.architecture = "CohereForCausalLM";
  f.block = BlockStructure::ParallelOneNorm;
  f.qkvBias = f.oBias = BiasRule::byKey("attention_bias");
  f.tieWordEmbeddings = true;
  f.ropeStyle = RopeStyle::Interleaved;
  f.ownKeys = {"logit_scale", "use_qk_norm"};
  f.readOwn = readCohere;
  f.nameInLayer(Weight::QNorm, "self_attn.q_norm.weight");
  f.nameInLayer(Weight::KNorm, "self_attn.k_norm.weight");
  return f;
}

/// Phi-1, 1.5 and 2.
Family phi() {
  Family f = layerNormFamily();
  f.modelType = "phi";
  f.architecture = "PhiForCausalLM";
  f.block = BlockStructure::ParallelOneNorm;
  f.gatedMlp = false;
  f.activation = Activation::GELUTanh;
  f.qkvBias = f.oBias = f.mlpBias = f.lmHeadBias = BiasRule::always();
  f.rotaryFraction = WhenAbsent::Require; // HF: 0.5
  f.nameInLayer(Weight::InputNormBias, "input_layernorm.bias");
  nameBoth(f, Weight::O, Weight::OBias, "self_attn.dense");
  nameBoth(f, Weight::Up, Weight::UpBias, "mlp.fc1");
  nameBoth(f, Weight::Down, Weight::DownBias, "mlp.fc2");
  f.name(Weight::FinalNorm, "model.final_layernorm.weight");
  f.name(Weight::FinalNormBias, "model.final_layernorm.bias");
  f.name(Weight::LmHeadBias, "lm_head.bias");
  return f;
}

void readGptNeoX(HFConfigFields &fields, DecoderConfig &config) {
  if (!fields.flag({"use_parallel_residual"}, true))
    config.block = BlockStructure::PreNorm;
}

/// GPT-NeoX-20B, Pythia, RedPajama.
Family gptNeoX() {
  Family f = layerNormFamily();
  f.modelType = "gpt_neox";
  f.architecture = "GPTNeoXForCausalLM";
  f.block = BlockStructure::ParallelTwoNorms;
  f.gatedMlp = false;
  f.keys.kvHeads = {};
  f.activation = Activation::GELU;
  f.qkvBias = f.oBias = BiasRule::byKey("attention_bias", /*whenAbsent=*/true);
  f.mlpBias = BiasRule::always();
  f.fusedQKV = FusedQKV::ByKVHead;
  f.ropeThetaKey = "rotary_emb_base";
  f.fractionKey = "rotary_pct";
  f.rotaryFraction = WhenAbsent::Require; // HF: 0.25
  f.ownKeys = {"use_parallel_residual"};
  f.readOwn = readGptNeoX;
  f.layerPrefix = "gpt_neox.layers.{layer}.";
  f.name(Weight::Embedding, "gpt_neox.embed_in.weight");
  nameBoth(f, Weight::InputNorm, Weight::InputNormBias, "input_layernorm");
  nameBoth(f, Weight::MlpNorm, Weight::MlpNormBias, "post_attention_layernorm");
  for (auto [weight, bias] : {std::pair(Weight::Q, Weight::QBias),
                              {Weight::K, Weight::KBias},
                              {Weight::V, Weight::VBias}})
    nameBoth(f, weight, bias, "attention.query_key_value");
  nameBoth(f, Weight::O, Weight::OBias, "attention.dense");
  nameBoth(f, Weight::Up, Weight::UpBias, "mlp.dense_h_to_4h");
  nameBoth(f, Weight::Down, Weight::DownBias, "mlp.dense_4h_to_h");
  f.name(Weight::FinalNorm, "gpt_neox.final_layer_norm.weight");
  f.name(Weight::FinalNormBias, "gpt_neox.final_layer_norm.bias");
  f.name(Weight::LmHead, "embed_out.weight");
  return f;
}

void readGptJ(HFConfigFields &fields, DecoderConfig &config) {
  if (fields.has("rope_scaling"))
    config.assumptions.push_back(
        "'rope_scaling' has no effect on gptj, whose rotation is fixed");
}

Family gptJ() {
  Family f = layerNormFamily();
  f.modelType = "gptj";
  f.architecture = "GPTJForCausalLM";
  f.block = BlockStructure::ParallelOneNorm;
  f.gatedMlp = false;
  f.keys = {{"n_layer"},
            {"n_embd"},
            {"n_inner"},
            {"n_head"},
            {},
            {"n_positions"},
            {"layer_norm_epsilon"},
            {"activation_function"}};
  f.intermediate = WhenAbsent::Derive;
  f.activation = Activation::GELUTanh;
  f.mlpBias = f.lmHeadBias = BiasRule::always();
  f.ropeStyle = RopeStyle::Interleaved;
  f.rotaryDimKey = "rotary_dim"; // HF: 64
  f.readOwn = readGptJ;
  f.layerPrefix = "transformer.h.{layer}.";
  f.name(Weight::Embedding, "transformer.wte.weight");
  nameBoth(f, Weight::InputNorm, Weight::InputNormBias, "ln_1");
  f.nameInLayer(Weight::Q, "attn.q_proj.weight");
  f.nameInLayer(Weight::K, "attn.k_proj.weight");
  f.nameInLayer(Weight::V, "attn.v_proj.weight");
  f.nameInLayer(Weight::O, "attn.out_proj.weight");
  nameBoth(f, Weight::Up, Weight::UpBias, "mlp.fc_in");
  nameBoth(f, Weight::Down, Weight::DownBias, "mlp.fc_out");
  f.name(Weight::FinalNorm, "transformer.ln_f.weight");
  f.name(Weight::FinalNormBias, "transformer.ln_f.bias");
  f.name(Weight::LmHeadBias, "lm_head.bias");
  return f;
}

void readStableLm(HFConfigFields &fields, DecoderConfig &config) {
  if (fields.flag({"use_parallel_residual"}, false))
    config.block = BlockStructure::ParallelOneNorm;
}

/// StableLM 3B and 2.
Family stableLm() {
  Family f = layerNormFamily();
  f.modelType = "stablelm";
  f.architecture = "StableLmForCausalLM";
  f.kvHeads = WhenAbsent::Require; // HF: 32
  f.qkvBias = BiasRule::byKey("use_qkv_bias");
  f.rotaryFraction = WhenAbsent::Require; // HF: 0.25
  f.ownKeys = {"use_parallel_residual"};
  f.readOwn = readStableLm;
  f.nameInLayer(Weight::InputNormBias, "input_layernorm.bias");
  f.nameInLayer(Weight::MlpNormBias, "post_attention_layernorm.bias");
  f.name(Weight::FinalNormBias, "model.norm.bias");
  return f;
}

/// Two generations: the newer one has KV heads and, in parallel blocks, a norm
/// for each branch unless a key says one.
void readFalcon(HFConfigFields &fields, DecoderConfig &config) {
  bool isParallel = fields.flag({"parallel_attn"}, true);
  bool isNew = fields.flag({"new_decoder_architecture"}, false);
  int64_t norms = fields.optionalInteger({"num_ln_in_parallel_attn"}, {1, 2})
                      .value_or(isNew ? 2 : 1);
  if (isNew && !isParallel)
    return fields.refuse("parallel_attn",
                         "found boolean false with new_decoder_architecture, "
                         "expected true");
  if (!isNew && norms == 2)
    return fields.refuse("num_ln_in_parallel_attn",
                         "found number 2 without new_decoder_architecture, "
                         "expected 1 or nothing");
  auto name = [&](Weight weight, StringRef suffix) {
    config.tensorName(weight) = ("transformer.h.{layer}." + suffix).str();
  };
  if (!isParallel) {
    config.block = BlockStructure::PreNorm;
    name(Weight::MlpNorm, "post_attention_layernorm.weight");
    name(Weight::MlpNormBias, "post_attention_layernorm.bias");
  } else if (norms == 1) {
    config.block = BlockStructure::ParallelOneNorm;
  } else {
    name(Weight::InputNorm, "ln_attn.weight");
    name(Weight::InputNormBias, "ln_attn.bias");
  }
  // The older one stores all query heads, then the one KV head; without
  // multi_query its heads are as GPT-NeoX has them.
  if (!isNew && fields.flag({"multi_query"}, true)) {
    config.kvHeads = 1;
    config.fusedQKV = FusedQKV::Stacked;
  }
}

Family falcon() {
  Family f = layerNormFamily();
  f.modelType = "falcon";
  f.architecture = "FalconForCausalLM";
  f.block = BlockStructure::ParallelTwoNorms;
  f.gatedMlp = false;
  f.keys.intermediate = {"ffn_hidden_size"};
  f.keys.kvHeads = {"num_kv_heads"};
  f.keys.normEps = {"layer_norm_epsilon"};
  f.keys.activation = {"activation"};
  f.intermediate = WhenAbsent::Derive;
  f.maxPositions = 2048;
  f.activation = Activation::GELU;
  f.qkvBias = f.oBias = f.mlpBias = BiasRule::byKey("bias");
  f.tieWordEmbeddings = true;
  f.fusedQKV = FusedQKV::ByKVHead;
  f.ownKeys = {"parallel_attn"};
  f.readOwn = readFalcon;
  f.layerPrefix = "transformer.h.{layer}.";
  f.name(Weight::Embedding, "transformer.word_embeddings.weight");
  nameBoth(f, Weight::InputNorm, Weight::InputNormBias, "input_layernorm");
  nameBoth(f, Weight::MlpNorm, Weight::MlpNormBias, "ln_mlp");
  for (auto [weight, bias] : {std::pair(Weight::Q, Weight::QBias),
                              {Weight::K, Weight::KBias},
                              {Weight::V, Weight::VBias}})
    nameBoth(f, weight, bias, "self_attention.query_key_value");
  nameBoth(f, Weight::O, Weight::OBias, "self_attention.dense");
  nameBoth(f, Weight::Up, Weight::UpBias, "mlp.dense_h_to_4h");
  nameBoth(f, Weight::Down, Weight::DownBias, "mlp.dense_4h_to_h");
  f.name(Weight::FinalNorm, "transformer.ln_f.weight");
  f.name(Weight::FinalNormBias, "transformer.ln_f.bias");
  return f;
}

/// Falcon-40B as it was published, before HF had the family: the same model
/// under other keys.
Family refinedWeb() {
  Family f = falcon();
  f.modelType = "RefinedWeb";
  f.architecture = "RWForCausalLM";
  f.keys.layers = {"n_layer"};
  f.keys.heads = {"n_head"};
  f.keys.kvHeads = {"n_head_kv", "num_kv_heads"};
  return f;
}

} // namespace

void layline::addParallelFamilies(std::vector<Family> &families) {
  families.insert(families.end(), {cohere(), phi(), gptNeoX(), gptJ(),
                                   stableLm(), falcon(), refinedWeb()});
}
