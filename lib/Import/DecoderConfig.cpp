//===- DecoderConfig.cpp - what a decoder model computes ------------------===//

#include "layline/Import/DecoderConfig.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cassert>

using namespace layline;
using llvm::StringRef;

namespace {

enum class Scope { Model, Layer, Expert };

/// In which layers a weight of a layer exists.
enum class Where { AnyLayer, DenseLayer, MoELayer, IndexedLayer };

constexpr int kQKVGroup = 1, kQKVBiasGroup = 2, kLatentUpGroup = 6,
              kExpertGroup = 5, kExpertBiasGroup = 7;

struct WeightTraits {
  Weight weight;
  const char *name;
  Scope scope;
  Where where;
  /// Weights of one non-zero group may share a stored tensor.
  int stackGroup;

  bool isOfQKV() const {
    return stackGroup == kQKVGroup || stackGroup == kQKVBiasGroup;
  }
};

constexpr WeightTraits kTraits[] = {
    {Weight::Embedding, "embedding", Scope::Model, Where::AnyLayer, 0},
    {Weight::FinalNorm, "final_norm", Scope::Model, Where::AnyLayer, 0},
    {Weight::FinalNormBias, "final_norm_bias", Scope::Model, Where::AnyLayer,
     0},
    {Weight::LmHead, "lm_head", Scope::Model, Where::AnyLayer, 0},
    {Weight::LmHeadBias, "lm_head_bias", Scope::Model, Where::AnyLayer, 0},
    {Weight::InputNorm, "input_norm", Scope::Layer, Where::AnyLayer, 0},
    {Weight::InputNormBias, "input_norm_bias", Scope::Layer, Where::AnyLayer,
     0},
    {Weight::Q, "q_proj", Scope::Layer, Where::AnyLayer, kQKVGroup},
    {Weight::K, "k_proj", Scope::Layer, Where::AnyLayer, kQKVGroup},
    {Weight::V, "v_proj", Scope::Layer, Where::AnyLayer, kQKVGroup},
    {Weight::O, "o_proj", Scope::Layer, Where::AnyLayer, 0},
    {Weight::QBias, "q_bias", Scope::Layer, Where::AnyLayer, kQKVBiasGroup},
    {Weight::KBias, "k_bias", Scope::Layer, Where::AnyLayer, kQKVBiasGroup},
    {Weight::VBias, "v_bias", Scope::Layer, Where::AnyLayer, kQKVBiasGroup},
    {Weight::OBias, "o_bias", Scope::Layer, Where::AnyLayer, 0},
    {Weight::QNorm, "q_norm", Scope::Layer, Where::AnyLayer, 0},
    {Weight::KNorm, "k_norm", Scope::Layer, Where::AnyLayer, 0},
    {Weight::Sinks, "sinks", Scope::Layer, Where::AnyLayer, 0},
    {Weight::QA, "q_a_proj", Scope::Layer, Where::AnyLayer, 0},
    {Weight::QABias, "q_a_bias", Scope::Layer, Where::AnyLayer, 0},
    {Weight::QANorm, "q_a_norm", Scope::Layer, Where::AnyLayer, 0},
    {Weight::QB, "q_b_proj", Scope::Layer, Where::AnyLayer, 0},
    {Weight::KVA, "kv_a_proj", Scope::Layer, Where::AnyLayer, 0},
    {Weight::KVABias, "kv_a_bias", Scope::Layer, Where::AnyLayer, 0},
    {Weight::KVANorm, "kv_a_norm", Scope::Layer, Where::AnyLayer, 0},
    {Weight::KeyUp, "key_up", Scope::Layer, Where::AnyLayer, kLatentUpGroup},
    {Weight::ValueUp, "value_up", Scope::Layer, Where::AnyLayer,
     kLatentUpGroup},
    {Weight::IndexQ, "index_q_proj", Scope::Layer, Where::IndexedLayer, 0},
    {Weight::IndexK, "index_k_proj", Scope::Layer, Where::IndexedLayer, 0},
    {Weight::IndexNorm, "index_k_norm", Scope::Layer, Where::IndexedLayer, 0},
    {Weight::IndexNormBias, "index_k_norm_bias", Scope::Layer,
     Where::IndexedLayer, 0},
    {Weight::IndexWeights, "index_weights", Scope::Layer, Where::IndexedLayer,
     0},
    {Weight::AttnBranchNorm, "attn_branch_norm", Scope::Layer, Where::AnyLayer,
     0},
    {Weight::MlpNorm, "mlp_norm", Scope::Layer, Where::AnyLayer, 0},
    {Weight::MlpNormBias, "mlp_norm_bias", Scope::Layer, Where::AnyLayer, 0},
    {Weight::MlpBranchNorm, "mlp_branch_norm", Scope::Layer, Where::AnyLayer,
     0},
    {Weight::Gate, "gate_proj", Scope::Layer, Where::DenseLayer, 3},
    {Weight::Up, "up_proj", Scope::Layer, Where::DenseLayer, 3},
    {Weight::Down, "down_proj", Scope::Layer, Where::DenseLayer, 0},
    {Weight::GateBias, "gate_bias", Scope::Layer, Where::DenseLayer, 4},
    {Weight::UpBias, "up_bias", Scope::Layer, Where::DenseLayer, 4},
    {Weight::DownBias, "down_bias", Scope::Layer, Where::DenseLayer, 0},
    {Weight::Router, "router", Scope::Layer, Where::MoELayer, 0},
    {Weight::RouterBias, "router_bias", Scope::Layer, Where::MoELayer, 0},
    {Weight::ChoiceBias, "choice_bias", Scope::Layer, Where::MoELayer, 0},
    {Weight::ExpertGate, "expert_gate", Scope::Expert, Where::MoELayer,
     kExpertGroup},
    {Weight::ExpertUp, "expert_up", Scope::Expert, Where::MoELayer,
     kExpertGroup},
    {Weight::ExpertDown, "expert_down", Scope::Expert, Where::MoELayer, 0},
    {Weight::ExpertGateBias, "expert_gate_bias", Scope::Expert, Where::MoELayer,
     kExpertBiasGroup},
    {Weight::ExpertUpBias, "expert_up_bias", Scope::Expert, Where::MoELayer,
     kExpertBiasGroup},
    {Weight::ExpertDownBias, "expert_down_bias", Scope::Expert, Where::MoELayer,
     0},
    {Weight::SharedGate, "shared_gate_proj", Scope::Layer, Where::MoELayer, 0},
    {Weight::SharedUp, "shared_up_proj", Scope::Layer, Where::MoELayer, 0},
    {Weight::SharedDown, "shared_down_proj", Scope::Layer, Where::MoELayer, 0},
};

constexpr bool traitsFollowTheEnum() {
  unsigned index = 0;
  for (const WeightTraits &traits : kTraits)
    if (static_cast<unsigned>(traits.weight) != index++)
      return false;
  return index == kNumWeights;
}
static_assert(traitsFollowTheEnum(), "kTraits is indexed by Weight");

const WeightTraits &traitsOf(Weight weight) {
  return kTraits[static_cast<unsigned>(weight)];
}

struct Shape {
  int64_t rows, cols;
};

Shape headNormShape(const DecoderConfig &config, int64_t heads) {
  switch (config.qkNorm) {
  case QKNorm::None:
  case QKNorm::PerHead:
    return {config.headDim, 0};
  case QKNorm::PerHeadWeight:
    return {heads, config.headDim};
  case QKNorm::FullWidth:
    return {heads * config.headDim, 0};
  }
  assert(false && "unknown norm of q and k");
  return {0, 0};
}

Shape shapeOf(const DecoderConfig &config, Weight weight) {
  const LatentConfig &latent = config.latent;
  switch (weight) {
  case Weight::Embedding:
  case Weight::LmHead:
    return {config.vocab, config.hidden};
  case Weight::LmHeadBias:
    return {config.vocab, 0};
  case Weight::FinalNorm:
  case Weight::FinalNormBias:
  case Weight::InputNorm:
  case Weight::InputNormBias:
  case Weight::AttnBranchNorm:
  case Weight::MlpNorm:
  case Weight::MlpNormBias:
  case Weight::MlpBranchNorm:
  case Weight::OBias:
  case Weight::DownBias:
    return {config.hidden, 0};
  case Weight::Q:
    return {config.isLatent() ? config.heads * latent.keyDim() : config.qDim(),
            config.hidden};
  case Weight::K:
  case Weight::V:
    return {config.kvDim(), config.hidden};
  case Weight::O:
    return {config.hidden, config.attentionDim()};
  case Weight::Sinks:
    return {config.heads, 0};
  case Weight::QA:
    return {latent.queryRank, config.hidden};
  case Weight::QABias:
  case Weight::QANorm:
    return {latent.queryRank, 0};
  case Weight::QB:
    return {config.heads * latent.keyDim(), latent.queryRank};
  case Weight::KVA:
    return {latent.rank + latent.ropeDim, config.hidden};
  case Weight::KVABias:
    return {latent.rank + latent.ropeDim, 0};
  case Weight::KVANorm:
    return {latent.rank, 0};
  case Weight::KeyUp:
    return {config.heads * latent.nopeDim, latent.rank};
  case Weight::ValueUp:
    return {config.heads * latent.valueDim, latent.rank};
  case Weight::IndexQ:
    return {config.indexer.heads * config.indexer.headDim, latent.queryRank};
  case Weight::IndexK:
    return {config.indexer.headDim, config.hidden};
  case Weight::IndexNorm:
  case Weight::IndexNormBias:
    return {config.indexer.headDim, 0};
  case Weight::IndexWeights:
    return {config.indexer.heads, config.hidden};
  case Weight::QBias:
    return {config.qDim(), 0};
  case Weight::KBias:
  case Weight::VBias:
    return {config.kvDim(), 0};
  case Weight::QNorm:
    return headNormShape(config, config.heads);
  case Weight::KNorm:
    return headNormShape(config, config.kvHeads);
  case Weight::Gate:
  case Weight::Up:
    return {config.intermediate, config.hidden};
  case Weight::Down:
    return {config.hidden, config.intermediate};
  case Weight::GateBias:
  case Weight::UpBias:
    return {config.intermediate, 0};
  case Weight::Router:
    return {config.moe.experts, config.hidden};
  case Weight::ExpertGate:
  case Weight::ExpertUp:
    return {config.moe.intermediate, config.hidden};
  case Weight::ExpertDown:
    return {config.hidden, config.moe.intermediate};
  case Weight::RouterBias:
  case Weight::ChoiceBias:
    return {config.moe.experts, 0};
  case Weight::ExpertGateBias:
  case Weight::ExpertUpBias:
    return {config.moe.intermediate, 0};
  case Weight::ExpertDownBias:
    return {config.hidden, 0};
  case Weight::SharedGate:
  case Weight::SharedUp:
    return {config.moe.sharedIntermediate, config.hidden};
  case Weight::SharedDown:
    return {config.hidden, config.moe.sharedIntermediate};
  }
  assert(false && "unknown weight");
  return {0, 0};
}

bool layerHas(const LayerConfig &layer, Where where) {
  switch (where) {
  case Where::AnyLayer:
    return true;
  case Where::DenseLayer:
    return layer.mlp == MlpKind::Dense;
  case Where::MoELayer:
    return layer.mlp == MlpKind::MoE;
  case Where::IndexedLayer:
    return !layer.sharesIndexer;
  }
  return false;
}

void replaceIndex(std::string &name, StringRef placeholder, int64_t index) {
  size_t at = name.find(placeholder.str());
  if (at != std::string::npos)
    name.replace(at, placeholder.size(), std::to_string(index));
}

} // namespace

