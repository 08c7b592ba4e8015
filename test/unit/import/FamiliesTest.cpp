//===- FamiliesTest.cpp - what is read for each family --------------------===//

#include "ConfigSource.h"
#include "llvm/ADT/STLExtras.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace layline;
using namespace layline::test;

namespace {

DecoderConfig model(llvm::StringRef name) {
  llvm::Expected<DecoderConfig> config = readHFConfig(modelPath(name));
  if (!config)
    FAIL(llvm::toString(config.takeError()));
  return std::move(*config);
}

} // namespace

TEST_CASE("the golden llama config, key by key") {
  DecoderConfig c = ConfigSource("llama").config();
  CHECK(c.modelType == "llama");
  CHECK(c.layers == 2);
  CHECK(c.hidden == 64);
  CHECK(c.vocab == 128);
  CHECK(c.heads == 8);
  CHECK(c.kvHeads == 2);
  CHECK(c.headDim == 16);
  CHECK(c.qDim() == 128); // not hidden
  CHECK(c.kvDim() == 32);
  CHECK(c.intermediate == 32);
  CHECK(c.maxPositions == 512);
  CHECK(c.norm.eps == 1e-5);
  CHECK(c.norm.weightOffset == 0);
  CHECK(c.attentionScale == 0.25);
  CHECK(c.activation == Activation::SiLU);
  CHECK(c.dtype == ElementType::Float32);
  CHECK_FALSE(c.qkvBias);
  CHECK_FALSE(c.oBias);
  CHECK_FALSE(c.mlpBias);
  CHECK(c.qkNorm == QKNorm::None);
  CHECK_FALSE(c.tieWordEmbeddings);
  CHECK_FALSE(c.hasMoE());
  CHECK(c.rope.style == RopeStyle::Half);
  CHECK(c.rope.rotaryDim == 16);
  CHECK(c.rope.theta == 10000);
  CHECK(c.rope.scaling.kind == RopeScalingKind::Llama3);
  CHECK(c.rope.scaling.factor == 8);
  CHECK(c.rope.scaling.lowFreqFactor == 1);
  CHECK(c.rope.scaling.highFreqFactor == 4);
  CHECK(c.rope.scaling.originalMaxPositions == 64);
  REQUIRE(c.perLayer.size() == 2);
  CHECK(c.perLayer[0].slidingWindow == 0);
  CHECK(c.perLayer[0].mlp == MlpKind::Dense);
  CHECK(c.assumptions.empty());
}

