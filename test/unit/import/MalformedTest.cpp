//===- MalformedTest.cpp - values that cannot be --------------------------===//

#include "ConfigSource.h"
#include "layline/Import/RopeTable.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace layline;
using namespace layline::test;
using Catch::Contains;
using Catch::StartsWith;

TEST_CASE("each message names the file, the key, the found and the expected") {
  struct Case {
    const char *family, *key, *value, *message;
  };
  auto row = GENERATE(values<Case>({
      // Types.
      {"llama", "num_attention_heads", R"("32")",
       "key 'num_attention_heads': found string \"32\", expected a positive "
       "integer below 2^31"},
      {"llama", "hidden_size", "4096.0",
       "key 'hidden_size': found number 4096.0, expected a positive integer"},
      {"llama", "hidden_size", "1e3", "found number 1e3, expected a positive"},
      {"llama", "hidden_size", "true", "found boolean true, expected a"},
      {"llama", "hidden_size", "null", "found null, expected a positive"},
      {"llama", "hidden_size", "[64]", "found an array of 1, expected a"},
      {"llama", "hidden_size", "{}", "found an object, expected a positive"},
      {"llama", "rms_norm_eps", R"("1e-5")",
       "key 'rms_norm_eps': found string \"1e-5\", expected a positive number, "
       "at most 1"},
      {"llama", "tie_word_embeddings", "0",
       "key 'tie_word_embeddings': found number 0, expected true or false"},
      {"llama", "attention_bias", R"("false")",
       "found string \"false\", expected true or false"},
      {"llama", "hidden_act", "1", "found number 1, expected a string"},
      {"llama", "dtype", "32", "found number 32, expected a string"},
      {"llama", "architectures", R"("LlamaForCausalLM")",
       "expected an array of strings"},
      {"llama", "architectures", "[1]",
       "key 'architectures[0]': found number 1, expected a string"},
      {"qwen3", "layer_types", "2", "found number 2, expected an array"},
      {"llama", "rope_parameters", "[]",
       "key 'rope_parameters': found an array of 0, expected an object or "
       "null"},
      {"llama", "rope_parameters.rope_type", "3", "expected a string"},
      // Ranges.
      {"llama", "hidden_size", "0", "found number 0, expected a positive"},
      {"llama", "num_attention_heads", "-1",
       "found number -1, expected a positive integer"},
      {"llama", "vocab_size", "2147483648",
       "key 'vocab_size': found number 2147483648, expected a positive integer "
       "below 2^31"},
      {"llama", "hidden_size", "99999999999999999999999", "key 'hidden_size'"},
      {"llama", "num_hidden_layers", "10001",
       "expected an integer between 1 and 10000"},
      {"llama", "num_hidden_layers", "-9223372036854775808",
       "key 'num_hidden_layers'"},
      {"llama", "rms_norm_eps", "0", "expected a positive number, at most 1"},
      {"llama", "rms_norm_eps", "-1e-5", "found number -1e-5, expected"},
      {"llama", "rms_norm_eps", "1e400", "found number 1e400, expected"},
      {"llama", "rms_norm_eps", "NaN",
       "key 'rms_norm_eps': found number NaN, expected a positive number"},
      {"llama", "rope_parameters.rope_theta", "Infinity",
       "key 'rope_parameters.rope_theta': found number Infinity, expected a "
       "number above 1"},
      {"llama", "rope_parameters.rope_theta", "1", "expected a number above 1"},
      {"llama", "rope_parameters.rope_theta", "-10000.0", "a number above 1"},
      {"mistral", "sliding_window", "0", "'sliding_window': found number 0"},
      {"mistral", "sliding_window", "-1", "'sliding_window': found number -1"},
      {"mistral", "sliding_window", "4096.5", "found number 4096.5"},
      // Relations.
      {"llama", "num_key_value_heads", "3",
       "key 'num_key_value_heads': found number 3, expected a divisor of "
       "num_attention_heads, 8"},
      {"llama", "num_key_value_heads", "16", "expected a divisor of"},
      {"qwen2", "hidden_size", "65",
       "key 'hidden_size': found number 65, expected a multiple of "
       "num_attention_heads, 8, as there is no head_dim"},
      {"llama", "head_dim", "15", "a rotary width of 15 in heads of 15"},
      {"llama", "head_dim", "1073741824",
       "found 8 heads of 1073741824, expected heads of at most 65536"},
      {"qwen2", "hidden_size", "800000", "found 8 heads of 100000"},
      {"llama", "num_attention_heads", "2147483646", "a product below 2^31"},
      {"phi3", "rope_parameters.partial_rotary_factor", "0.7",
       "key 'partial_rotary_factor': found a rotary width of 5 in heads of 8, "
       "expected an even width of at least 2"},
      {"phi3", "rope_parameters.partial_rotary_factor", "1.5",
       "expected a positive number, at most 1"},
      {"phi3", "rope_parameters.partial_rotary_factor", "0.1",
       "a rotary width of 0"},
      {"qwen3_moe", "num_experts_per_tok", "9",
       "key 'num_experts_per_tok': found number 9, expected an integer between "
       "1 and 8"},
      {"qwen3_moe", "moe_intermediate_size", "0", "'moe_intermediate_size'"},
      {"qwen3_moe", "decoder_sparse_step", "0", "'decoder_sparse_step'"},
      {"mixtral", "num_local_experts", "0",
       "expected an integer between 1 and 65536"},
      // Scaled RoPE.
      {"llama", "rope_parameters.factor", "0.5",
       "expected a number of at least 1"},
      {"llama", "rope_parameters.high_freq_factor", "1.0",
       "found number 1.0, expected more than low_freq_factor"},
      {"llama", "rope_parameters.original_max_position_embeddings", "64.0",
       "found number 64.0, expected an integer between 2 and"},
      {"llama", "rope_parameters.rope_type", "null",
       "key 'rope_parameters.rope_type': missing beside 'factor'"},
  }));
  CAPTURE(row.family, row.key, row.value);
  CHECK_THAT(ConfigSource(row.family).setRaw(row.key, row.value).error(),
             StartsWith("malformed: config.json: key '") &&
                 Contains(row.message));
}

