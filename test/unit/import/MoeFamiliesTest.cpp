//===- MoeFamiliesTest.cpp - routers, shared experts, latent attention ----===//

#include "ConfigSource.h"
#include "llvm/ADT/STLExtras.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace layline;
using namespace layline::test;
using Catch::Contains;

TEST_CASE("glm4_moe: leading dense layers, a sigmoid router, a shared expert") {
  DecoderConfig c = ConfigSource("glm4_moe").config();
  CHECK(c.qkNorm == QKNorm::PerHead);
  CHECK(c.rope.style == RopeStyle::Half);
  CHECK(c.rope.rotaryDim == 4);
  CHECK(c.perLayer[0].mlp == MlpKind::Dense);
  CHECK(c.perLayer[1].mlp == MlpKind::MoE);
  CHECK(c.moe.scoring == RouterScoring::Sigmoid);
  CHECK(c.moe.renormalize);
  CHECK(c.moe.scale == 1.5);
  CHECK(c.moe.groups == 0); // one of one
  CHECK(c.moe.sharedIntermediate == 16);
  CHECK(c.has(Weight::ChoiceBias, 1));
  CHECK_FALSE(c.has(Weight::SharedUp, 0));
  CHECK(c.find(Weight::SharedUp, 1).tensor ==
        "model.layers.1.mlp.shared_experts.up_proj.weight");

  CHECK(ConfigSource("glm4_moe").erase("use_qk_norm").config().qkNorm ==
        QKNorm::None);
  CHECK_FALSE(ConfigSource("glm4_moe")
                  .set("n_shared_experts", 0)
                  .config()
                  .has(Weight::SharedUp, 1));
  CHECK_THAT(ConfigSource("glm4_moe").set("scoring_func", "softmax").error(),
             Contains("refused") && Contains("expected sigmoid"));
  CHECK_THAT(ConfigSource("glm4_moe").set("moe_layer_freq", 2).error(),
             Contains("refused") && Contains("expected 1"));
  CHECK_THAT(ConfigSource("glm4_moe").erase("first_k_dense_replace").error(),
             Contains("first_k_dense_replace") && Contains("missing"));
}

TEST_CASE("groups of experts") {
  DecoderConfig c = ConfigSource("deepseek_v3").config();
  CHECK(c.moe.groups == 4);
  CHECK(c.moe.chosenGroups == 2);
  CHECK(c.moe.groupScore == GroupScore::Top2Sum);
  // All groups leave nothing out.
  CHECK(ConfigSource("deepseek_v3").set("topk_group", 4).config().moe.groups ==
        0);
  CHECK_THAT(ConfigSource("deepseek_v3").set("n_group", 3).error(),
             Contains("expected a divisor of the number of experts, 8"));
  CHECK_THAT(ConfigSource("deepseek_v3").set("n_group", 8).error(),
             Contains("groups of one expert"));
  CHECK_THAT(ConfigSource("deepseek_v3")
                 .set("topk_group", 1)
                 .set("num_experts_per_tok", 3)
                 .error(),
             Contains("expected at least 3 experts in them"));
  CHECK_THAT(ConfigSource("deepseek_v3").set("topk_method", "greedy").error(),
             Contains("expected noaux_tc"));
  CHECK_THAT(ConfigSource("deepseek_v3").erase("n_group").error(),
             Contains("n_group") && Contains("missing"));
}

TEST_CASE("gpt_oss: sinks, biases, experts in one tensor") {
  DecoderConfig c = ConfigSource("gpt_oss").config();
  CHECK(c.qkvBias);
  CHECK(c.oBias);
  CHECK(c.perLayer[0].slidingWindow == 8);
  CHECK(c.perLayer[1].slidingWindow == 0);
  CHECK(c.has(Weight::Sinks, 0));
  CHECK(c.moe.scoring == RouterScoring::Softmax);
  CHECK(c.moe.renormalize);
  CHECK(c.moe.limit == 1.5);
  CHECK(c.moe.alpha == 1.702);
  CHECK(c.moe.upOffset == 1);
  CHECK(ConfigSource("gpt_oss").erase("swiglu_limit").config().moe.limit == 7);

  StoredWeight gate = c.find(Weight::ExpertGate, 0),
               up = c.find(Weight::ExpertUp, 0),
               down = c.find(Weight::ExpertDown, 0),
               bias = c.find(Weight::ExpertUpBias, 0);
  CHECK(gate.tensor == "model.layers.0.mlp.experts.gate_up_proj");
  CHECK(up.tensor == gate.tensor);
  for (const StoredWeight *weight : {&gate, &up, &down, &bias})
    CHECK(weight->stack == 8);
  CHECK(gate.isTransposed);
  CHECK(gate.storedRows == 16);
  CHECK(gate.period == 2);
  CHECK(gate.rowBegin == 0);
  CHECK(up.rowBegin == 1);
  CHECK(up.rows() == 8);
  CHECK(down.isTransposed);
  CHECK(down.isWholeTensor());
  CHECK_FALSE(bias.isTransposed);
  CHECK(bias.rowBegin == 1);
  CHECK(llvm::count_if(c.weights(), [](const WeightInstance &instance) {
          return instance.weight == Weight::ExpertGate;
        }) == 2); // one a layer
}