TEST_CASE("what sets each family apart") {
  SECTION("qwen2: q, k, v have biases whatever the keys say") {
    DecoderConfig c = ConfigSource("qwen2").config();
    CHECK(c.qkvBias);
    CHECK_FALSE(c.oBias);
    CHECK(c.qkNorm == QKNorm::None);
    CHECK(c.headDim == 8); // no head_dim: hidden / heads
    CHECK(c.kvHeads == 4);
    CHECK(c.tieWordEmbeddings);
    CHECK(c.rope.theta == 1e6);
    CHECK(c.norm.eps == 1e-6);
  }
  SECTION("qwen3: per-head norms of q and k") {
    DecoderConfig c = ConfigSource("qwen3").config();
    CHECK(c.qkNorm == QKNorm::PerHead);
    CHECK_FALSE(c.qkvBias);
    CHECK(c.headDim == 16);
  }
  SECTION("olmo2: norms behind the branches, of q and k over all heads") {
    DecoderConfig c = ConfigSource("olmo2").config();
    CHECK(c.block == BlockStructure::PostNorm);
    CHECK(c.qkNorm == QKNorm::FullWidth);
    CHECK(c.norm.kind == NormKind::RMS);
    CHECK(c.rope.theta == 500000);
    CHECK_FALSE(c.has(Weight::InputNorm, 0));
    CHECK_FALSE(c.has(Weight::MlpNorm, 0));
    CHECK(c.find(Weight::QNorm, 1).storedRows == 64);
    CHECK(c.find(Weight::KNorm, 1).storedRows == 32);
    CHECK(c.find(Weight::AttnBranchNorm, 1).tensor ==
          "model.layers.1.post_attention_layernorm.weight");
    CHECK(c.find(Weight::MlpBranchNorm, 1).tensor ==
          "model.layers.1.post_feedforward_layernorm.weight");
    DecoderConfig biased =
        ConfigSource("olmo2").set("attention_bias", true).config();
    CHECK(biased.qkvBias);
    CHECK(biased.oBias);
    CHECK_FALSE(biased.mlpBias);
  }
  SECTION("qwen3: attention_bias is of q, k, v and o") {
    DecoderConfig c =
        ConfigSource("qwen3").set("attention_bias", true).config();
    CHECK(c.qkvBias);
    CHECK(c.oBias);
  }
  SECTION("llama: attention_bias is of q, k, v and o, mlp_bias apart") {
    DecoderConfig c =
        ConfigSource("llama").set("attention_bias", true).config();
    CHECK(c.qkvBias);
    CHECK(c.oBias);
    CHECK_FALSE(c.mlpBias);
    CHECK(ConfigSource("llama").set("mlp_bias", true).config().mlpBias);
  }
  SECTION("qwen3_moe: layer 0 is dense by mlp_only_layers") {
    DecoderConfig c = ConfigSource("qwen3_moe").config();
    CHECK(c.qkNorm == QKNorm::PerHead);
    CHECK(c.perLayer[0].mlp == MlpKind::Dense);
    CHECK(c.perLayer[1].mlp == MlpKind::MoE);
    CHECK(c.moe.experts == 8); // num_local_experts, transformers 5
    CHECK(c.moe.topK == 2);
    CHECK(c.moe.intermediate == 16);
    CHECK(c.moe.renormalize);
    CHECK(c.moe.scoring == RouterScoring::Softmax);
    CHECK(c.intermediate == 32);
  }
  SECTION("mixtral: every layer, experts as wide as intermediate_size") {
    DecoderConfig c = ConfigSource("mixtral").config();
    CHECK(llvm::all_of(c.perLayer, [](const LayerConfig &layer) {
      return layer.mlp == MlpKind::MoE;
    }));
    CHECK(c.moe.intermediate == 32);
    CHECK(c.moe.renormalize);
  }
  SECTION("gemma2: norms on both sides, caps, a scaled embedding") {
    DecoderConfig c = ConfigSource("gemma2").config();
    CHECK(c.block == BlockStructure::Sandwich);
    CHECK(c.norm.kind == NormKind::RMS);
    CHECK(c.norm.weightOffset == 1);
    CHECK(c.activation == Activation::GELUTanh);
    CHECK(c.attentionScale == Approx(1 / std::sqrt(24.0)).epsilon(1e-15));
    CHECK(c.attentionSoftcap == 5);
    CHECK(c.logitsSoftcap == 8);
    CHECK(c.embeddingScale == 8);
    CHECK(c.perLayer[0].slidingWindow == 8);
    CHECK(c.perLayer[1].slidingWindow == 0);
    CHECK(c.has(Weight::AttnBranchNorm, 0));
    CHECK(c.find(Weight::MlpNorm, 1).tensor ==
          "model.layers.1.pre_feedforward_layernorm.weight");
  }
  SECTION("gemma2: caps may be null, not absent") {
    CHECK(ConfigSource("gemma2")
              .set("attn_logit_softcapping", nullptr)
              .config()
              .attentionSoftcap == 0);
    CHECK_THAT(ConfigSource("gemma2").erase("final_logit_softcapping").error(),
               Catch::Contains("key 'final_logit_softcapping': missing"));
  }
  SECTION("gemma2: the embedding's factor is a number of the model's type") {
    // sqrt(65) = 8.0622...: between 8 and 8.0625 in bfloat16.
    ConfigSource source("gemma2");
    source.set("hidden_size", 65);
    CHECK(source.config().embeddingScale == std::sqrt(65.0f));
    CHECK(source.set("dtype", "bfloat16").config().embeddingScale == 8.0625);
  }
  SECTION("cohere: one norm for two branches, a weight for each head") {
    DecoderConfig c = ConfigSource("cohere").config();
    CHECK(c.block == BlockStructure::ParallelOneNorm);
    CHECK(c.norm.kind == NormKind::Layer);
    CHECK(c.qkNorm == QKNorm::PerHeadWeight);
    CHECK(c.rope.style == RopeStyle::Interleaved);
    CHECK(c.logitsScale == 0.25);
    CHECK(c.find(Weight::QNorm, 0).storedRows == 8);
    CHECK(c.find(Weight::KNorm, 0).storedRows == 4);
    CHECK_FALSE(c.has(Weight::MlpNorm));
    CHECK_FALSE(c.has(Weight::InputNormBias));
    CHECK(ConfigSource("cohere").erase("use_qk_norm").config().qkNorm ==
          QKNorm::None);
  }
  SECTION("phi: biases everywhere, a plain MLP") {
    DecoderConfig c = ConfigSource("phi").config();
    CHECK(c.block == BlockStructure::ParallelOneNorm);
    CHECK_FALSE(c.gatedMlp);
    CHECK(c.activation == Activation::GELUTanh); // gelu_new
    CHECK(c.rope.rotaryDim == 4);
    CHECK(c.has(Weight::LmHeadBias));
    CHECK(c.has(Weight::InputNormBias, 1));
    CHECK_FALSE(c.has(Weight::Gate));
    CHECK_THAT(ConfigSource("phi").erase("rope_parameters").error(),
               Catch::Contains("'partial_rotary_factor'") &&
                   Catch::Contains("missing"));
  }
  SECTION("granite: a factor at every place") {
    DecoderConfig c = ConfigSource("granite").config();
    CHECK(c.block == BlockStructure::PreNorm);
    CHECK(c.attentionScale == 0.2);
    CHECK(c.embeddingScale == 6);
    CHECK(c.residualScale == 0.22);
    CHECK(c.logitsScale == 0.25); // logits_scaling 4 divides
  }
  SECTION("phi3: part of a head rotates") {
    DecoderConfig c = ConfigSource("phi3").config();
    CHECK(c.headDim == 8);
    CHECK(c.rope.rotaryDim == 6);
    CHECK(c.rope.scaling.kind == RopeScalingKind::None);
  }
}