TEST_CASE("required keys") {
  struct Case {
    const char *family, *key;
  };
  auto row =
      GENERATE(values<Case>({{"llama", "hidden_size"},
                             {"llama", "num_hidden_layers"},
                             {"llama", "num_attention_heads"},
                             {"llama", "intermediate_size"},
                             {"llama", "vocab_size"},
                             {"llama", "max_position_embeddings"},
                             {"llama", "rms_norm_eps"},
                             {"llama", "rope_parameters.factor"},
                             {"llama", "rope_parameters.low_freq_factor"},
                             // HF: 8, 32, 128, of published models.
                             {"mistral", "num_key_value_heads"},
                             {"qwen2", "num_key_value_heads"},
                             {"qwen3", "head_dim"},
                             {"mixtral", "num_local_experts"},
                             {"mixtral", "num_experts_per_tok"},
                             {"qwen3_moe", "moe_intermediate_size"},
                             {"qwen3_moe", "num_experts_per_tok"}}));
  CAPTURE(row.family, row.key);
  CHECK_THAT(ConfigSource(row.family).erase(row.key).error(),
             StartsWith("malformed: config.json: key '") &&
                 Contains(std::string("'") + row.key + "'") &&
                 Contains("missing, expected a"));
}

TEST_CASE("other spellings of a missing key are named") {
  CHECK_THAT(ConfigSource("mixtral").erase("num_local_experts").error(),
             Contains("key 'num_local_experts' (or 'num_experts', "
                      "'n_routed_experts'): missing"));
}

TEST_CASE("sizes that together are no model") {
  ConfigSource source("llama");
  source.set("hidden_size", int64_t(1) << 30)
      .set("intermediate_size", int64_t(1) << 30)
      .set("num_hidden_layers", 10000);
  CHECK_THAT(source.error(),
             StartsWith("malformed") && Contains("more than 2^60 weights"));

  CHECK_THAT(ConfigSource("qwen3_moe")
                 .set("num_hidden_layers", 10000)
                 .set("num_local_experts", 65536)
                 .error(),
             Contains("found 65536 experts in each of 9999 layers"));
}

TEST_CASE("any value of any key makes an error or a config that works") {
  const char *family = GENERATE("llama", "mistral", "mixtral", "olmo2", "phi3",
                                "qwen2", "qwen3", "qwen3_moe");
  for (const std::string &path : ConfigSource(family).paths())
    for (const char *value : {"null",
                              "true",
                              "false",
                              "0",
                              "-1",
                              "1",
                              "2",
                              "3",
                              "7",
                              "0.1",
                              "1e308",
                              "1e-308",
                              "2147483647",
                              "9223372036854775807",
                              "18446744073709551616",
                              "NaN",
                              "-Infinity",
                              "\"\"",
                              "\"x\"",
                              "\"yarn\"",
                              "\"longrope\"",
                              "[]",
                              "[0]",
                              "[null, \"full_attention\"]",
                              "{}",
                              "{\"factor\": 1}"}) {
      INFO(family << ": " << path << " = " << value);
      ConfigSource source(family);
      source.setRaw(path, value);
      llvm::Expected<DecoderConfig> config =
          parseHFConfig(source.text(), "config.json");
      if (!config) {
        CHECK_THAT(errorOf(std::move(config)), Contains("config.json: key '"));
        continue;
      }
      for (double frequency : computeRopeTable(config->rope).base.invFreq)
        CHECK(std::isfinite(frequency));
      for (const WeightInstance &weight : config->weights()) {
        StoredWeight stored =
            config->find(weight.weight, weight.layer, weight.expert);
        bool inside = 0 <= stored.rowBegin && stored.rowBegin < stored.rowEnd &&
                      stored.rowEnd <= stored.storedRows;
        CHECK(inside);
      }
    }
}

TEST_CASE("foreign text in a message is cut and escaped") {
  std::string error =
      ConfigSource("llama").set("hidden_size", std::string(1000, 'x')).error();
  CHECK(error.size() < 200);
  CHECK_THAT(ConfigSource("llama").set("hidden_size", "\x1b[31m").error(),
             Contains("\\u001b"));
}
