//===- HFConfigFamilies.h - what HF knows by model_type ---------*- C++ -*-===//
//
// One entry per family: the facts that are code in HF's modeling_*.py and
// configuration_*.py, not keys of config.json. A new family is a new entry.
//
//===----------------------------------------------------------------------===//

#ifndef LAYLINE_LIB_IMPORT_HFCONFIGFAMILIES_H
#define LAYLINE_LIB_IMPORT_HFCONFIGFAMILIES_H

#include "layline/Import/DecoderConfig.h"
#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace layline {

class HFConfigFields;

/// Whether linear layers have a bias: always, never, or as a boolean key says.
struct BiasRule {
  enum class When { Never, Always, ByKey };
  When when = When::Never;
  const char *key = nullptr;
  bool whenAbsent = false;

  static BiasRule never() { return {}; }
  static BiasRule always() { return {When::Always, nullptr, true}; }
  static BiasRule byKey(const char *key, bool whenAbsent = false) {
    return {When::ByKey, key, whenAbsent};
  }
  bool reads(llvm::StringRef name) const {
    return when == When::ByKey && name == key;
  }
};

/// What HF does when a size is absent: derive it from other keys, or take the
/// size of one published model, which is no default to trust.
enum class WhenAbsent { Derive, Require };

/// Which layers attend to a window of the last `sliding_window` tokens.
enum class WindowRule {
  None,            ///< The family has no window.
  EveryLayer,      ///< All; absent or null: no window.
  LayerTypes,      ///< Where `layer_types` says so; without it all but every
                   ///< `windowPeriod`-th layer. The key is required.
  EveryLayerSet,   ///< All; null: no window; the key is required.
  WhenEnabled,     ///< All if `use_sliding_window`.
  TailWhenEnabled, ///< If `use_sliding_window`: where `layer_types` says so,
                   ///< without it from layer `max_window_layers` on.
};

/// Routed experts. `countKeys` is empty for a family without.
struct MoeRule {
  enum class Layers {
    Every,
    BySteps,       ///< every `decoder_sparse_step`-th, less `mlp_only_layers`
    BehindLeading, ///< all behind `first_k_dense_replace`; `mlp_layer_types`
  };
  enum class Renormalize { Always, Never, ByNormTopkProb };
  /// Whether experts are chosen group by group: `n_group`, `topk_group`.
  enum class Groups {
    None,
    Top2Sum,      ///< a group's score is the sum of its two best
    ByTopkMethod, ///< its best, if `topk_method` is group_limited_greedy
  };

  std::vector<llvm::StringRef> countKeys;
  const char *intermediateKey = nullptr;
  Layers layers = Layers::Every;
  /// When `first_k_dense_replace` is absent; nullopt: the key is required.
  std::optional<int64_t> leadingWhenAbsent;
  RouterScoring scoring = RouterScoring::Softmax;
  Renormalize renormalize = Renormalize::Always;
  bool renormalizeWhenAbsent = false;
  Groups groups = Groups::None;
  std::optional<int64_t> groupsWhenAbsent; ///< nullopt: the keys are required
  bool isScaled = false;                   ///< by `routed_scaling_factor`
  std::optional<double> scaleWhenAbsent;   ///< nullopt: the key is required
  bool hasShared = false;                  ///< `n_shared_experts`
};

struct Family {
  const char *modelType = nullptr;
  /// The only class in `architectures` this entry describes.
  const char *architecture = nullptr;

  /// Spellings of keys. The first is the one that messages ask for.
  struct Keys {
    using Names = std::vector<llvm::StringRef>;
    Names layers = {"num_hidden_layers"};
    Names hidden = {"hidden_size"};
    Names intermediate = {"intermediate_size"};
    Names heads = {"num_attention_heads"};
    Names kvHeads = {"num_key_value_heads"};
    Names maxPositions = {"max_position_embeddings"};
    Names normEps = {"rms_norm_eps"};
    Names activation = {"hidden_act"};
    Names headDim = {"head_dim"};
  } keys;

  BlockStructure block = BlockStructure::PreNorm;
  NormKind norm = NormKind::RMS;
  double normWeightOffset = 0;
  double normEps = 0; ///< when absent; 0: the key is required
  QKNorm qkNorm = QKNorm::None;
  bool gatedMlp = true;
  Activation activation = Activation::SiLU; ///< when absent
  FusedQKV fusedQKV = FusedQKV::Stacked;

