//===- Model.h - what a model keeps of every token --------------*- C++ -*-===//
//
// The facts of a model that decide what its cache holds. Plain C++, so that a
// shape file can stand in for a config.json that is not read.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_KV_MODEL_H
#define LAYLINE_KV_MODEL_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace layline::kv {

/// A recurrent or convolution state: one item per request and layer.
struct StateShape {
  std::string name;
  std::int64_t bytes = 0; ///< of one layer, whole
  /// Heads that tensor parallelism splits it over; 1: every rank has all.
  std::int64_t heads = 1;
  std::vector<std::int64_t> layers;
};

/// Bytes follow from the element type that the cache is asked to have.
struct Model {
  std::string name;
  std::int64_t layers = 0;
  std::string dtype; ///< of the model: "bf16", "f16", "f32"

  // Attention over heads; 0 where attention is over latent rows.
  std::int64_t kvHeads = 0, headDim = 0;
  // Attention over latent rows (MLA): no heads.
  std::int64_t latentRank = 0, ropeDim = 0;
  // Index keys (DSA): one head.
  std::int64_t indexDim = 0; ///< 0: none

  std::vector<std::int64_t> kvLayers; ///< that see all earlier tokens
  /// That see the last `window` tokens only; with a pool of their own.
  std::vector<std::int64_t> windowLayers;
  std::int64_t window = 0;
  std::vector<std::int64_t> indexLayers; ///< with an indexer of their own
  std::vector<StateShape> states;

  bool isLatent() const { return latentRank > 0; }
};

/// Bytes of an element of a type; 0 if it is not known.
std::int64_t getElementBytes(const std::string &dtype);

/// Reads a shape file (docs/kv.md): JSON with the members' names. Throws
/// runtime::Error.
Model readModelShape(const std::string &text, const std::string &file);

/// The same without exceptions: none, with the reason in `error`.
std::optional<Model> parseModelShape(const std::string &text,
                                     const std::string &file,
                                     std::string &error);

} // namespace layline::kv

#endif // LAYLINE_KV_MODEL_H