bool DecoderConfig::has(Weight weight, int64_t layer) const {
  if (tensorNames[static_cast<unsigned>(weight)].empty())
    return false;
  const WeightTraits &traits = traitsOf(weight);
  if (traits.scope == Scope::Model)
    return true;
  if (layer < 0)
    return llvm::any_of(perLayer, [&](const LayerConfig &entry) {
      return layerHas(entry, traits.where);
    });
  return layerHas(perLayer[layer], traits.where);
}

StoredWeight DecoderConfig::find(Weight weight, int64_t layer,
                                 int64_t expert) const {
  const WeightTraits &traits = traitsOf(weight);
  assert(has(weight, layer) && "the model has no such weight");
  assert((layer >= 0) == (traits.scope != Scope::Model));
  assert(expert < 0 || traits.scope == Scope::Expert);

  StoredWeight stored;
  stored.tensor = tensorNames[static_cast<unsigned>(weight)];
  stored.storedCols = shapeOf(*this, weight).cols;
  for (const WeightTraits &other : kTraits) {
    bool stacked =
        other.weight == weight ||
        (traits.stackGroup != 0 && other.stackGroup == traits.stackGroup &&
         tensorNames[static_cast<unsigned>(other.weight)] == stored.tensor);
    if (!stacked)
      continue;
    if (other.weight == weight)
      stored.rowBegin = stored.storedRows;
    stored.storedRows += shapeOf(*this, other.weight).rows;
    if (other.weight == weight)
      stored.rowEnd = stored.storedRows;
  }
  // Stacked within each KV head's rows instead of in the whole tensor.
  if (fusedQKV == FusedQKV::ByKVHead && traits.isOfQKV() &&
      !stored.isWholeTensor()) {
    stored.rowBegin /= kvHeads;
    stored.rowEnd /= kvHeads;
    stored.period = stored.storedRows / kvHeads;
  }
  // Of every head the rows that make its key, then those that make its value.
  if (traits.stackGroup == kLatentUpGroup && !stored.isWholeTensor()) {
    stored.rowBegin /= heads;
    stored.rowEnd /= heads;
    stored.period = stored.storedRows / heads;
  }
  if (traits.scope == Scope::Expert &&
      moe.storage == ExpertStorage::StackedTransposed) {
    stored.stack = moe.experts;
    stored.isTransposed = stored.storedCols != 0;
    // Gate and up take turns, column by column.
    if (!stored.isWholeTensor()) {
      stored.rowBegin = stored.rowBegin == 0 ? 0 : 1;
      stored.rowEnd = stored.rowBegin + 1;
      stored.period = 2;
    }
  }
  replaceIndex(stored.tensor, "{layer}", layer);
  if (expert >= 0)
    replaceIndex(stored.tensor, "{expert}", expert);
  return stored;
}

