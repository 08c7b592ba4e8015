//===- ActivationsTest.cpp - rows that products read in 8 bits ------------===//

#include "layline/Import/Activations.h"
#include "ConfigSource.h"
#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::test;
using Catch::Contains;
namespace json = llvm::json;

static std::string quantize(const ConfigSource &source, llvm::StringRef how,
                            std::optional<QuantizedRows> *rows = nullptr) {
  DecoderConfig config = source.config();
  std::string error = llvm::toString(quantizeActivations(config, how));
  CHECK(config.quantizedRows.has_value() == (error.empty() && how != "model"));
  if (rows)
    *rows = config.quantizedRows;
  return error;
}

/// hidden_size 64. `key` is kept by reference: a literal.
static ConfigSource quantized(llvm::StringRef key = "",
                              json::Value value = nullptr) {
  ConfigSource source("qwen3_moe");
  source.set("quantization_config",
             json::Object{{"quant_method", "fp8"},
                          {"fmt", "e4m3"},
                          {"activation_scheme", "dynamic"},
                          {"weight_block_size", json::Array{32, 16}}});
  if (!key.empty())
    source.set(key, std::move(value));
  return source;
}

TEST_CASE("activations that are asked for") {
  std::optional<QuantizedRows> rows;
  CHECK(quantize(ConfigSource("llama"), "model", &rows).empty());
  CHECK_FALSE(rows);
  for (const char *how : {"fp8", "fp8:token"}) {
    CHECK(quantize(ConfigSource("llama"), how, &rows).empty());
    CHECK(rows->groupSize == 0);
  }
  CHECK(quantize(ConfigSource("llama"), "fp8:group16", &rows).empty());
  CHECK(rows->groupSize == 16);
  CHECK_THAT(quantize(ConfigSource("llama"), "fp8:group48"),
             Contains("found groups of 48 features, expected a divisor of "
                      "hidden_size, 64"));
  // The latent of queries, 32, is quantised too.
  CHECK_THAT(quantize(ConfigSource("deepseek_v3"), "fp8:group64"),
             Contains("expected a divisor of q_lora_rank, 32"));
  for (const char *how : {"", "fp4", "fp8:", "fp8:group", "fp8:group0",
                          "fp8:group-1", "fp8:group1.5", "fp8:tokens"})
    CHECK_THAT(quantize(ConfigSource("llama"), how),
               Contains("found '" + std::string(how) + "', expected model"));
  CHECK_THAT(quantize(ConfigSource("llama"), "fp8:static"),
             Contains("a static scale is a tensor of a checkpoint"));
}

TEST_CASE("activations as a checkpoint says") {
  std::optional<QuantizedRows> rows;
  CHECK(quantize(quantized(), "checkpoint", &rows).empty());
  CHECK(rows->groupSize == 16);
  CHECK(quantize(quantized("quantization_config.weight_block_size", nullptr),
                 "checkpoint", &rows)
            .empty());
  CHECK(rows->groupSize == 0);
  // Without being asked nothing is quantised.
  CHECK(quantize(quantized(), "model").empty());
  CHECK_THAT(quantize(ConfigSource("llama"), "checkpoint"),
             Contains("found no quantization_config"));
  CHECK_THAT(quantize(quantized("quantization_config.quant_method", "mxfp4"),
                      "checkpoint"),
             Contains("quant_method: found mxfp4"));
  CHECK_THAT(
      quantize(quantized("quantization_config.activation_scheme", "static"),
               "checkpoint"),
      Contains("activation_scheme: found static, expected dynamic"));
  CHECK_THAT(
      quantize(quantized("quantization_config.activation_scheme", nullptr),
               "checkpoint"),
      Contains("activation_scheme: found nothing"));
  CHECK_THAT(
      quantize(quantized("quantization_config.fmt", "e5m2"), "checkpoint"),
      Contains("fmt: found e5m2, expected e4m3"));
  CHECK_THAT(quantize(quantized("quantization_config.weight_block_size",
                                json::Array{32}),
                      "checkpoint"),
             Contains("weight_block_size: found an array of 1"));
  CHECK(quantize(quantized("quantization_config.modules_to_not_convert",
                           json::Array{"gate", "lm_head",
                                       "model.layers.0.input_layernorm",
                                       "model.layers.0.mlp.gate.weight",
                                       "model.embed_tokens"}),
                 "checkpoint")
            .empty());
  CHECK_THAT(quantize(quantized("quantization_config.modules_to_not_convert",
                                json::Array{"lm_head", "self_attn.q_proj"}),
                      "checkpoint"),
             Contains("found 'self_attn.q_proj', expected routers, norms"));
  std::string published =
      "/minimax-m2.5.json"; // hidden_size 3072, blocks of 128
  llvm::Expected<DecoderConfig> config =
      readHFConfig(LAYLINE_SOURCE_DIR "/data/models" + published);
  REQUIRE(static_cast<bool>(config));
  CHECK(llvm::toString(quantizeActivations(*config, "checkpoint")).empty());
  CHECK(config->quantizedRows->groupSize == 128);
}
