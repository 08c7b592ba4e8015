//===- KVModel.h - what a config.json keeps of every token ------*- C++ -*-===//
#ifndef LAYLINE_DRIVER_KVMODEL_H
#define LAYLINE_DRIVER_KVMODEL_H

#include "layline/KV/Model.h"
#include <optional>
#include <string>

namespace layline {

/// The cache that a model keeps. Layers of speculative heads (MTP) are not in a
/// config's number of layers and not in the model.
///
/// Reads a Hugging Face config.json, or a shape file (docs/kv.md) if the file
/// has no key `model_type`. On failure none, with the reason in `error` and
/// whether the file is good but not supported in `isRefused`.
std::optional<kv::Model> readKVModel(const std::string &path,
                                     std::string &error, bool &isRefused);

} // namespace layline

#endif // LAYLINE_DRIVER_KVMODEL_H
