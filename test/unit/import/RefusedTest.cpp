//===- RefusedTest.cpp - models this compiler does not support ------------===//

#include "ConfigSource.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::test;
using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
namespace json = llvm::json;

TEST_CASE("every other published config is refused by its model_type") {
  std::vector<std::string> known = knownModelTypes();
  std::string list = "expected one of " + llvm::join(known, ", ");
  int refused = 0, named = 0;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator
           at(LAYLINE_SOURCE_DIR "/data/models", error),
       end;
       at != end && !error; at.increment(error)) {
    std::string path = at->path();
    if (llvm::sys::path::filename(path).starts_with("_"))
      continue;
    // One of them holds Infinity, which is Python's JSON only.
    std::string text = readFile(path);
    size_t key = text.find("\"model_type\": \"");
    REQUIRE(key != std::string::npos);
    llvm::Expected<DecoderConfig> result = readHFConfig(path);
    CAPTURE(path);
    if (result)
      continue;
    std::string message = errorOf(std::move(result));
    CHECK_THAT(message, StartsWith("refused: " + path +
                                   ": key 'model_type': found "
                                   "string \"") &&
                            EndsWith(list));
    ++refused;
    named += llvm::StringRef(message).contains("\": not supported: ");
  }
  CHECK_FALSE(error);
  CHECK(refused == 13);
  // Of these it is known what they have that is not supported.
  CHECK(named == 13);
}

TEST_CASE("no model_type") {
  std::string list = llvm::join(knownModelTypes(), ", ");
  CHECK(ConfigSource("llama").erase("model_type").error() ==
        "refused: config.json: key 'model_type': missing, expected one of " +
            list);
  CHECK_THAT(ConfigSource("llama").set("model_type", nullptr).error(),
             StartsWith("refused"));
  CHECK_THAT(ConfigSource("llama").set("model_type", "Llama").error(),
             StartsWith("refused") && Contains("string \"Llama\""));
  CHECK_THAT(ConfigSource("llama").set("model_type", 3).error(),
             StartsWith("malformed") && Contains("found number 3"));
  CHECK_THAT(errorOf(parseHFConfig("{}", "x/config.json")),
             StartsWith("refused: x/config.json: key 'model_type': missing"));
}

TEST_CASE("keys that would change the model") {
  struct Case {
    const char *family, *key, *value, *message;
  };
  auto row = GENERATE(values<Case>({
      {"llama", "quantization_config", R"({"quant_method": "awq"})",
       "key 'quantization_config': found quantized weights (quant_method "
       "string \"awq\"), expected quant_method fp8 or mxfp4, or"},
      {"llama", "compression_config", R"({"quant_method": "fp8"})",
       "key 'compression_config': found quantized weights (quant_method"},
      {"llama", "quantization_config", "{}", "found quantized weights,"},
      {"llama", "architectures", R"(["LlamaForSequenceClassification"])",
       "found LlamaForSequenceClassification, expected LlamaForCausalLM"},
      {"qwen3", "architectures", R"(["Qwen3ForCausalLM", "Other"])",
       "found Qwen3ForCausalLM, Other"},
      {"llama", "hidden_act", R"("swigluoai")",
       "key 'hidden_act': found string \"swigluoai\", expected gelu, "
       "gelu_new, gelu_pytorch_tanh, relu or silu"},
      {"llama", "dtype", R"("float64")",
       "key 'dtype': found string \"float64\", expected bfloat16, float16 or "
       "float32"},
      {"llama", "clip_qkv", "8", "found number 8: clipped q, k and v"},
      {"llama", "text_config", "{}", "nested in a multimodal one"},
      {"llama", "logit_scale", "0.0625", "scaled logits"},
      {"llama", "attn_logit_softcapping", "50.0", "found number 50.0: soft"},
      {"llama", "residual_multiplier", "0.22", "a scaled residual"},
      {"llama", "sliding_window", "4096", "llama has no window"},
      {"llama", "num_local_experts", "8", "llama has no experts"},
      {"llama", "lm_head_bias", "true", "a bias of lm_head"},
      {"llama", "use_qk_norm", "true", "'use_qk_norm'"},
      {"gemma2", "hidden_activation", R"("swish7")",
       "key 'hidden_activation': found string \"swish7\", expected gelu"},
      {"gemma2", "use_bidirectional_attention", "true",
       "attention to later tokens"},
      {"cohere", "attn_logit_softcapping", "50.0", "soft-capped attention"},
      {"cohere", "mlp_bias", "true", "key 'mlp_bias': found boolean true"},
      {"phi", "qk_layernorm", "true", "a q/k norm that the family does not"},
      {"granite", "logit_scale", "0.5", "scaled logits"},
      {"mistral", "attention_bias", "true",
       "key 'attention_bias': found boolean true, expected false or nothing"},
      {"phi3", "mlp_bias", "true", "key 'mlp_bias': found boolean true"},
      {"qwen2", "attention_bias", "true", "key 'attention_bias'"},
      {"qwen3_moe", "shared_expert_intermediate_size", "32", "a shared expert"},
      {"llama", "rope_parameters.rope_type", R"("dynamic")",
       "key 'rope_parameters.rope_type': found string \"dynamic\", expected "
       "one of the kinds supported for llama: default, linear, llama3, "
       "longrope, yarn"},
      {"phi3", "rope_parameters.rope_type", R"("llama3")",
       "supported for phi3: default, longrope"},
      {"qwen2", "rope_parameters.mrope_section", "[16, 24, 24]",
       "key 'rope_parameters.mrope_section': found a RoPE parameter that is "
       "not supported"},
  }));
  CAPTURE(row.family, row.key, row.value);
  CHECK_THAT(ConfigSource(row.family).setRaw(row.key, row.value).error(),
             StartsWith("refused: config.json: ") && Contains(row.message));
}

TEST_CASE("the same keys where they change nothing") {
  CHECK(ConfigSource("llama")
            .set("quantization_config", nullptr)
            .set("clip_qkv", nullptr)
            .set("use_qk_norm", false)
            .set("lm_head_bias", false)
            .set("logit_scale", 1.0)
            .set("n_shared_experts", 0)
            .set("sliding_window", nullptr)
            .set("num_local_experts", 0)
            .set("pretraining_tp", 2) // HF cuts a product in two, no more
            .set("architectures", nullptr)
            .error() == "");
  CHECK(ConfigSource("mistral").set("attention_bias", false).error() == "");
  CHECK(ConfigSource("llama")
            .set("sliding_window", 4096)
            .set("use_sliding_window", false)
            .error() == "");
  DecoderConfig qwen =
      ConfigSource("qwen2").set("attention_bias", false).config();
  CHECK(qwen.qkvBias);
  REQUIRE(qwen.assumptions.size() == 1);
  CHECK_THAT(qwen.assumptions.front(), Contains("attention_bias"));
}
