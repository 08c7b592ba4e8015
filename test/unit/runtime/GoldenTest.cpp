// A real model end to end: every named value against the float64 reference of
// Hugging Face transformers (test/golden).
#include "LlamaPlan.h"
#include "TestEngine.h"
#include "layline/safetensors.h"

#include <catch2/catch.hpp>

#include <fstream>

using namespace layline;
using namespace layline::test;

namespace {

const std::string kFolder = LAYLINE_GOLDEN_DIR "/llama/";

std::unique_ptr<safetensors::File> golden(const std::string &folder = kFolder) {
  std::string error;
  auto file = safetensors::File::open(folder + "golden.safetensors", error);
  INFO(error);
  REQUIRE(file);
  return file;
}

std::vector<std::int64_t> integers(const safetensors::File &file,
                                   const std::string &key) {
  std::string error;
  return file.readI64(key, error).value();
}

/// The reference as [T, ...]: q_rope and k_rope stand as [1, heads, T, d].
std::vector<double> reference(const safetensors::File &file,
                              const std::string &key) {
  std::string error;
  std::vector<double> values = file.readF64(key, error).value();
  const std::vector<std::int64_t> &shape = file.find(key)->shape;
  if (shape.size() != 4)
    return values;
  std::int64_t heads = shape[1], rows = shape[2], width = shape[3];
  std::vector<double> result(values.size());
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t t = 0; t < rows; ++t)
      for (std::int64_t i = 0; i < width; ++i)
        result[(t * heads + h) * width + i] =
            values[(h * rows + t) * width + i];
  return result;
}

struct Form {
  std::int64_t ranks;
  Boundaries boundaries;
};

} // namespace

TEST_CASE("llama in every form and group gives the reference", "[golden]") {
  auto [ranks, boundaries] =
      GENERATE(Form{1, Boundaries::Whole}, Form{2, Boundaries::Whole},
               Form{3, Boundaries::Whole}, Form{8, Boundaries::Whole},
               Form{1, Boundaries::Rows}, Form{2, Boundaries::Rows},
               Form{5, Boundaries::Rows}, Form{16, Boundaries::Rows},
               Form{2, Boundaries::Fused}, Form{4, Boundaries::Fused},
               Form{7, Boundaries::Fused});
  auto precision = GENERATE(LAYLINE_PRECISION_F64, LAYLINE_PRECISION_F32);
  // shared/data/golden/README.md: the tolerance of each precision.
  double tolerance = precision == LAYLINE_PRECISION_F64 ? 1e-10 : 5e-6;
  CAPTURE(ranks, static_cast<int>(boundaries), static_cast<int>(precision));
  auto file = golden();
  TestEngine engine(llamaPlan(ranks, boundaries), precision);
  engine.weights(kFolder + "model.safetensors");
  engine.input("input_ids", integers(*file, "input_ids"));
  engine.input("positions", integers(*file, "position_ids"));
  engine.run(24);
  CHECK(error(engine.output("logits").data, reference(*file, "logits")) <
        tolerance);
  int compared = 0;
  for (const std::string &name : engine.tapNames()) {
    if (!file->find(name))
      continue;
    CAPTURE(name);
    CHECK(error(engine.tap(name).data, reference(*file, name)) < tolerance);
    ++compared;
  }
  CHECK(compared == 15);
}