TEST_CASE("published configs of the known families") {
  struct Published {
    const char *model, *type;
    int64_t layers, hidden, heads, kvHeads, headDim, intermediate, vocab;
  };
  auto row = GENERATE(values<Published>(
      {{"llama-3.1-8b", "llama", 32, 4096, 32, 8, 128, 14336, 128256},
       {"llama-3.1-70b", "llama", 80, 8192, 64, 8, 128, 28672, 128256},
       {"llama-3.1-405b", "llama", 126, 16384, 128, 8, 128, 53248, 128256},
       {"mistral-7b-v0.3", "mistral", 32, 4096, 32, 8, 128, 14336, 32768},
       {"mixtral-8x7b", "mixtral", 32, 4096, 32, 8, 128, 14336, 32000},
       {"olmo-2-7b", "olmo2", 32, 4096, 32, 32, 128, 11008, 100352},
       {"olmo-2-32b", "olmo2", 64, 5120, 40, 8, 128, 27648, 100352},
       {"phi-4", "phi3", 40, 5120, 40, 10, 128, 17920, 100352},
       {"phi-4-mini", "phi3", 32, 3072, 24, 8, 128, 8192, 200064},
       {"qwen2-7b", "qwen2", 28, 3584, 28, 4, 128, 18944, 152064},
       {"qwen3-0.6b", "qwen3", 28, 1024, 16, 8, 128, 3072, 151936},
       {"qwen3-8b", "qwen3", 36, 4096, 32, 8, 128, 12288, 151936},
       {"qwen3-32b", "qwen3", 64, 5120, 64, 8, 128, 25600, 151936},
       {"qwen3-30b-a3b", "qwen3_moe", 48, 2048, 32, 4, 128, 6144, 151936},
       {"qwen3-235b-a22b", "qwen3_moe", 94, 4096, 64, 4, 128, 12288, 151936}}));
  CAPTURE(row.model);
  DecoderConfig c = model(row.model);
  CHECK(c.modelType == row.type);
  CHECK(c.layers == row.layers);
  CHECK(c.hidden == row.hidden);
  CHECK(c.heads == row.heads);
  CHECK(c.kvHeads == row.kvHeads);
  CHECK(c.headDim == row.headDim);
  CHECK(c.intermediate == row.intermediate);
  CHECK(c.vocab == row.vocab);
  // OLMo-2 is published in float32.
  CHECK(c.dtype == (c.modelType == "olmo2" ? ElementType::Float32
                                           : ElementType::BFloat16));
  CHECK(c.activation == Activation::SiLU);
  CHECK(c.assumptions.empty());
  // None of them but phi-4-mini slides in fact: use_sliding_window is false.
  bool slides = llvm::any_of(c.perLayer, [](const LayerConfig &layer) {
    return layer.slidingWindow != 0;
  });
  CHECK(slides == (c.modelType == "phi3" && row.layers == 32));
}

