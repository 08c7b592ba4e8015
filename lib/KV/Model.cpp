//===- Model.cpp - a shape file -------------------------------------------===//
#include "layline/KV/Model.h"

#include "plan/Cursor.h"
#include "json/StrictJson.h"

#include <algorithm>

using namespace layline::kv;
using layline::runtime::Cursor;

static std::int64_t readCount(const Cursor &at, std::int64_t least,
                              std::int64_t most) {
  std::int64_t value = at.integer();
  if (value < least || value > most)
    at.fail("is ", value, "; ", least, " to ", most, " is expected");
  return value;
}

/// "all" or a list of numbers, ascending.
static std::vector<std::int64_t> readLayers(const Cursor &at,
                                            std::int64_t layers) {
  std::vector<std::int64_t> result;
  if (at.json().is_string()) {
    if (at.string() != "all")
      at.fail("is '", at.string(), "'; 'all' or a list of layers is expected");
    for (std::int64_t i = 0; i < layers; ++i)
      result.push_back(i);
    return result;
  }
  if (!at.json().is_array())
    at.fail("is ", at.json().type_name(),
            "; 'all' or a list of layers is expected");
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::int64_t layer = readCount(at.at(i), 0, layers - 1);
    if (!result.empty() && layer <= result.back())
      at.at(i).fail("is ", layer, " behind ", result.back(),
                    "; ascending layers are expected");
    result.push_back(layer);
  }
  return result;
}

Model layline::kv::readModelShape(const std::string &text,
                                  const std::string &file) {
  nlohmann::json document;
  std::string error;
  if (!layline::runtime::parseStrictJson(text, document, error))
    layline::runtime::fail(LAYLINE_UNREADABLE_FILE, file, ": ", error);
  Cursor root(document);
  if (!document.is_object())
    root.fail("is ", document.type_name(), "; an object is expected");
  static const std::vector<std::string> keys = {
      "name",          "layers",       "dtype",     "kv_heads", "head_dim",
      "latent_rank",   "rope_dim",     "index_dim", "window",   "kv_layers",
      "window_layers", "index_layers", "states"};
  for (const auto &[key, value] : document.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      std::string known;
      for (const std::string &name : keys)
        known += (known.empty() ? "" : ", ") + name;
      root.fail("has the key '", key, "'; one of ", known, " is expected");
    }
  constexpr std::int64_t kMost = 1 << 20;
  Model model;
  model.name = root.at("name").string();
  model.layers = readCount(root.at("layers"), 1, kMost);
  model.dtype = root.at("dtype").string();
  if (getElementBytes(model.dtype) == 0)
    root.at("dtype").fail("is '", model.dtype,
                          "'; bf16, f16, f32 or fp8 is expected");
  if (root.has("latent_rank")) {
    model.latentRank = readCount(root.at("latent_rank"), 1, kMost);
    model.ropeDim = readCount(root.at("rope_dim"), 0, kMost);
  } else if (root.has("kv_heads")) {
    model.kvHeads = readCount(root.at("kv_heads"), 1, kMost);
    model.headDim = readCount(root.at("head_dim"), 1, kMost);
  } else if (!root.has("states")) {
    root.fail("has neither 'kv_heads' nor 'latent_rank' nor 'states'; one of "
              "them is expected");
  }
  if (model.isLatent() || model.kvHeads) {
    model.windowLayers =
        root.has("window_layers")
            ? readLayers(root.at("window_layers"), model.layers)
            : std::vector<std::int64_t>();
    if (!model.windowLayers.empty())
      model.window = readCount(root.at("window"), 1, std::int64_t(1) << 40);
    if (model.isLatent() && !model.windowLayers.empty())
      root.at("window_layers")
          .fail("go with a latent cache; attention over heads is expected");
    if (root.has("kv_layers")) {
      model.kvLayers = readLayers(root.at("kv_layers"), model.layers);
    } else {
      for (std::int64_t i = 0; i < model.layers; ++i)
        if (!std::binary_search(model.windowLayers.begin(),
                                model.windowLayers.end(), i))
          model.kvLayers.push_back(i);
    }
  }
  if (root.has("index_dim")) {
    model.indexDim = readCount(root.at("index_dim"), 1, kMost);
    model.indexLayers = root.has("index_layers")
                            ? readLayers(root.at("index_layers"), model.layers)
                            : model.kvLayers;
  }
  if (root.has("states"))
    for (std::size_t i = 0; i < root.at("states").size(); ++i) {
      Cursor states = root.at("states");
      Cursor at = states.at(i);
      StateShape state;
      state.name = at.at("name").string();
      state.bytes = readCount(at.at("bytes"), 1, std::int64_t(1) << 40);
      state.heads = at.has("heads") ? readCount(at.at("heads"), 1, kMost) : 1;
      if (state.bytes % state.heads)
        at.at("bytes").fail("is ", state.bytes, ", which ", state.heads,
                            " heads do not divide");
      state.layers = readLayers(at.at("layers"), model.layers);
      model.states.push_back(std::move(state));
    }
  return model;
}

std::optional<Model> layline::kv::parseModelShape(const std::string &text,
                                                  const std::string &file,
                                                  std::string &error) {
  try {
    return readModelShape(text, file);
  } catch (const layline::runtime::Error &failed) {
    error = failed.what();
    if (error.compare(0, file.size(), file) != 0)
      error = file + ": " + error;
    return std::nullopt;
  }
}
