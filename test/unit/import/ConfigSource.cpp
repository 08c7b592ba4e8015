//===- ConfigSource.cpp - configs for the tests ---------------------------===//

#include "ConfigSource.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::test;
using llvm::StringRef;
namespace json = llvm::json;

std::string test::readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  INFO(path);
  REQUIRE(buffer);
  return (*buffer)->getBuffer().str();
}

std::string test::goldenPath(StringRef family, StringRef file) {
  return (LAYLINE_SOURCE_DIR "/test/golden/" + family + "/" + file).str();
}

std::string test::modelPath(StringRef model) {
  return (LAYLINE_SOURCE_DIR "/data/models/" + model + ".json").str();
}

ConfigSource::ConfigSource(StringRef family) {
  bool golden = family != "mistral" && family != "mixtral";
  std::string source =
      readFile(goldenPath(golden ? family : "llama", "config.json"));
  llvm::Expected<json::Value> value = json::parse(source);
  REQUIRE(bool(value));
  object = std::move(*value->getAsObject());
  if (golden)
    return;
  for (StringRef key : {"attention_bias", "mlp_bias", "pretraining_tp"})
    object.erase(key);
  object["model_type"] = family;
  object["architectures"] = json::Array{
      family == "mistral" ? "MistralForCausalLM" : "MixtralForCausalLM"};
  object["rope_parameters"] =
      json::Object{{"rope_theta", 10000.0}, {"rope_type", "default"}};
  object["sliding_window"] = nullptr;
  if (family == "mixtral") {
    object["num_local_experts"] = 8;
    object["num_experts_per_tok"] = 2;
  }
}

ConfigSource &ConfigSource::set(StringRef path, json::Value value) {
  auto [outer, inner] = path.split('.');
  if (inner.empty()) {
    object[outer] = std::move(value);
    return *this;
  }
  if (!object.getObject(outer))
    object[outer] = json::Object();
  (*object.getObject(outer))[inner] = std::move(value);
  return *this;
}

ConfigSource &ConfigSource::setRaw(StringRef path, StringRef text) {
  std::string marker = "@" + std::to_string(raws.size()) + "@";
  raws.emplace_back("\"" + marker + "\"", text.str());
  return set(path, marker);
}

ConfigSource &ConfigSource::erase(StringRef path) {
  auto [outer, inner] = path.split('.');
  if (inner.empty())
    object.erase(outer);
  else if (json::Object *nested = object.getObject(outer))
    nested->erase(inner);
  return *this;
}

std::vector<std::string> ConfigSource::paths() const {
  std::vector<std::string> result;
  for (const auto &entry : object) {
    result.push_back(entry.first.str());
    if (const json::Object *nested = entry.second.getAsObject())
      for (const auto &inner : *nested)
        result.push_back(entry.first.str() + "." + inner.first.str());
  }
  return result;
}

std::string ConfigSource::text() const {
  std::string result;
  llvm::raw_string_ostream(result) << json::Value(json::Object(object));
  for (const auto &[marker, raw] : raws)
    result.replace(result.find(marker), marker.size(), raw);
  return result;
}

DecoderConfig ConfigSource::config() const {
  llvm::Expected<DecoderConfig> result = parseHFConfig(text(), "config.json");
  if (!result)
    FAIL(llvm::toString(result.takeError()));
  return std::move(*result);
}

std::string ConfigSource::error() const {
  return errorOf(parseHFConfig(text(), "config.json"));
}

std::string test::errorOf(llvm::Expected<DecoderConfig> result) {
  if (result)
    return "";
  std::string text;
  llvm::handleAllErrors(result.takeError(), [&](const HFConfigError &error) {
    text = error.kind() == HFConfigError::Kind::Refused ? "refused: "
                                                        : "malformed: ";
    llvm::raw_string_ostream os(text);
    error.log(os);
  });
  return text;
}