std::vector<WeightInstance> DecoderConfig::weights() const {
  std::vector<WeightInstance> all;
  all.push_back({Weight::Embedding});
  for (int64_t layer = 0; layer < layers; ++layer) {
    for (const WeightTraits &traits : kTraits)
      if (traits.scope == Scope::Layer && has(traits.weight, layer))
        all.push_back({traits.weight, layer});
    if (perLayer[layer].mlp != MlpKind::MoE)
      continue;
    bool isStacked = moe.storage == ExpertStorage::StackedTransposed;
    for (int64_t expert = 0; expert < (isStacked ? 1 : moe.experts); ++expert)
      for (const WeightTraits &traits : kTraits)
        if (traits.scope == Scope::Expert && has(traits.weight, layer))
          all.push_back({traits.weight, layer, isStacked ? -1 : expert});
  }
  for (Weight weight : {Weight::FinalNorm, Weight::FinalNormBias,
                        Weight::LmHead, Weight::LmHeadBias})
    if (has(weight))
      all.push_back({weight});
  return all;
}

StringRef layline::weightName(Weight weight) { return traitsOf(weight).name; }

StringRef layline::blockStructureName(BlockStructure structure) {
  switch (structure) {
  case BlockStructure::PreNorm:
    return "pre_norm";
  case BlockStructure::PostNorm:
    return "post_norm_before_add";
  case BlockStructure::Sandwich:
    return "sandwich";
  case BlockStructure::ParallelOneNorm:
    return "parallel_one_norm";
  case BlockStructure::ParallelTwoNorms:
    return "parallel_two_norm";
  }
  return "";
}

StringRef layline::elementTypeName(ElementType type) {
  switch (type) {
  case ElementType::BFloat16:
    return "bf16";
  case ElementType::Float16:
    return "f16";
  case ElementType::Float32:
    return "f32";
  }
  return "";
}