TEST_CASE("minimax_m2: norms over all heads, a sigmoid router in each layer") {
  DecoderConfig c = ConfigSource("minimax_m2").config();
  CHECK(c.qkNorm == QKNorm::FullWidth);
  CHECK(c.rope.rotaryDim == 8);
  CHECK(c.rope.style == RopeStyle::Half);
  CHECK(c.rope.theta == 5e6);
  CHECK(c.perLayer[0].mlp == MlpKind::MoE);
  CHECK(c.moe.scoring == RouterScoring::Sigmoid);
  CHECK(c.moe.renormalize);
  CHECK(c.moe.groups == 0);
  CHECK(c.moe.sharedIntermediate == 0);
  CHECK(c.find(Weight::ChoiceBias, 1).tensor ==
        "model.layers.1.block_sparse_moe.e_score_correction_bias");
  CHECK(c.find(Weight::ExpertUp, 0, 3).tensor ==
        "model.layers.0.block_sparse_moe.experts.3.w3.weight");
  CHECK(c.find(Weight::KNorm, 0).storedRows == 32);

  // As released: the rotary width itself, and theta beside it.
  ConfigSource released("minimax_m2");
  released.erase("rope_parameters").set("rotary_dim", 6);
  CHECK(released.config().rope.rotaryDim == 6);
  CHECK(released.config().rope.theta == 5e6);
  CHECK_THAT(released.set("rotary_dim", 7).error(),
             Contains("rotary_dim") && Contains("expected an even width"));
  CHECK_THAT(ConfigSource("minimax_m2").set("rotary_dim", 6).error(),
             Contains("malformed") &&
                 Contains("partial_rotary_factor that gives 8"));
  CHECK(ConfigSource("minimax_m2").set("rotary_dim", 8).error().empty());
  for (auto [key, value, expected] : std::initializer_list<
           std::tuple<const char *, llvm::json::Value, const char *>>{
           {"use_qk_norm", false, "expected true"},
           {"use_routing_bias", false, "expected true"},
           {"qk_norm_type", "per_head", "expected per_layer"},
           {"shared_intermediate_size", 16, "no shared expert"},
           {"scoring_func", "softmax", "expected sigmoid"},
           {"attn_type_list", llvm::json::Array{0, 1}, "softmax attention"}}) {
    CAPTURE(key);
    CHECK_THAT(ConfigSource("minimax_m2").set(key, value).error(),
               Contains("refused") && Contains(key) && Contains(expected));
  }
  CHECK(ConfigSource("minimax_m2")
            .set("qk_norm_type", "per_layer")
            .set("attn_type_list", llvm::json::Array{1, 1})
            .set("use_qk_norm", true)
            .error()
            .empty());
}

TEST_CASE("deepseek_v3: latents of queries and of keys and values") {
  DecoderConfig c = ConfigSource("deepseek_v3").config();
  CHECK(c.isLatent());
  CHECK(c.latent.queryRank == 32);
  CHECK(c.latent.rank == 24);
  CHECK(c.latent.keyDim() == 20);
  CHECK(c.latent.valueDim == 10);
  CHECK(c.latent.normEps == 1e-6); // whatever rms_norm_eps says
  CHECK(c.norm.eps == 1e-5);
  CHECK(c.rope.rotaryDim == 8);
  CHECK(c.rope.style == RopeStyle::InterleavedToHalf);
  // YaRN with mscale_all_dim 1 and factor 4 scales the scores.
  double mscale = 0.1 * std::log(4.0) + 1;
  CHECK(c.attentionScale ==
        Approx(mscale * mscale / std::sqrt(20.0)).epsilon(1e-15));
  CHECK_FALSE(c.has(Weight::Q, 0));
  CHECK_FALSE(c.has(Weight::QABias, 0));
  CHECK(c.has(Weight::ChoiceBias, 1));
  StoredWeight key = c.find(Weight::KeyUp, 0),
               value = c.find(Weight::ValueUp, 0);
  CHECK(key.tensor == "model.layers.0.self_attn.kv_b_proj.weight");
  CHECK(value.tensor == key.tensor);
  CHECK(key.storedRows == 176);
  CHECK(key.period == 22);
  CHECK(key.rowEnd == 12);
  CHECK(value.rowBegin == 12);
  CHECK(value.rows() == 80);

  DecoderConfig direct =
      ConfigSource("deepseek_v3").set("q_lora_rank", nullptr).config();
  CHECK(direct.has(Weight::Q, 0));
  CHECK_FALSE(direct.has(Weight::QA, 0));
  CHECK(ConfigSource("deepseek_v3")
            .set("rope_interleave", false)
            .config()
            .rope.style == RopeStyle::Half);
  CHECK(ConfigSource("deepseek_v3")
            .set("attention_bias", true)
            .config()
            .has(Weight::KVABias, 0));
  CHECK_THAT(ConfigSource("deepseek_v3").erase("kv_lora_rank").error(),
             Contains("kv_lora_rank") && Contains("missing"));
  CHECK_THAT(ConfigSource("deepseek_v3").erase("q_lora_rank").error(),
             Contains("q_lora_rank") && Contains("missing"));
}

