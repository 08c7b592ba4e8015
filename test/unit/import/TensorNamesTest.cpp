//===- TensorNamesTest.cpp - where the weights are stored -----------------===//

#include "ConfigSource.h"
#include "llvm/Support/Endian.h"
#include <catch2/catch.hpp>
#include <map>

using namespace layline;
using namespace layline::test;

namespace {

using Shapes = std::map<std::string, std::pair<int64_t, int64_t>>;

/// Names and shapes in the header of a safetensors file; cols 0 for a vector.
Shapes storedShapes(const std::string &path) {
  std::string file = readFile(path);
  REQUIRE(file.size() > 8);
  uint64_t size = llvm::support::endian::read64le(file.data());
  llvm::Expected<llvm::json::Value> header =
      llvm::json::parse(llvm::StringRef(file).substr(8, size));
  REQUIRE(bool(header));
  Shapes shapes;
  for (const auto &entry : *header->getAsObject()) {
    if (entry.first == "__metadata__")
      continue;
    const llvm::json::Array &shape =
        *entry.second.getAsObject()->getArray("shape");
    shapes[entry.first.str()] = {*shape[0].getAsInteger(),
                                 shape.size() > 1 ? *shape[1].getAsInteger()
                                                  : 0};
  }
  return shapes;
}

} // namespace

TEST_CASE("the weights of a config are those of the checkpoint, no more, no "
          "less") {
  const char *family = GENERATE("llama", "phi3", "qwen2", "qwen3", "qwen3_moe",
                                "cohere", "gemma2", "granite", "phi", "olmo2");
  CAPTURE(family);
  DecoderConfig config = ConfigSource(family).config();
  Shapes named;
  for (const WeightInstance &weight : config.weights()) {
    StoredWeight stored =
        config.find(weight.weight, weight.layer, weight.expert);
    CHECK(stored.rowBegin < stored.rowEnd);
    CHECK(stored.rowEnd <= stored.storedRows);
    named[stored.tensor] = {stored.storedRows, stored.storedCols};
  }
  CHECK(named == storedShapes(goldenPath(family, "model.safetensors")));
}

TEST_CASE("fused projections are windows of rows of one tensor") {
  DecoderConfig c = ConfigSource("phi3").config(); // q 64, k 16, v 16
  StoredWeight q = c.find(Weight::Q, 1), k = c.find(Weight::K, 1),
               v = c.find(Weight::V, 1);
  CHECK(q.tensor == "model.layers.1.self_attn.qkv_proj.weight");
  CHECK(k.tensor == q.tensor);
  CHECK(v.tensor == q.tensor);
  CHECK(q.storedRows == 96);
  CHECK(q.storedCols == 64);
  CHECK(q.rowBegin == 0);
  CHECK(q.rowEnd == 64);
  CHECK(k.rowBegin == 64);
  CHECK(k.rowEnd == 80);
  CHECK(v.rowBegin == 80);
  CHECK(v.rowEnd == 96);
  CHECK_FALSE(k.isWholeTensor());

  StoredWeight gate = c.find(Weight::Gate, 0), up = c.find(Weight::Up, 0);
  CHECK(gate.tensor == "model.layers.0.mlp.gate_up_proj.weight");
  CHECK(up.tensor == gate.tensor);
  CHECK(gate.storedRows == 64);
  CHECK(gate.rowEnd == 32);
  CHECK(up.rowBegin == 32);
  CHECK(up.rowEnd == 64);
}

TEST_CASE("experts by layer and number") {
  SECTION("mixtral") {
    DecoderConfig c = ConfigSource("mixtral").config();
    CHECK(c.find(Weight::Router, 1).tensor ==
          "model.layers.1.block_sparse_moe.gate.weight");
    CHECK(c.find(Weight::ExpertGate, 1, 7).tensor ==
          "model.layers.1.block_sparse_moe.experts.7.w1.weight");
    CHECK(c.find(Weight::ExpertUp, 1, 7).tensor ==
          "model.layers.1.block_sparse_moe.experts.7.w3.weight");
    CHECK(c.find(Weight::ExpertDown, 1, 7).tensor ==
          "model.layers.1.block_sparse_moe.experts.7.w2.weight");
    CHECK(c.find(Weight::ExpertDown, 1, 7).storedRows == 64);
    CHECK_FALSE(c.has(Weight::Gate));
  }
  SECTION("qwen3_moe, whose layer 0 is dense") {
    DecoderConfig c = ConfigSource("qwen3_moe").config();
    CHECK(c.has(Weight::Gate, 0));
    CHECK_FALSE(c.has(Weight::Router, 0));
    CHECK_FALSE(c.has(Weight::Gate, 1));
    CHECK(c.has(Weight::ExpertUp, 1));
    CHECK(c.find(Weight::ExpertUp, 1, 3).tensor ==
          "model.layers.1.mlp.experts.3.up_proj.weight");
  }
}

TEST_CASE("a tied lm_head is the embedding's tensor") {
  DecoderConfig c = ConfigSource("qwen2").config();
  StoredWeight head = c.find(Weight::LmHead);
  CHECK(head.tensor == "model.embed_tokens.weight");
  CHECK(head.rows() == 128);
  CHECK(head.isWholeTensor());
  CHECK(ConfigSource("llama").config().find(Weight::LmHead).tensor ==
        "lm_head.weight");
}

TEST_CASE("biases have names only where there are biases") {
  DecoderConfig plain = ConfigSource("llama").config();
  CHECK_FALSE(plain.has(Weight::QBias));
  CHECK_FALSE(plain.has(Weight::DownBias));
  DecoderConfig biased = ConfigSource("llama")
                             .set("attention_bias", true)
                             .set("mlp_bias", true)
                             .config();
  CHECK(biased.find(Weight::OBias, 0).tensor ==
        "model.layers.0.self_attn.o_proj.bias");
  CHECK(biased.find(Weight::VBias, 1).storedRows == 32);
  CHECK(biased.find(Weight::DownBias, 1).storedRows == 64);
  CHECK(biased.find(Weight::DownBias, 1).storedCols == 0);
  CHECK(weightName(Weight::DownBias) == "down_bias");
}
