//===- HFConfigMoe.cpp - keys of routed and shared experts ----------------===//

#include "HFConfigLayers.h"
#include "llvm/ADT/STLExtras.h"

using namespace layline;
using llvm::StringRef;
using llvm::Twine;

namespace {

// More would only be a mistyped file; an enumeration of weights stays short.
constexpr int64_t kMaxExperts = int64_t(1) << 16;
constexpr int64_t kMaxExpertsOfAllLayers = int64_t(1) << 20;

class MoeReader {
public:
  MoeReader(HFConfigFields &configFields, const Family &itsFamily,
            DecoderConfig &result)
      : fields(configFields), family(itsFamily), rule(itsFamily.moe),
        config(result) {}

  void read();

private:
  void refuseExperts();
  void chooseLayers();
  void chooseBySteps();
  void chooseBehindLeading();
  void expectOnly(StringRef key, StringRef value);
  void readGroups(MoeConfig &moe);
  void readWeights(MoeConfig &moe);
  void readShared(MoeConfig &moe);
  void checkCount(int64_t experts);

  HFConfigFields &fields;
  const Family &family;
  const MoeRule &rule;
  DecoderConfig &config;
};

void MoeReader::refuseExperts() {
  for (StringRef key : {"num_local_experts", "num_experts", "n_routed_experts"})
    if (fields.optionalInteger({key}, {0, kMaxExperts}).value_or(0) != 0)
      fields.refuse(key, "found " + fields.describe(key) +
                             ", expected 0 or nothing: " + family.modelType +
                             " has no experts");
}

void MoeReader::chooseBySteps() {
  int64_t step = fields.optionalInteger({"decoder_sparse_step"}).value_or(1);
  std::vector<int64_t> dense =
      fields.optionalIntegers("mlp_only_layers", {0, config.layers - 1});
  for (int64_t layer = 0; layer < config.layers; ++layer)
    if ((layer + 1) % step == 0)
      config.perLayer[layer].mlp = MlpKind::MoE;
  for (int64_t layer : dense)
    config.perLayer[layer].mlp = MlpKind::Dense;
}

/// `first_k_dense_replace` dense layers, then experts; where `mlp_layer_types`
/// says it layer by layer, that is what counts.
void MoeReader::chooseBehindLeading() {
  if (fields.optionalInteger({"moe_layer_freq"}).value_or(1) != 1)
    return fields.refuse("moe_layer_freq",
                         "found " + fields.describe("moe_layer_freq") +
                             ", expected 1: a layer with experts follows the "
                             "other");
  std::vector<std::string> types = fields.optionalStrings("mlp_layer_types");
  if (!fields.failed() && !types.empty() &&
      types.size() != static_cast<size_t>(config.layers))
    return fields.malformed("mlp_layer_types",
                            "found " + fields.describe("mlp_layer_types") +
                                ", expected as many entries as "
                                "num_hidden_layers, " +
                                Twine(config.layers));
  for (auto [layer, type] : llvm::enumerate(types)) {
    if (type != "dense" && type != "sparse")
      return fields.refuse(("mlp_layer_types[" + Twine(layer) + "]").str(),
                           "found '" + StringRef(type).take_front(40) +
                               "', expected dense or sparse");
    if (type == "sparse")
      config.perLayer[layer].mlp = MlpKind::MoE;
  }
  IntegerRange count{0, kMaxSize};
  if (!types.empty())
    return;
  int64_t leading =
      rule.leadingWhenAbsent
          ? fields.optionalInteger({"first_k_dense_replace"}, count)
                .value_or(*rule.leadingWhenAbsent)
          : fields.integer({"first_k_dense_replace"}, count);
  for (int64_t layer = leading; layer < config.layers; ++layer)
    config.perLayer[layer].mlp = MlpKind::MoE;
}

void MoeReader::chooseLayers() {
  switch (rule.layers) {
  case MoeRule::Layers::Every:
    for (LayerConfig &layer : config.perLayer)
      layer.mlp = MlpKind::MoE;
    return;
  case MoeRule::Layers::BySteps:
    return chooseBySteps();
  case MoeRule::Layers::BehindLeading:
    return chooseBehindLeading();
  }
}

/// Keys that name the one way in which the family does it, if they are there.
void MoeReader::expectOnly(StringRef key, StringRef value) {
  std::optional<std::string> found = fields.optionalString({key});
  if (found && *found != value)
    fields.refuse(key, "found " + fields.describe(key) + ", expected " + value +
                           " for " + family.modelType);
}

void MoeReader::readGroups(MoeConfig &moe) {
  bool hasGroups = rule.groups == MoeRule::Groups::Top2Sum;
  switch (rule.groups) {
  case MoeRule::Groups::None:
    return;
  case MoeRule::Groups::Top2Sum:
    expectOnly("topk_method", "noaux_tc");
    break;
  case MoeRule::Groups::ByTopkMethod: {
    std::string method =
        fields.optionalString({"topk_method"}).value_or("greedy");
    if (method != "greedy" && method != "group_limited_greedy")
      return fields.refuse("topk_method",
                           "found " + fields.describe("topk_method") +
                               ", expected greedy or group_limited_greedy");
    hasGroups = method == "group_limited_greedy";
    break;
  }
  }
  if (!hasGroups || fields.failed())
    return;
  std::optional<int64_t> absent = rule.groupsWhenAbsent;
  auto read = [&](StringRef key, int64_t most) {
    return absent ? fields.optionalInteger({key}, {1, most}).value_or(*absent)
                  : fields.integer({key}, {1, most});
  };
  int64_t groups = read("n_group", moe.experts);
  int64_t chosen = read("topk_group", groups);
  // Of one group, or of all, nothing is left out.
  if (fields.failed() || chosen == groups)
    return;
  int64_t size = moe.experts / groups;
  if (moe.experts % groups != 0)
    return fields.malformed(
        "n_group", "found " + fields.describe("n_group") +
                       ", expected a divisor of the number of experts, " +
                       Twine(moe.experts));
  if (chosen * size < moe.topK)
    return fields.malformed("topk_group",
                            "found " + Twine(chosen) + " groups of " +
                                Twine(size) + " experts, expected at least " +
                                Twine(moe.topK) + " experts in them");
  moe.groups = groups;
  moe.chosenGroups = chosen;
  moe.groupScore = rule.groups == MoeRule::Groups::Top2Sum ? GroupScore::Top2Sum
                                                           : GroupScore::Max;
  if (moe.groupScore == GroupScore::Top2Sum && size < 2)
    fields.malformed("n_group", "found " + fields.describe("n_group") +
                                    " groups of one expert, expected two or "
                                    "more in each");
}

void MoeReader::readWeights(MoeConfig &moe) {
  moe.scoring = rule.scoring;
  expectOnly("scoring_func",
             moe.scoring == RouterScoring::Softmax ? "softmax" : "sigmoid");
  switch (rule.renormalize) {
  case MoeRule::Renormalize::Always:
    moe.renormalize = true;
    break;
  case MoeRule::Renormalize::Never:
    break;
  case MoeRule::Renormalize::ByNormTopkProb:
    moe.renormalize =
        fields.flag({"norm_topk_prob"}, rule.renormalizeWhenAbsent);
    break;
  }
  if (!rule.isScaled)
    return;
  StringRef key = "routed_scaling_factor";
  NumberRange range{0, 1e6};
  moe.scale = rule.scaleWhenAbsent
                  ? fields.optionalNumber({key}, range)
                        .value_or(*rule.scaleWhenAbsent)
                  : fields.number({key}, range);
}

void MoeReader::readShared(MoeConfig &moe) {
  if (!rule.hasShared)
    return;
  int64_t count =
      fields.optionalInteger({"n_shared_experts"}, {0, kMaxExperts}).value_or(0);
  if (!fields.failed() && count > kMaxSize / moe.intermediate)
    return fields.malformed("n_shared_experts",
                            "found " + Twine(count) + " shared experts of " +
                                Twine(moe.intermediate) +
                                " features, expected fewer than 2^31 together");
  moe.sharedIntermediate = count * moe.intermediate;
}

void MoeReader::checkCount(int64_t experts) {
  int64_t layers =
      llvm::count_if(config.perLayer, [](const LayerConfig &layer) {
        return layer.mlp == MlpKind::MoE;
      });
  if (layers * experts > kMaxExpertsOfAllLayers)
    fields.malformed(rule.countKeys.front(),
                     "found " + Twine(experts) + " experts in each of " +
                         Twine(layers) + " layers, expected at most " +
                         Twine(kMaxExpertsOfAllLayers) + " in all");
}

void MoeReader::read() {
  if (!family.hasMoE())
    return refuseExperts();
  bool mayBeDense = rule.layers == MoeRule::Layers::BySteps;
  int64_t experts =
      fields.integer(rule.countKeys, {mayBeDense ? 0 : 1, kMaxExperts});
  if (fields.failed() || experts == 0)
    return;
  chooseLayers();
  if (fields.failed())
    return;

  MoeConfig moe;
  moe.experts = experts;
  moe.topK = fields.integer({"num_experts_per_tok"}, {1, experts});
  moe.intermediate = fields.integer({rule.intermediateKey});
  if (!fields.failed())
    readWeights(moe);
  if (!fields.failed())
    readGroups(moe);
  if (!fields.failed())
    readShared(moe);
  if (!fields.failed())
    checkCount(experts);
  if (llvm::any_of(config.perLayer, [](const LayerConfig &layer) {
        return layer.mlp == MlpKind::MoE;
      }))
    config.moe = moe;
}

} // namespace

void layline::readExperts(HFConfigFields &fields, const Family &family,
                          DecoderConfig &config) {
  MoeReader(fields, family, config).read();
}