TEST_CASE("deepseek_v2: groups by method, weights as they are") {
  ConfigSource source("deepseek_v3");
  source.set("model_type", "deepseek_v2")
      .set("architectures", llvm::json::Array{"DeepseekV2ForCausalLM"})
      .erase("rope_interleave")
      .erase("rope_parameters");
  DecoderConfig c = source.config();
  CHECK(c.moe.groups == 0); // greedy
  CHECK(c.moe.scoring == RouterScoring::Softmax);
  CHECK_FALSE(c.moe.renormalize); // norm_topk_prob is not read
  CHECK_FALSE(c.has(Weight::ChoiceBias, 1));
  CHECK(c.rope.style == RopeStyle::Interleaved);
  c = source.set("topk_method", "group_limited_greedy").config();
  CHECK(c.moe.groups == 4);
  CHECK(c.moe.groupScore == GroupScore::Max);
  CHECK_THAT(source.set("topk_method", "noaux_tc").error(),
             Contains("expected greedy or group_limited_greedy"));
  // Releases of transformers differ in what it does.
  source.erase("topk_method");
  source.set("rope_scaling",
             llvm::json::Object{{"type", "yarn"},
                                {"factor", 40},
                                {"mscale", 0.707},
                                {"mscale_all_dim", 0.707},
                                {"original_max_position_embeddings", 4096}});
  CHECK_THAT(source.error(),
             Contains("refused") && Contains("rope_scaling.mscale_all_dim"));
}

TEST_CASE("deepseek_v32: an indexer in every layer") {
  DecoderConfig c = ConfigSource("deepseek_v32").config();
  CHECK(c.indexer.heads == 8);
  CHECK(c.indexer.headDim == 16);
  CHECK(c.indexer.topK == 8);
  CHECK(c.indexer.ropeStyle == RopeStyle::Half);
  CHECK(c.has(Weight::IndexNormBias, 0));
  CHECK(c.perLayer[0].mlp == MlpKind::Dense);
  CHECK(c.perLayer[1].mlp == MlpKind::MoE);
  CHECK(ConfigSource("deepseek_v32")
            .set("mlp_layer_types", llvm::json::Array{"sparse", "dense"})
            .config()
            .perLayer[0]
            .mlp == MlpKind::MoE);
  CHECK_THAT(ConfigSource("deepseek_v32")
                 .set("mlp_layer_types", llvm::json::Array{"sparse", "both"})
                 .error(),
             Contains("mlp_layer_types[1]"));
  CHECK_THAT(ConfigSource("deepseek_v32").set("index_head_dim", 4).error(),
             Contains("expected at least qk_rope_head_dim, 8"));
  CHECK_THAT(ConfigSource("deepseek_v32").set("q_lora_rank", nullptr).error(),
             Contains("q_lora_rank"));
}

TEST_CASE("glm_moe_dsa: layers that share an indexer's choice") {
  ConfigSource source("deepseek_v32");
  source.set("model_type", "glm_moe_dsa")
      .set("architectures", llvm::json::Array{"GlmMoeDsaForCausalLM"});
  DecoderConfig c = source.config();
  CHECK(c.indexer.ropeStyle == RopeStyle::InterleavedToHalf);
  CHECK_FALSE(c.perLayer[1].sharesIndexer);
  c = source.set("indexer_types", llvm::json::Array{"full", "shared"}).config();
  CHECK(c.perLayer[1].sharesIndexer);
  CHECK(c.has(Weight::IndexK, 0));
  CHECK_FALSE(c.has(Weight::IndexK, 1));
  CHECK_THAT(
      source.set("indexer_types", llvm::json::Array{"shared", "full"}).error(),
      Contains("found no indexer in layer 0"));
  CHECK_THAT(
      source.set("indexer_types", llvm::json::Array{"full", "none"}).error(),
      Contains("indexer_types[1]"));
  source.erase("indexer_types");
  // Layer l has one iff max(l - offset + 1, 0) is a multiple of the step.
  CHECK(source.set("index_topk_freq", 2)
            .set("index_skip_topk_offset", 1)
            .config()
            .perLayer[1]
            .sharesIndexer);
  CHECK_THAT(source.set("indexer_rope_interleave", false).error(),
             Contains("indexer_rope_interleave"));
}
