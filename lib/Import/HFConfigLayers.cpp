//===- HFConfigLayers.cpp - keys that differ by layer ---------------------===//

#include "HFConfigLayers.h"
#include "llvm/ADT/STLExtras.h"

using namespace layline;
using llvm::StringRef;
using llvm::Twine;

namespace {

/// `layer_types` as "slides" by layer; nullopt when absent.
std::optional<std::vector<bool>>
readLayerTypes(HFConfigFields &fields, const Family &family, int64_t layers) {
  if (!fields.has("layer_types"))
    return std::nullopt;
  std::vector<std::string> types = fields.optionalStrings("layer_types");
  std::vector<bool> slides;
  if (types.size() != static_cast<size_t>(layers))
    fields.malformed("layer_types",
                     "found " + fields.describe("layer_types") +
                         ", expected as many entries as num_hidden_layers, " +
                         Twine(layers));
  for (const std::string &type : types) {
    if (type != "full_attention" && type != "sliding_attention" &&
        !llvm::is_contained(family.fullLayerTypes, type))
      fields.refuse(("layer_types[" + Twine(slides.size()) + "]").str(),
                    "found '" + StringRef(type).take_front(40) +
                        "', expected full_attention or sliding_attention");
    slides.push_back(type == "sliding_attention");
  }
  return slides;
}

/// The window and the layers that have it.
class WindowReader {
public:
  WindowReader(HFConfigFields &configFields, const Family &itsFamily,
               DecoderConfig &result)
      : fields(configFields), family(itsFamily), config(result) {}

  void read();

private:
  void setAll(int64_t window) {
    for (LayerConfig &layer : config.perLayer)
      layer.slidingWindow = window;
  }
  void readEveryLayer();
  void readWhenEnabled();
  void readByLayerTypes(const std::optional<std::vector<bool>> &slides);
  void readTail(const std::optional<std::vector<bool>> &slides);

  HFConfigFields &fields;
  const Family &family;
  DecoderConfig &config;
};

void WindowReader::readEveryLayer() {
  if (family.window == WindowRule::EveryLayerSet &&
      !fields.find("sliding_window")) {
    fields.integer({"sliding_window"});
    return;
  }
  int64_t window = fields.optionalInteger({"sliding_window"}).value_or(0);
  if (window != 0 && !fields.flag({"use_sliding_window"}, true))
    return fields.malformed(
        "use_sliding_window",
        Twine("found boolean false beside a sliding_window, which ") +
            family.modelType +
            " always uses; expected sliding_window null or no such key");
  setAll(window);
}

void WindowReader::readWhenEnabled() {
  if (!fields.flag({"use_sliding_window"}, false))
    return;
  int64_t window = fields.integer({"sliding_window"});
  // transformers 4 starts at layer max_window_layers here, 5 at layer 0.
  std::optional<int64_t> first =
      fields.optionalInteger({"max_window_layers"}, {0, kMaxSize});
  if (first.value_or(0) != 0)
    return fields.refuse("max_window_layers",
                         "found " + fields.describe("max_window_layers") +
                             " with use_sliding_window, which releases of "
                             "transformers read differently for " +
                             family.modelType + "; expected 0 or nothing");
  setAll(window);
}

void WindowReader::readByLayerTypes(
    const std::optional<std::vector<bool>> &slides) {
  // Where no layer slides no window is asked for.
  if (slides && !llvm::is_contained(*slides, true))
    return;
  int64_t period = family.windowPeriod;
  if (!slides && period == 0)
    period = fields.integer({family.windowPeriodKey});
  int64_t window = fields.integer({"sliding_window"});
  if (fields.failed())
    return;
  for (int64_t layer = 0; layer < config.layers; ++layer)
    if (slides ? (*slides)[layer] : (layer + 1) % period != 0)
      config.perLayer[layer].slidingWindow = window;
}

void WindowReader::readTail(const std::optional<std::vector<bool>> &slides) {
  if (!fields.flag({"use_sliding_window"}, false)) {
    if (slides && llvm::is_contained(*slides, true))
      fields.malformed("layer_types",
                       "found sliding_attention without use_sliding_window, "
                       "expected full_attention");
    return;
  }
  if (fields.find("sliding_window") && !fields.has("sliding_window") && !slides)
    return; // null: no window, as HF has it
  int64_t window = fields.integer({"sliding_window"});
  int64_t first =
      slides ? 0 : fields.integer({"max_window_layers"}, {0, kMaxSize});
  if (fields.failed())
    return;
  for (int64_t layer = 0; layer < config.layers; ++layer)
    if (slides ? (*slides)[layer] : layer >= first)
      config.perLayer[layer].slidingWindow = window;
}

void WindowReader::read() {
  std::optional<std::vector<bool>> slides =
      readLayerTypes(fields, family, config.layers);
  if (fields.failed())
    return;
  switch (family.window) {
  case WindowRule::None:
    if (fields.has("sliding_window") &&
        fields.flag({"use_sliding_window"}, true))
      fields.refuse("sliding_window",
                    "found " + fields.describe("sliding_window") +
                        ", expected null or nothing: " + family.modelType +
                        " has no window");
    break;
  case WindowRule::EveryLayer:
  case WindowRule::EveryLayerSet:
    readEveryLayer();
    break;
  case WindowRule::WhenEnabled:
    readWhenEnabled();
    break;
  case WindowRule::TailWhenEnabled:
    return readTail(slides);
  case WindowRule::LayerTypes:
    return readByLayerTypes(slides);
  }
  // The other families do not read layer_types; it may repeat, not change.
  if (fields.failed() || !slides)
    return;
  for (int64_t layer = 0; layer < config.layers; ++layer)
    if ((*slides)[layer] != (config.perLayer[layer].slidingWindow != 0))
      return fields.refuse("layer_types",
                           Twine("found another choice of windows than ") +
                               family.modelType +
                               " makes, which does not read this key");
}

} // namespace

void layline::readLayers(HFConfigFields &fields, const Family &family,
                         DecoderConfig &config) {
  config.perLayer.assign(static_cast<size_t>(config.layers), LayerConfig());
  WindowReader(fields, family, config).read();
  if (!fields.failed())
    readExperts(fields, family, config);
}
