//===- KVModels.h - models whose caches are migrated ------------*- C++ -*-===//
#ifndef LAYLINE_TEST_UNIT_KV_KVMODELS_H
#define LAYLINE_TEST_UNIT_KV_KVMODELS_H

#include "layline/KV/Planner.h"

#include <numeric>
#include <string>

namespace layline::kv {

inline std::vector<std::int64_t> countLayers(std::int64_t layers) {
  std::vector<std::int64_t> all(layers);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

inline Model makeHeads(const std::string &name, std::int64_t layers,
                       std::int64_t heads) {
  Model model;
  model.name = name;
  model.layers = layers;
  model.dtype = "bf16";
  model.kvHeads = heads;
  model.headDim = 128;
  model.kvLayers = countLayers(layers);
  return model;
}

/// Latent rows, and index keys of the layers that have an indexer.
inline Model makeLatents(const std::string &name, std::int64_t layers,
                         std::vector<std::int64_t> indexLayers) {
  Model model;
  model.name = name;
  model.layers = layers;
  model.dtype = "bf16";
  model.latentRank = 512;
  model.ropeDim = 64;
  model.kvLayers = countLayers(layers);
  if (!indexLayers.empty())
    model.indexDim = 128;
  model.indexLayers = std::move(indexLayers);
  return model;
}

/// Two layers, four heads, few bytes.
inline Model makeSmall() {
  Model model = makeHeads("small", 2, 4);
  model.headDim = 2;
  return model;
}

inline Model makeSmallLatents(std::int64_t layers, bool hasIndex) {
  Model model =
      makeLatents("small", layers,
                  hasIndex ? countLayers(layers) : std::vector<std::int64_t>());
  model.latentRank = 4;
  model.ropeDim = 2;
  model.indexDim = hasIndex ? 4 : 0;
  return model;
}

inline Plan makePlan(const Model &model, const std::string &from,
                     const std::string &to,
                     Profile profile = Profile::Optimised,
                     SenderRule senders = SenderRule::All) {
  PlanOptions options;
  options.profile = profile;
  options.senders = senders;
  return planMigration(model, parseSideSpec(from), parseSideSpec(to), options);
}

} // namespace layline::kv

#endif // LAYLINE_TEST_UNIT_KV_KVMODELS_H
