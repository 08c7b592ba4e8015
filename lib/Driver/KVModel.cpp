//===- KVModel.cpp - what a config.json keeps of every token --------------===//
#include "layline/Driver/KVModel.h"
#include "layline/Import/HFConfig.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace layline;

static kv::Model makeKVModel(const DecoderConfig &config,
                             const std::string &name) {
  kv::Model model;
  model.name = name;
  model.layers = config.layers;
  model.dtype = elementTypeName(config.dtype).str();
  if (config.isLatent()) {
    model.latentRank = config.latent.rank;
    model.ropeDim = config.latent.ropeDim;
  } else {
    model.kvHeads = config.kvHeads;
    model.headDim = config.headDim;
  }
  model.indexDim = config.indexer.heads ? config.indexer.headDim : 0;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const LayerConfig &own = config.perLayer[layer];
    if (own.slidingWindow) {
      model.window = own.slidingWindow;
      model.windowLayers.push_back(layer);
    } else {
      model.kvLayers.push_back(layer);
    }
    if (model.indexDim && !own.sharesIndexer)
      model.indexLayers.push_back(layer);
  }
  return model;
}

std::optional<kv::Model> layline::readKVModel(const std::string &path,
                                              std::string &error,
                                              bool &isRefused) {
  isRefused = false;
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer) {
    error = path + ": " + buffer.getError().message();
    return std::nullopt;
  }
  std::string text = (*buffer)->getBuffer().str();
  // Which kind of file it is; what is wrong with it is said by its reader.
  bool isShape = false;
  if (auto document = llvm::json::parse(text)) {
    if (const llvm::json::Object *object = document->getAsObject())
      isShape = !object->get("model_type") && object->get("name");
  } else {
    llvm::consumeError(document.takeError());
  }
  if (isShape)
    return kv::parseModelShape(text, path, error);
  llvm::Expected<DecoderConfig> config = parseHFConfig(text, path);
  if (!config) {
    llvm::handleAllErrors(config.takeError(), [&](const HFConfigError &failed) {
      isRefused = failed.kind() == HFConfigError::Kind::Refused;
      llvm::raw_string_ostream os(error);
      failed.log(os);
    });
    return std::nullopt;
  }
  // The model's folder, or the file's name if it says more.
  llvm::StringRef stem = llvm::sys::path::stem(path);
  if (stem == "config")
    stem = llvm::sys::path::filename(llvm::sys::path::parent_path(path));
  return makeKVModel(*config, stem.empty() ? config->modelType : stem.str());
}