TEST_CASE("published configs of other structures") {
  SECTION("gemma-3-1b: a RoPE of its own for layers with a window") {
    DecoderConfig c = model("gemma-3-1b");
    CHECK(c.block == BlockStructure::Sandwich);
    CHECK(c.qkNorm == QKNorm::PerHead);
    CHECK(c.rope.theta == 1e6);
    REQUIRE(c.slidingRope);
    CHECK(c.slidingRope->theta == 1e4);
    CHECK(c.slidingRope->rotaryDim == 256);
    CHECK(c.perLayer[4].slidingWindow == 512);
    CHECK(c.perLayer[5].slidingWindow == 0);
    CHECK(&c.ropeOf(5) == &c.rope);
    CHECK(&c.ropeOf(4) == &*c.slidingRope);
    CHECK(c.attentionSoftcap == 0);
    CHECK(c.embeddingScale == 34); // sqrt(1152) = 33.94 in bfloat16
  }
  SECTION("gemma-2-2b: every second layer slides, from layer 0") {
    DecoderConfig c = model("gemma-2-2b");
    CHECK(c.perLayer[0].slidingWindow == 4096);
    CHECK(c.perLayer[1].slidingWindow == 0);
    CHECK(c.attentionScale == 0.0625);
    CHECK(c.embeddingScale == 48);
    CHECK(c.tieWordEmbeddings);
  }
  SECTION("pythia-1b: q, k and v of a head side by side") {
    DecoderConfig c = model("gpt-neox-pythia-1b");
    CHECK(c.block == BlockStructure::ParallelTwoNorms);
    CHECK(c.rope.rotaryDim == 64); // a quarter of 256
    CHECK(c.qkvBias);
    StoredWeight k = c.find(Weight::K, 3);
    CHECK(k.tensor == "gpt_neox.layers.3.attention.query_key_value.weight");
    CHECK(k.storedRows == 6144);
    CHECK(k.rowBegin == 256);
    CHECK(k.rowEnd == 512);
    CHECK(k.period == 768);
    CHECK(k.rows() == 2048);
    CHECK(c.find(Weight::VBias, 3).rowBegin == 512);
  }
  SECTION("falcon-40b: 16 query heads, a key and a value, 8 times") {
    DecoderConfig c = model("falcon-40b");
    CHECK(c.block == BlockStructure::ParallelTwoNorms);
    CHECK(c.heads == 128);
    CHECK(c.kvHeads == 8);
    CHECK(c.intermediate == 4 * 8192);
    CHECK(c.maxPositions == 2048);
    CHECK(c.tieWordEmbeddings);
    CHECK_FALSE(c.qkvBias);
    StoredWeight q = c.find(Weight::Q, 0), v = c.find(Weight::V, 0);
    CHECK(q.period == 18 * 64);
    CHECK(q.rowEnd == 16 * 64);
    CHECK(q.rows() == 8192);
    CHECK(v.rowBegin == 17 * 64);
    CHECK(v.rows() == 512);
    CHECK(c.find(Weight::InputNorm, 0).tensor ==
          "transformer.h.0.ln_attn.weight");
    REQUIRE(c.assumptions.size() == 1);
  }
  SECTION("gpt-j-6b: other keys, a rotary width of its own") {
    DecoderConfig c = model("gpt-j-6b");
    CHECK(c.block == BlockStructure::ParallelOneNorm);
    CHECK(c.rope.style == RopeStyle::Interleaved);
    CHECK(c.rope.rotaryDim == 64);
    CHECK(c.headDim == 256);
    CHECK(c.intermediate == 4 * 4096); // n_inner is null
    CHECK(c.has(Weight::LmHeadBias));
    CHECK_FALSE(c.has(Weight::OBias));
    CHECK(c.has(Weight::DownBias, 0));
  }
  SECTION("stablelm-2: a pre-norm block with layer norms") {
    DecoderConfig c = model("stablelm-2-1.6b");
    CHECK(c.block == BlockStructure::PreNorm);
    CHECK(c.norm.kind == NormKind::Layer);
    CHECK(c.qkvBias);
    CHECK_FALSE(c.oBias);
    CHECK(c.gatedMlp);
    CHECK(c.rope.rotaryDim == 16);
    CHECK(c.has(Weight::MlpNormBias, 0));
  }
  SECTION("command-r and granite") {
    CHECK(model("command-r-35b").qkNorm == QKNorm::None);
    CHECK(model("command-r-35b").logitsScale == 0.0625);
    CHECK(model("granite-3.3-2b").residualScale == 0.22);
  }
}