  WhenAbsent kvHeads = WhenAbsent::Require;      ///< Derive: as many as heads
  WhenAbsent headDim = WhenAbsent::Derive;       ///< Derive: hidden / heads
  WhenAbsent intermediate = WhenAbsent::Require; ///< Derive: 4 * hidden
  int64_t maxPositions = 0; ///< when absent; 0: the key is required
  BiasRule qkvBias, oBias, mlpBias;
  bool tieWordEmbeddings = false; ///< when absent
  BiasRule lmHeadBias;

  RopeStyle ropeStyle = RopeStyle::Half;
  double ropeTheta = 10000; ///< when absent
  /// Other spellings of rope_theta and partial_rotary_factor.
  llvm::StringRef ropeThetaKey, fractionKey;
  /// Derive: heads rotate whole.
  WhenAbsent rotaryFraction = WhenAbsent::Derive;
  /// Gives the rotary width itself. Require: nothing else about the rotation is
  /// read. Derive: a fraction may say it instead, and the two must agree.
  llvm::StringRef rotaryDimKey;
  WhenAbsent rotaryDim = WhenAbsent::Require;
  bool rotaryDimStandsAlone() const {
    return !rotaryDimKey.empty() && rotaryDim == WhenAbsent::Require;
  }
  /// The theta of layers with a window, where theirs is another.
  llvm::StringRef slidingThetaKey;
  std::vector<RopeScalingKind> ropeScalings;
  /// Old names of longrope in `rope_scaling.type`.
  std::vector<llvm::StringRef> longRopeAliases;
  /// longrope without `original_max_position_embeddings`.
  WhenAbsent originalMaxPositions = WhenAbsent::Derive;

  WindowRule window = WindowRule::None;
  int64_t windowPeriod = 0;        ///< 0: `windowPeriodKey` gives it
  llvm::StringRef windowPeriodKey; ///< empty: there is none
  /// Names in `layer_types` of layers that attend to all tokens, besides
  /// full_attention.
  std::vector<llvm::StringRef> fullLayerTypes;
  MoeRule moe;
  /// Keys that only this family and few others have, and what they say. Called
  /// when sizes, structure and tensor names are known, to change them. The keys
  /// are then not refused as ones that nobody reads.
  std::vector<llvm::StringRef> ownKeys;
  void (*readOwn)(HFConfigFields &fields, DecoderConfig &config) = nullptr;
  /// The same when RoPE, layers and experts are known too.
  void (*readLast)(HFConfigFields &fields, DecoderConfig &config) = nullptr;

  std::string layerPrefix = "model.layers.{layer}.";
  std::array<std::string, kNumWeights> tensorNames;

  void name(Weight weight, llvm::StringRef tensor);
  /// Names a weight of a layer: `suffix` follows `layerPrefix`.
  void nameInLayer(Weight weight, llvm::StringRef suffix);
  bool hasMoE() const { return !moe.countKeys.empty(); }
};

/// Pre-norm sequential block, gated MLP, rotate-half RoPE: others are told by
/// their difference from it.
Family llamaFamily();

// Each is in a file of its own: HFFamilies<Name>.cpp.
void addLlamaFamilies(std::vector<Family> &families);
void addGemmaFamilies(std::vector<Family> &families);
void addOlmoFamilies(std::vector<Family> &families);
void addParallelFamilies(std::vector<Family> &families);
void addMoeFamilies(std::vector<Family> &families);
void addLatentFamilies(std::vector<Family> &families);
/// The router, experts and shared expert of DeepSeek-V3.
void addSigmoidExperts(Family &family);

/// Whole model types that are known but not read, and what they have that is
/// not supported yet: for messages.
struct UnsupportedModelType {
  llvm::StringRef modelType, reason;
};
llvm::ArrayRef<UnsupportedModelType> unsupportedModelTypes();

/// Sorted by model_type.
llvm::ArrayRef<Family> hfFamilies();

/// nullptr for an unknown model_type.
const Family *findFamily(llvm::StringRef modelType);

} // namespace layline

#endif // LAYLINE_LIB_IMPORT_HFCONFIGFAMILIES_H
