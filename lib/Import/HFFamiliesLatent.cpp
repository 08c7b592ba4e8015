//===- HFFamiliesLatent.cpp - latent attention: DeepSeek and its line -----===//
//
// Source of every fact: configuration_<type>.py and modeling_<type>.py of
// transformers 5.24.0; tensor names as checkpoints on the hub have them.
//
//===----------------------------------------------------------------------===//

#include "HFConfigFamilies.h"
#include "HFConfigFields.h"
#include "llvm/ADT/Twine.h"
#include <cmath>

using namespace layline;
using llvm::StringRef;
using llvm::Twine;

namespace {

bool isYarn(const DecoderConfig &config) {
  return config.rope.scaling.kind == RopeScalingKind::Yarn;
}

/// Sizes of the latents and heads; what the config is silent about is one
/// published model's in HF, and not trusted.
void readLatent(HFConfigFields &fields, DecoderConfig &config) {
  LatentConfig &latent = config.latent;
  if (!fields.find("q_lora_rank"))
    fields.integer({"q_lora_rank"});
  latent.queryRank = fields.optionalInteger({"q_lora_rank"}).value_or(0);
  latent.rank = fields.integer({"kv_lora_rank"});
  latent.nopeDim = fields.integer({"qk_nope_head_dim"});
  latent.ropeDim = fields.integer({"qk_rope_head_dim"});
  latent.valueDim = fields.integer({"v_head_dim"});
  if (fields.failed())
    return;
  for (int64_t width : {latent.keyDim(), latent.nopeDim + latent.valueDim})
    if (width > kMaxSize / config.heads)
      return fields.malformed("qk_nope_head_dim",
                              "found heads of " + Twine(width) +
                                  ", expected fewer than 2^31 columns of all "
                                  "heads together");
  config.attentionScale = 1 / std::sqrt(static_cast<double>(latent.keyDim()));
  auto drop = [&](std::initializer_list<Weight> weights) {
    for (Weight weight : weights)
      config.tensorName(weight).clear();
  };
  if (!config.qkvBias)
    drop({Weight::QABias, Weight::KVABias});
  if (latent.queryRank)
    drop({Weight::Q});
  else
    drop({Weight::QA, Weight::QABias, Weight::QANorm, Weight::QB});
}

/// YaRN's factor of the scores, where it is not one of cos and sin.
void scaleByYarn(DecoderConfig &config) {
  const RopeScaling &scaling = config.rope.scaling;
  if (!isYarn(config) || scaling.mscaleAllDim == 0 || scaling.factor <= 1)
    return;
  double mscale = 0.1 * scaling.mscaleAllDim * std::log(scaling.factor) + 1;
  config.attentionScale *= mscale * mscale;
}

void readDeepseekV2(HFConfigFields &fields, DecoderConfig &config) {
  readLatent(fields, config);
  if (fields.failed() || !isYarn(config) ||
      config.rope.scaling.mscaleAllDim == 0)
    return;
  StringRef block =
      fields.has("rope_parameters.mscale_all_dim") ? "rope_parameters"
                                                   : "rope_scaling";
  fields.refuse((block + ".mscale_all_dim").str(),
                "found a factor of the scores, which releases of transformers "
                "apply to deepseek_v2 or leave out; expected 0 or nothing");
}

void readDeepseekV3(HFConfigFields &fields, DecoderConfig &config) {
  readLatent(fields, config);
  if (!fields.flag({"rope_interleave"}, true))
    config.rope.style = RopeStyle::Half;
  scaleByYarn(config);
}

void readIndexer(HFConfigFields &fields, DecoderConfig &config) {
  IndexerConfig &indexer = config.indexer;
  indexer.heads = fields.integer({"index_n_heads"});
  indexer.headDim = fields.integer({"index_head_dim"});
  indexer.topK = fields.integer({"index_topk"});
  if (fields.failed())
    return;
  if (indexer.headDim < config.latent.ropeDim)
    return fields.malformed("index_head_dim",
                            "found number " + Twine(indexer.headDim) +
                                ", expected at least qk_rope_head_dim, " +
                                Twine(config.latent.ropeDim));
  if (!config.latent.queryRank)
    fields.refuse("q_lora_rank", "found nothing, expected the rank of the "
                                 "latent that the indexer's queries are made "
                                 "of");
}

void readDeepseekV32(HFConfigFields &fields, DecoderConfig &config) {
  readLatent(fields, config);
  scaleByYarn(config);
  if (!fields.failed())
    readIndexer(fields, config);
}

/// Which layers select as the one before them: `indexer_types`, or every
/// `index_topk_freq`-th layer has an indexer, counted from
/// `index_skip_topk_offset`.
void readSharedIndexers(HFConfigFields &fields, DecoderConfig &config) {
  if (fields.has("index_topk_pattern"))
    return fields.refuse("index_topk_pattern",
                         "found " + fields.describe("index_topk_pattern") +
                             ", expected indexer_types instead");
  std::vector<std::string> types = fields.optionalStrings("indexer_types");
  int64_t every = fields.optionalInteger({"index_topk_freq"}).value_or(1);
  int64_t offset =
      fields.optionalInteger({"index_skip_topk_offset"}, {0, kMaxSize})
          .value_or(2);
  if (fields.failed())
    return;
  if (!types.empty() && types.size() != static_cast<size_t>(config.layers))
    return fields.malformed("indexer_types",
                            "found " + fields.describe("indexer_types") +
                                ", expected as many entries as "
                                "num_hidden_layers, " +
                                Twine(config.layers));
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    bool isShared = std::max<int64_t>(layer - offset + 1, 0) % every != 0;
    if (!types.empty()) {
      isShared = types[layer] == "shared";
      if (!isShared && types[layer] != "full")
        return fields.refuse(("indexer_types[" + Twine(layer) + "]").str(),
                             "found '" + StringRef(types[layer]).take_front(40) +
                                 "', expected full or shared");
    }
    if (isShared && layer == 0)
      return fields.malformed(types.empty() ? "index_topk_freq"
                                            : "indexer_types",
                              "found no indexer in layer 0, expected one for "
                              "later layers to share");
    config.perLayer[layer].sharesIndexer = isShared;
  }
}

