//===- LayersTest.cpp - windows and experts by layer ----------------------===//

#include "ConfigSource.h"
#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::test;
using Catch::Contains;
namespace json = llvm::json;
using Windows = std::vector<int64_t>;

namespace {

Windows windows(const ConfigSource &source) {
  Windows result;
  for (const LayerConfig &layer : source.config().perLayer)
    result.push_back(layer.slidingWindow);
  return result;
}

std::string mlps(const ConfigSource &source) {
  std::string result;
  for (const LayerConfig &layer : source.config().perLayer)
    result += layer.mlp == MlpKind::MoE ? 'E' : 'd';
  return result;
}

/// qwen2 or qwen3 with four layers and an enabled window.
ConfigSource sliding(const char *family) {
  return ConfigSource(family)
      .set("num_hidden_layers", 4)
      .set("use_sliding_window", true)
      .set("sliding_window", 7)
      .erase("layer_types");
}

} // namespace

TEST_CASE("a window of every layer") {
  const char *family = GENERATE("mistral", "mixtral", "phi3");
  CAPTURE(family);
  CHECK(windows(ConfigSource(family).set("sliding_window", 5)) ==
        Windows{5, 5});
  CHECK(windows(ConfigSource(family).set("sliding_window", 100000)) ==
        Windows{100000, 100000});
  CHECK(windows(ConfigSource(family).set("sliding_window", nullptr)) ==
        Windows{0, 0});
}

TEST_CASE("mistral must say whether it has a window") {
  // HF would take 4096, the window of one published model.
  CHECK_THAT(ConfigSource("mistral").erase("sliding_window").error(),
             Contains("malformed") && Contains("'sliding_window': missing"));
  CHECK(windows(ConfigSource("mixtral").erase("sliding_window")) ==
        Windows{0, 0});
}

TEST_CASE("qwen2 and qwen3 slide only when enabled") {
  const char *family = GENERATE("qwen2", "qwen3");
  CAPTURE(family);
  SECTION("disabled") {
    CHECK(windows(ConfigSource(family).set("sliding_window", 7)) ==
          Windows{0, 0});
    CHECK(windows(ConfigSource(family).erase("use_sliding_window")) ==
          Windows{0, 0});
  }
  SECTION("from layer max_window_layers on") {
    CHECK(windows(sliding(family).set("max_window_layers", 3)) ==
          Windows{0, 0, 0, 7});
    CHECK(windows(sliding(family).set("max_window_layers", 0)) ==
          Windows{7, 7, 7, 7});
    CHECK(windows(sliding(family).set("max_window_layers", 28)) ==
          Windows{0, 0, 0, 0});
  }
  SECTION("layer_types decides, max_window_layers does not") {
    CHECK(
        windows(sliding(family)
                    .set("max_window_layers", 0)
                    .set("layer_types",
                         json::Array{"sliding_attention", "full_attention",
                                     "sliding_attention", "full_attention"})) ==
        Windows{7, 0, 7, 0});
  }
  SECTION("enabled without a window") {
    CHECK(windows(sliding(family).set("sliding_window", nullptr)) ==
          Windows{0, 0, 0, 0});
    CHECK_THAT(sliding(family).erase("sliding_window").error(),
               Contains("'sliding_window': missing"));
    CHECK_THAT(sliding(family).erase("max_window_layers").error(),
               Contains("'max_window_layers': missing"));
  }
}

TEST_CASE("layer_types that cannot be") {
  SECTION("as many as layers") {
    CHECK(ConfigSource("qwen3")
              .set("layer_types", json::Array{"full_attention"})
              .error() ==
          "malformed: config.json: key 'layer_types': found an array of 1, "
          "expected as many entries as num_hidden_layers, 2");
  }
  SECTION("of an unknown kind") {
    CHECK(ConfigSource("qwen3")
              .set("layer_types",
                   json::Array{"full_attention", "linear_attention"})
              .error() ==
          "refused: config.json: key 'layer_types[1]': found "
          "'linear_attention', expected full_attention or sliding_attention");
  }
  SECTION("sliding without a window") {
    CHECK_THAT(ConfigSource("qwen3")
                   .set("layer_types",
                        json::Array{"full_attention", "sliding_attention"})
                   .error(),
               Contains("malformed") && Contains("use_sliding_window"));
  }
  SECTION("in a family that does not read it") {
    json::Array mixed{"full_attention", "sliding_attention"};
    CHECK_THAT(
        ConfigSource("llama").set("layer_types", json::Array(mixed)).error(),
        Contains("refused") && Contains("'layer_types'"));
    CHECK_THAT(ConfigSource("mistral")
                   .set("sliding_window", 5)
                   .set("layer_types", json::Array(mixed))
                   .error(),
               Contains("refused") && Contains("'layer_types'"));
    CHECK(
        ConfigSource("llama")
            .set("layer_types", json::Array{"full_attention", "full_attention"})
            .error() == "");
  }
}

TEST_CASE(
    "qwen3_moe windows, which releases of transformers read differently") {
  ConfigSource source("qwen3_moe");
  source.set("use_sliding_window", true).set("sliding_window", 7);
  CHECK(windows(source) == Windows{7, 7});
  CHECK(windows(source.set("max_window_layers", 0)) == Windows{7, 7});
  CHECK_THAT(source.set("max_window_layers", 1).error(),
             Contains("refused") && Contains("'max_window_layers'"));
}

TEST_CASE("which layers of qwen3_moe are mixtures") {
  ConfigSource source("qwen3_moe");
  source.set("num_hidden_layers", 6).set("mlp_only_layers", json::Array{});
  CHECK(mlps(source) == "EEEEEE");
  CHECK(mlps(source.set("decoder_sparse_step", 2)) == "dEdEdE");
  CHECK(mlps(source.set("decoder_sparse_step", 4)) == "dddEdd");
  CHECK(mlps(source.set("decoder_sparse_step", 2)
                 .set("mlp_only_layers", json::Array{3, 4})) == "dEdddE");
  CHECK(mlps(source.erase("decoder_sparse_step")
                 .set("mlp_only_layers", nullptr)) == "EEEEEE");

  SECTION("none at all") {
    source.set("decoder_sparse_step", 7);
    CHECK(mlps(source) == "dddddd");
    CHECK_FALSE(source.config().hasMoE());
    CHECK_FALSE(ConfigSource("qwen3_moe")
                    .set("num_local_experts", 0)
                    .config()
                    .hasMoE());
  }
  SECTION("a layer there is not") {
    CHECK(source.set("mlp_only_layers", json::Array{0, 6}).error() ==
          "malformed: config.json: key 'mlp_only_layers[1]': found number 6, "
          "expected an integer between 0 and 5");
    CHECK_THAT(source.setRaw("mlp_only_layers", "[1.0]").error(),
               Contains("'mlp_only_layers[0]': found number 1.0"));
  }
}
