//===- RopeTest.cpp - rotary frequencies ----------------------------------===//
//
// The expected numbers come from the functions of transformers 5.24.0,
// modeling_rope_utils.py, run on float64 arrays. The tolerance is a few ulps:
// the operations are the same up to their order.
//
//===----------------------------------------------------------------------===//

#include "ConfigSource.h"
#include "layline/Import/RopeTable.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace layline;
using namespace layline::test;
using Catch::Contains;
using Catch::StartsWith;
namespace json = llvm::json;

namespace {

Approx close(double value) { return Approx(value).epsilon(1e-14).margin(0); }

/// 8 heads of 64, 4096 positions, a context of pre-training of 1024.
ConfigSource scaled(const char *type) {
  return ConfigSource("llama")
      .set("head_dim", 64)
      .set("max_position_embeddings", 4096)
      .set("rope_parameters",
           json::Object{{"rope_type", type},
                        {"rope_theta", 10000.0},
                        {"factor", 4.0},
                        {"original_max_position_embeddings", 1024}});
}

ConfigSource longRope() {
  json::Array shorter, longer;
  for (int i = 0; i < 32; ++i) {
    shorter.push_back(1 + i / 32.0);
    longer.push_back(2 + i / 16.0);
  }
  return scaled("longrope")
      .erase("rope_parameters.factor")
      .set("rope_parameters.short_factor", std::move(shorter))
      .set("rope_parameters.long_factor", std::move(longer));
}

RopeTable table(const ConfigSource &source) {
  return computeRopeTable(source.config().rope);
}

} // namespace

TEST_CASE("plain frequencies") {
  RopeTable t = table(ConfigSource("qwen3")); // theta 1e6, width 16
  REQUIRE(t.base.invFreq.size() == 8);
  CHECK(t.base.invFreq[0] == 1);
  CHECK(t.base.invFreq[4] == close(1e-3));
  CHECK(t.base.attentionFactor == 1);
  CHECK_FALSE(t.longContext);
  CHECK(table(ConfigSource("phi3")).base.invFreq.size() == 3);
}

TEST_CASE("linear") {
  RopeTable t = table(scaled("linear"));
  CHECK(t.base.invFreq[0] == 0.25);
  CHECK(t.base.invFreq[7] == close(0.0333380358040831));
  CHECK(t.base.invFreq[31] == close(3.33380358040831e-05));
  CHECK(t.base.attentionFactor == 1);
}

TEST_CASE("llama3") {
  SECTION("the golden config") {
    std::vector<double> expected = {1,
                                    0.24438459943539834,
                                    0.013042256043820465,
                                    0.0039528470752104739,
                                    0.00125,
                                    0.00039528470752104737,
                                    0.000125,
                                    3.9528470752104742e-05};
    std::vector<double> found = table(ConfigSource("llama")).base.invFreq;
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      CHECK(found[i] == close(expected[i]));
  }
  SECTION("Llama 3.1") {
    llvm::Expected<DecoderConfig> config =
        readHFConfig(modelPath("llama-3.1-8b"));
    REQUIRE(bool(config));
    std::vector<double> found = computeRopeTable(config->rope).base.invFreq;
    REQUIRE(found.size() == 64);
    CHECK(found[7] == close(0.2380538204803507));     // kept
    CHECK(found[32] == close(0.0005248461609929547)); // blended
    CHECK(found[63] == close(3.068925988914511e-07)); // divided
  }
}

TEST_CASE("yarn") {
  SECTION("defaults") {
    RopeTable t = table(scaled("yarn"));
    CHECK(t.base.invFreq[0] == 1);
    CHECK(t.base.invFreq[7] == close(0.11796535746060174));
    CHECK(t.base.invFreq[12] == close(0.018852039897157648));
    CHECK(t.base.invFreq[16] == close(0.0036538461538461542));
    CHECK(t.base.invFreq[31] == close(3.33380358040831e-05));
    CHECK(t.base.attentionFactor == close(1.138629436111989));
  }
  SECTION("every option") {
    RopeTable t = table(scaled("yarn")
                            .set("rope_parameters.truncate", false)
                            .set("rope_parameters.mscale", 0.707)
                            .set("rope_parameters.mscale_all_dim", 1.0)
                            .set("rope_parameters.beta_fast", 16)
                            .set("rope_parameters.beta_slow", 2));
    CHECK(t.base.invFreq[7] == close(0.1333521432163324));
    CHECK(t.base.invFreq[12] == close(0.018701802801771347));
    CHECK(t.base.invFreq[16] == close(0.0025));
    CHECK(t.base.attentionFactor == close(0.964326914892074));
  }
  SECTION("one mscale alone does not count") {
    CHECK(table(scaled("yarn").set("rope_parameters.mscale", 0.707))
              .base.attentionFactor == close(1.138629436111989));
  }
  SECTION("a given attention factor, a tiny context") {
    RopeTable t =
        table(scaled("yarn")
                  .set("rope_parameters.factor", 40)
                  .set("rope_parameters.attention_factor", 1.5)
                  .set("rope_parameters.original_max_position_embeddings", 2));
    CHECK(t.base.invFreq[31] == close(0.0001333521432163324)); // all kept
    CHECK(t.base.attentionFactor == 1.5);
  }
  SECTION("half of a head rotates") {
    RopeTable t =
        table(scaled("yarn").set("rope_parameters.partial_rotary_factor", 0.5));
    REQUIRE(t.base.invFreq.size() == 16);
    CHECK(t.base.invFreq[7] == close(0.008256297260895));
    CHECK(t.base.invFreq[12] == close(0.00025));
  }
  SECTION("without a context of pre-training: that of the config, remarked") {
    DecoderConfig c =
        scaled("yarn")
            .erase("rope_parameters.original_max_position_embeddings")
            .config();
    CHECK(c.rope.scaling.originalMaxPositions == 4096);
    REQUIRE(c.assumptions.size() == 1);
    CHECK_THAT(c.assumptions.front(), Contains("4096"));
  }
  SECTION("faults") {
    CHECK_THAT(scaled("yarn").set("rope_parameters.beta_fast", 0.5).error(),
               StartsWith("malformed") && Contains("beta_fast"));
    CHECK_THAT(scaled("yarn").set("rope_parameters.truncate", 1).error(),
               Contains("found number 1, expected true or false"));
  }
}