void readGlmMoeDsa(HFConfigFields &fields, DecoderConfig &config) {
  readDeepseekV32(fields, config);
  // Fixed in the code; the keys may say the same.
  for (StringRef key : {"rope_interleave", "indexer_rope_interleave"})
    if (!fields.flag({key}, true))
      fields.refuse(key, "found boolean false, expected true or nothing: the "
                         "pairs of glm_moe_dsa are interleaved");
  config.indexer.ropeStyle = RopeStyle::InterleavedToHalf;
  if (!fields.failed())
    readSharedIndexers(fields, config);
}

Family deepseekV3() {
  Family f = llamaFamily();
  f.modelType = "deepseek_v3";
  f.architecture = "DeepseekV3ForCausalLM";
  // As many as query heads, and not read: a latent row is for all.
  f.kvHeads = WhenAbsent::Derive;
  f.keys.headDim = {"qk_rope_head_dim"}; // what rotates
  f.headDim = WhenAbsent::Require;       // HF: 64
  f.qkvBias = f.oBias = BiasRule::byKey("attention_bias");
  f.mlpBias = BiasRule::never();
  f.ropeStyle = RopeStyle::InterleavedToHalf;
  f.ropeScalings = {RopeScalingKind::Yarn};
  f.ownKeys = {"kv_lora_rank", "q_lora_rank", "rope_interleave"};
  f.readLast = readDeepseekV3;
  addSigmoidExperts(f);
  for (Weight weight : {Weight::K, Weight::V, Weight::QBias, Weight::KBias,
                        Weight::VBias})
    f.name(weight, "");
  f.nameInLayer(Weight::QA, "self_attn.q_a_proj.weight");
  f.nameInLayer(Weight::QABias, "self_attn.q_a_proj.bias");
  f.nameInLayer(Weight::QANorm, "self_attn.q_a_layernorm.weight");
  f.nameInLayer(Weight::QB, "self_attn.q_b_proj.weight");
  f.nameInLayer(Weight::KVA, "self_attn.kv_a_proj_with_mqa.weight");
  f.nameInLayer(Weight::KVABias, "self_attn.kv_a_proj_with_mqa.bias");
  f.nameInLayer(Weight::KVANorm, "self_attn.kv_a_layernorm.weight");
  for (Weight weight : {Weight::KeyUp, Weight::ValueUp})
    f.nameInLayer(weight, "self_attn.kv_b_proj.weight");
  return f;
}

/// Kimi-K2: the same model under a name of its own.
Family kimiK2() {
  Family f = deepseekV3();
  f.modelType = "kimi_k2";
  return f;
}

Family deepseekV2() {
  Family f = deepseekV3();
  f.modelType = "deepseek_v2";
  f.architecture = "DeepseekV2ForCausalLM";
  f.ropeStyle = RopeStyle::Interleaved;
  f.readLast = readDeepseekV2;
  f.ownKeys = {"kv_lora_rank", "q_lora_rank", "n_shared_experts",
               "routed_scaling_factor", "first_k_dense_replace"};
  f.moe.scoring = RouterScoring::Softmax;
  f.moe.renormalize = MoeRule::Renormalize::Never; // whatever the key says
  f.moe.groups = MoeRule::Groups::ByTopkMethod;
  f.moe.scaleWhenAbsent = 1;
  f.moe.leadingWhenAbsent = 0;
  f.name(Weight::ChoiceBias, "");
  return f;
}

Family deepseekV32() {
  Family f = deepseekV3();
  f.modelType = "deepseek_v32";
  f.architecture = "DeepseekV32ForCausalLM";
  f.ownKeys = {"kv_lora_rank", "q_lora_rank", "n_shared_experts",
               "routed_scaling_factor", "first_k_dense_replace"};
  f.readLast = readDeepseekV32;
  f.fullLayerTypes = {"indexed_attention", "deepseek_sparse_attention"};
  f.nameInLayer(Weight::IndexQ, "self_attn.indexer.wq_b.weight");
  f.nameInLayer(Weight::IndexK, "self_attn.indexer.wk.weight");
  f.nameInLayer(Weight::IndexNorm, "self_attn.indexer.k_norm.weight");
  f.nameInLayer(Weight::IndexNormBias, "self_attn.indexer.k_norm.bias");
  f.nameInLayer(Weight::IndexWeights, "self_attn.indexer.weights_proj.weight");
  return f;
}

/// GLM-5.
Family glmMoeDsa() {
  Family f = deepseekV32();
  f.modelType = "glm_moe_dsa";
  f.architecture = "GlmMoeDsaForCausalLM";
  f.ownKeys.push_back("rope_interleave");
  f.readLast = readGlmMoeDsa;
  return f;
}

} // namespace

void layline::addLatentFamilies(std::vector<Family> &families) {
  families.insert(families.end(), {deepseekV2(), deepseekV3(), deepseekV32(),
                                   glmMoeDsa(), kimiK2()});
}