TEST_CASE("plans of 1.0 load and compute what they did", "[golden]") {
  auto [name, model] = GENERATE(
      std::pair("llama-tp4", "llama"), std::pair("phi3-tp2", "phi3"),
      std::pair("qwen2-tp5", "qwen2"), std::pair("qwen3_moe-tp3", "qwen3_moe"));
  CAPTURE(name);
  std::string folder = std::string(LAYLINE_GOLDEN_DIR "/") + model + "/";
  std::ifstream plan(std::string(LAYLINE_PLANS_DIR "/v1.0/") + name +
                     "/plan.json");
  REQUIRE(plan);
  auto file = golden(folder);
  TestEngine engine(Json::parse(plan));
  engine.weights(folder + "model.safetensors");
  std::vector<std::int64_t> ids = integers(*file, "input_ids"),
                            positions = integers(*file, "position_ids");
  std::vector<double> logits = reference(*file, "logits");
  std::size_t width = logits.size() / ids.size();
  for (std::int64_t tokens : {24, 5, 2, 1}) { // by rows and whole
    CAPTURE(tokens);
    engine.check(layline_past_set(engine.get(), 0));
    engine.input("input_ids", {ids.begin(), ids.begin() + tokens});
    engine.input("positions", {positions.begin(), positions.begin() + tokens});
    engine.run(tokens);
    std::vector<double> rows(logits.begin(),
                             logits.begin() + tokens * static_cast<int>(width));
    CHECK(error(engine.output("logits").data, rows) < 1e-10);
  }
}

TEST_CASE("a sequence run in pieces is the sequence", "[golden]") {
  // The variants change with the piece, and so do the ranks that have rows.
  auto file = golden();
  TestEngine engine(llamaPlan(4, Boundaries::Fused, 6));
  engine.weights(kFolder + "model.safetensors");
  std::vector<std::int64_t> ids = integers(*file, "input_ids"),
                            positions = integers(*file, "position_ids");
  std::vector<double> expected = reference(*file, "logits");
  std::int64_t at = 0;
  for (std::int64_t tokens : {7, 1, 2, 6, 1, 5, 2}) {
    engine.input("input_ids", {ids.begin() + at, ids.begin() + at + tokens});
    engine.input("positions",
                 {positions.begin() + at, positions.begin() + at + tokens});
    engine.run(tokens);
    std::vector<double> rows(expected.begin() + at * 128,
                             expected.begin() + (at + tokens) * 128);
    CHECK(error(engine.output("logits").data, rows) < 1e-10);
    at += tokens;
  }
  REQUIRE(at == 24);
  std::int64_t past = 0;
  engine.check(layline_past_get(engine.get(), &past));
  CHECK(past == 24);

  SECTION("and again after a rewind") {
    engine.check(layline_past_set(engine.get(), 20));
    engine.input("input_ids", {ids.begin() + 20, ids.end()});
    engine.input("positions", {positions.begin() + 20, positions.end()});
    engine.run(4);
    CHECK(error(engine.output("logits").data,
                {expected.begin() + 20 * 128, expected.end()}) < 1e-10);
  }
  SECTION("and from rows that another engine computed") {
    TestEngine other(llamaPlan(3, Boundaries::Rows));
    other.weights(kFolder + "model.safetensors");
    for (std::string id :
         {"layer.0.key", "layer.0.value", "layer.1.key", "layer.1.value"}) {
      std::vector<double> rows(24 * 2 * 16);
      engine.check(layline_cache_read(engine.get(), id.c_str(), LAYLINE_F64,
                                      rows.data(),
                                      static_cast<std::int64_t>(rows.size())));
      other.check(layline_cache_bind(other.get(), id.c_str(), LAYLINE_F64,
                                     rows.data(), 24));
    }
    std::vector<std::int64_t> rows(24);
    engine.check(layline_cache_read(engine.get(), "positions", LAYLINE_I64,
                                    rows.data(), 24));
    CHECK(rows == positions);
    other.check(layline_cache_bind(other.get(), "positions", LAYLINE_I64,
                                   rows.data(), 24));
    other.input("input_ids", {ids.begin() + 20, ids.end()});
    other.input("positions", {positions.begin() + 20, positions.end()});
    CHECK(layline_run(other.get(), 4) == LAYLINE_NOT_BOUND);
    other.check(layline_past_set(other.get(), 20));
    other.run(4);
    CHECK(error(other.output("logits").data,
                {expected.begin() + 20 * 128, expected.end()}) < 1e-10);
  }
}