TEST_CASE("longrope") {
  SECTION("short and long divisors") {
    RopeTable t = table(longRope());
    CHECK(t.base.invFreq[7] == close(0.10941714315186249));
    CHECK(t.base.invFreq[31] == close(6.773442195115297e-05));
    CHECK(t.base.attentionFactor == close(std::sqrt(1.2))); // 1 + ln4/ln1024
    REQUIRE(t.longContext);
    CHECK(t.longContext->above == 1024);
    CHECK(t.longContext->frequencies.invFreq[0] == 0.5);
    CHECK(t.longContext->frequencies.invFreq[7] == close(0.054708571575931245));
    CHECK(t.longContext->frequencies.attentionFactor == t.base.attentionFactor);
  }
  SECTION("phi-4-mini") {
    llvm::Expected<DecoderConfig> config =
        readHFConfig(modelPath("phi-4-mini"));
    REQUIRE(bool(config));
    RopeTable t = computeRopeTable(config->rope);
    REQUIRE(t.base.invFreq.size() == 48);
    CHECK(t.base.attentionFactor == close(1.1902380714238083));
    CHECK(t.base.invFreq[7] == close(0.26101572156825364));
    CHECK(t.longContext->above == 4096);
    CHECK(t.longContext->frequencies.invFreq[7] == close(0.11931696463563132));
    CHECK(t.longContext->frequencies.invFreq[47] ==
          close(2.536168429199474e-06));
  }
  SECTION("a given factor wins over the ratio, remarked") {
    DecoderConfig c = longRope().set("rope_parameters.factor", 16).config();
    CHECK(computeRopeTable(c.rope).base.attentionFactor ==
          close(std::sqrt(1.4)));
    CHECK(c.assumptions.size() == 1);
  }
  SECTION("no extension: no attention factor") {
    CHECK(table(longRope().set("max_position_embeddings", 1024))
              .base.attentionFactor == 1);
  }
  SECTION("phi3 calls it su or yarn too, and needs the context") {
    ConfigSource phi("phi3"); // width 6, context 512 beside the block
    phi.set("max_position_embeddings", 1024)
        .set("rope_parameters.rope_type", "su")
        .set("rope_parameters.short_factor", json::Array{1, 1, 2})
        .set("rope_parameters.long_factor", json::Array{1, 2, 4});
    CHECK(phi.config().rope.scaling.kind == RopeScalingKind::LongRope);
    CHECK(phi.config().rope.scaling.factor == 2);
    CHECK(phi.set("rope_parameters.rope_type", "yarn")
              .config()
              .rope.scaling.kind == RopeScalingKind::LongRope);
    CHECK_THAT(phi.erase("original_max_position_embeddings").error(),
               Contains("original_max_position_embeddings'): missing"));
  }
  SECTION("faults") {
    CHECK_THAT(
        longRope().set("rope_parameters.long_factor", json::Array{1}).error(),
        Contains("key 'rope_parameters.long_factor': found an array of 1, "
                 "expected an array of 32 numbers"));
    CHECK_THAT(longRope().erase("rope_parameters.short_factor").error(),
               Contains("'rope_parameters.short_factor': missing"));
    json::Array zero;
    for (int i = 0; i < 32; ++i)
      zero.push_back(i == 3 ? 0 : 1);
    CHECK_THAT(
        longRope().set("rope_parameters.short_factor", std::move(zero)).error(),
        Contains("'rope_parameters.short_factor[3]': found number 0, expected "
                 "a positive number"));
  }
}
