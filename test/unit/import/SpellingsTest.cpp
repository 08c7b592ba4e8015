//===- SpellingsTest.cpp - old and new keys for one value -----------------===//

#include "ConfigSource.h"
#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::test;
using Catch::Contains;
namespace json = llvm::json;

namespace {

/// The golden llama config as transformers 4 wrote it.
ConfigSource oldLlama() {
  return ConfigSource("llama")
      .erase("rope_parameters")
      .erase("dtype")
      .set("torch_dtype", "float32")
      .set("rope_theta", 10000.0)
      .set("rope_scaling",
           json::Object{{"rope_type", "llama3"},
                        {"factor", 8.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", 64}});
}

void checkSame(const DecoderConfig &a, const DecoderConfig &b) {
  CHECK(a.dtype == b.dtype);
  CHECK(a.rope.theta == b.rope.theta);
  CHECK(a.rope.rotaryDim == b.rope.rotaryDim);
  CHECK(a.rope.scaling.kind == b.rope.scaling.kind);
  CHECK(a.rope.scaling.factor == b.rope.scaling.factor);
  CHECK(a.rope.scaling.lowFreqFactor == b.rope.scaling.lowFreqFactor);
  CHECK(a.rope.scaling.highFreqFactor == b.rope.scaling.highFreqFactor);
  CHECK(a.rope.scaling.originalMaxPositions ==
        b.rope.scaling.originalMaxPositions);
}

} // namespace

TEST_CASE("old and new spellings say the same") {
  DecoderConfig now = ConfigSource("llama").config();
  checkSame(oldLlama().config(), now);
  SECTION("rope_scaling with 'type' for 'rope_type'") {
    checkSame(oldLlama()
                  .erase("rope_scaling.rope_type")
                  .set("rope_scaling.type", "llama3")
                  .config(),
              now);
  }
  SECTION("both generations at once") {
    checkSame(oldLlama()
                  .set("dtype", "float32")
                  .set("rope_parameters", json::Object{{"rope_type", "llama3"},
                                                       {"rope_theta", 10000},
                                                       {"factor", 8}})
                  .config(),
              now);
  }
  SECTION("a null block is none") {
    CHECK(ConfigSource("qwen3")
              .erase("rope_parameters")
              .set("rope_theta", 5e5)
              .set("rope_scaling", nullptr)
              .config()
              .rope.theta == 5e5);
  }
  SECTION("an empty block is none") {
    CHECK(ConfigSource("qwen3")
              .erase("rope_parameters")
              .set("rope_scaling", json::Object{})
              .config()
              .rope.scaling.kind == RopeScalingKind::None);
  }
  SECTION("partial_rotary_factor in the block or beside it") {
    CHECK(ConfigSource("phi3")
              .erase("rope_parameters.partial_rotary_factor")
              .set("partial_rotary_factor", 0.75)
              .config()
              .rope.rotaryDim == 6);
  }
  SECTION("expert counts") {
    for (const char *key :
         {"num_experts", "num_local_experts", "n_routed_experts"})
      CHECK(ConfigSource("qwen3_moe")
                .erase("num_local_experts")
                .set(key, 8)
                .config()
                .moe.experts == 8);
    CHECK(
        ConfigSource("qwen3_moe").set("num_experts", 8).config().moe.experts ==
        8);
  }
}

TEST_CASE("contradictions name both keys and both values") {
  SECTION("theta") {
    CHECK(ConfigSource("llama").set("rope_theta", 5e5).error() ==
          "malformed: config.json: key 'rope_parameters.rope_theta': found "
          "number 10000, but key 'rope_theta' says number 500000; expected the "
          "same value");
  }
  SECTION("dtype") {
    CHECK(ConfigSource("llama").set("torch_dtype", "bfloat16").error() ==
          "malformed: config.json: key 'dtype': found string \"float32\", but "
          "key 'torch_dtype' says string \"bfloat16\"; expected the same "
          "value");
  }
  SECTION("a missing key is named as the file would spell it") {
    CHECK_THAT(oldLlama().erase("rope_scaling.factor").error(),
               Contains("key 'rope_scaling.factor': missing"));
  }
  SECTION("kind of scaling") {
    CHECK_THAT(oldLlama().set("rope_scaling.type", "linear").error(),
               Contains("'rope_scaling.rope_type': found string \"llama3\", "
                        "but key 'rope_scaling.type' says string \"linear\""));
  }
  SECTION("factor in the two blocks") {
    CHECK_THAT(ConfigSource("llama").set("rope_scaling.factor", 4).error(),
               Contains("'rope_parameters.factor'") &&
                   Contains("'rope_scaling.factor' says number 4"));
  }
  SECTION("rotary width") {
    CHECK_THAT(ConfigSource("phi3").set("partial_rotary_factor", 0.5).error(),
               Contains("'rope_parameters.partial_rotary_factor'") &&
                   Contains("0.5"));
  }
  SECTION("context of pre-training") {
    CHECK_THAT(ConfigSource("llama")
                   .set("original_max_position_embeddings", 32)
                   .error(),
               Contains("number 64") && Contains("number 32"));
  }
  SECTION("experts") {
    CHECK_THAT(ConfigSource("qwen3_moe").set("num_experts", 16).error(),
               Contains("'num_experts': found number 16, but key "
                        "'num_local_experts' says number 8"));
  }
}