TEST_CASE("quantised weights are planned as what the model computes with") {
  DecoderConfig c =
      ConfigSource("llama")
          .set("dtype", "bfloat16")
          .setRaw("quantization_config",
                  R"({"quant_method": "fp8", "weight_block_size": [128, 128]})")
          .config();
  CHECK(c.dtype == ElementType::BFloat16);
  REQUIRE(c.assumptions.size() == 1);
  CHECK_THAT(c.assumptions.front(),
             Catch::Contains("fp8") && Catch::Contains("128 x 128") &&
                 Catch::Contains("'layline run' does not read them"));
  c = ConfigSource("llama")
          .erase("dtype")
          .setRaw("quantization_config", R"({"quant_method": "mxfp4"})")
          .config();
  CHECK(c.dtype == ElementType::BFloat16);
  CHECK(c.assumptions.size() == 2);
}

TEST_CASE("published experts and long contexts") {
  DecoderConfig qwen = model("qwen3-235b-a22b");
  CHECK(qwen.moe.experts == 128);
  CHECK(qwen.moe.topK == 8);
  CHECK(qwen.moe.intermediate == 1536);
  CHECK(qwen.moe.renormalize);

  DecoderConfig mixtral = model("mixtral-8x7b");
  CHECK(mixtral.moe.experts == 8);
  CHECK(mixtral.moe.topK == 2);
  CHECK(mixtral.moe.intermediate == 14336);

  DecoderConfig phi = model("phi-4-mini");
  CHECK(phi.tieWordEmbeddings);
  CHECK(phi.rope.rotaryDim == 96);
  CHECK(phi.rope.scaling.kind == RopeScalingKind::LongRope);
  CHECK(phi.rope.scaling.originalMaxPositions == 4096);
  CHECK(phi.rope.scaling.factor == 32);
  CHECK(phi.perLayer.back().slidingWindow == 262144); // beyond maxPositions

  CHECK(model("llama-3.1-8b").rope.scaling.kind == RopeScalingKind::Llama3);
}

TEST_CASE("keys that may be absent") {
  SECTION("as many KV heads as heads, null or absent") {
    CHECK(ConfigSource("llama").erase("num_key_value_heads").config().kvHeads ==
          8);
    CHECK(ConfigSource("qwen2")
              .set("num_key_value_heads", nullptr)
              .config()
              .kvHeads == 8);
  }
  SECTION("head_dim null") {
    CHECK(ConfigSource("llama").set("head_dim", nullptr).config().headDim == 8);
  }
  SECTION("not tied") {
    CHECK_FALSE(ConfigSource("qwen3")
                    .erase("tie_word_embeddings")
                    .config()
                    .tieWordEmbeddings);
  }
  SECTION("silu") {
    CHECK(ConfigSource("llama").erase("hidden_act").config().activation ==
          Activation::SiLU);
  }
  SECTION("the plain rope_theta of the family") {
    CHECK(
        ConfigSource("mistral").erase("rope_parameters").config().rope.theta ==
        1e4);
    CHECK(
        ConfigSource("mixtral").erase("rope_parameters").config().rope.theta ==
        1e6);
  }
  SECTION("float32, with a remark") {
    DecoderConfig c = ConfigSource("llama").erase("dtype").config();
    CHECK(c.dtype == ElementType::Float32);
    REQUIRE(c.assumptions.size() == 1);
    CHECK_THAT(c.assumptions.front(), Catch::Contains("float32"));
  }
  SECTION("norm_topk_prob is false") {
    CHECK_FALSE(ConfigSource("qwen3_moe")
                    .erase("norm_topk_prob")
                    .config()
                    .moe.renormalize);
  }
}

TEST_CASE("activations and element types") {
  CHECK(ConfigSource("llama").set("hidden_act", "gelu").config().activation ==
        Activation::GELU);
  CHECK(ConfigSource("llama")
            .set("hidden_act", "gelu_pytorch_tanh")
            .config()
            .activation == Activation::GELUTanh);
  CHECK(ConfigSource("llama").set("hidden_act", "relu").config().activation ==
        Activation::ReLU);
  CHECK(ConfigSource("llama").set("dtype", "float16").config().dtype ==
        ElementType::Float16);
  CHECK(elementTypeName(ElementType::BFloat16) == "bf16");
}

TEST_CASE("known model types are sorted") {
  CHECK(knownModelTypes() ==
        std::vector<std::string>{
            "RefinedWeb",   "cohere",      "deepseek_v2", "deepseek_v3",
            "deepseek_v32", "falcon",      "gemma2",      "gemma3_text",
            "glm4_moe",     "glm_moe_dsa", "gpt_neox",    "gpt_oss",
            "gptj",         "granite",     "kimi_k2",     "llama",
            "minimax_m2",   "mistral",     "mixtral",     "olmo2",
            "phi",          "phi3",        "qwen2",       "qwen3",
            "qwen3_moe",    "stablelm"});
}
