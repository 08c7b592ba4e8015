//===- DecoderConfig.h - what a decoder model computes ----------*- C++ -*-===//
//
// The facts of one decoder-only model that decide its dataflow, sizes and
// numbers, after validation: every value is present, in range and consistent
// with the others. The importer builds it from a Hugging Face config.json
// (HFConfig.h); the emission of decoder IR reads nothing else.
//
// Sizes are counts of elements. "HF" is transformers 5.24.0.
//
//===----------------------------------------------------------------------===//

#ifndef LAYLINE_IMPORT_DECODERCONFIG_H
#define LAYLINE_IMPORT_DECODERCONFIG_H

#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace layline {

/// Element type of weights and activations (`dtype`, older `torch_dtype`).
enum class ElementType { BFloat16, Float16, Float32 };

/// How the norms, the two branches and the residual of a layer go together. x
/// enters, y leaves; n1, n2, ... are norms with a weight each.
enum class BlockStructure {
  PreNorm,          ///< h = x + attn(n1 x); y = h + mlp(n2 h)
  PostNorm,         ///< h = x + n1(attn x); y = h + n2(mlp h): OLMo-2
  Sandwich,         ///< h = x + n2(attn(n1 x)); y = h + n4(mlp(n3 h)): Gemma-2
  ParallelOneNorm,  ///< y = x + attn(n1 x) + mlp(n1 x): Cohere, Phi, GPT-J
  ParallelTwoNorms, ///< y = x + attn(n1 x) + mlp(n2 x): GPT-NeoX, Falcon-40B
};

/// The function of an MLP: y = f(gate(x)) * up(x), or y = f(up(x)) where it is
/// not gated. `GELU` is the erf form ("gelu"), `GELUTanh` its tanh
/// approximation
/// ("gelu_pytorch_tanh", "gelu_new").
enum class Activation { SiLU, GELU, GELUTanh, ReLU };

enum class MlpKind { Dense, MoE };

/// How router logits become expert weights. Softmax: over all experts, in
/// float32 or wider, before the top-k selection.
enum class RouterScoring { Softmax, Sigmoid };

/// What a group of experts is chosen by: its best expert, or the sum of its two
/// best.
enum class GroupScore { Max, Top2Sum };

/// How the weights of experts are stored.
enum class ExpertStorage {
  PerExpert, ///< one tensor each: "{expert}" in the name
  /// One tensor of all: gate and up [experts, in, 2 * intermediate] in turns,
  /// down [experts, intermediate, out]; biases [experts, ...] alike. gpt-oss.
  StackedTransposed,
};

/// Which elements of a head form a rotated pair. Half: (i, i + rotaryDim / 2).
/// Interleaved: (2i, 2i + 1). InterleavedToHalf: they come in as the latter and
/// go out as the former.
enum class RopeStyle { Half, Interleaved, InterleavedToHalf };

enum class RopeScalingKind { None, Linear, Llama3, Yarn, LongRope };

enum class NormKind { RMS, Layer };

/// RMSNorm: y = x / sqrt(mean(x^2) + eps) * (weight + weightOffset).
/// LayerNorm: y = (x - mean) / sqrt(var(x) + eps) * (weight + weightOffset),
/// + bias where there is one.
struct NormConfig {
  double eps = 0;
  /// 0 for the Llama line; 1 where weights are stored as deviations from one.
  double weightOffset = 0;
  NormKind kind = NormKind::RMS;
};

/// Norm of q and of k before RoPE.
enum class QKNorm {
  None,
  PerHead,       ///< each head by itself, one weight [headDim] for all
  PerHeadWeight, ///< each head by itself with its own weight: [heads, headDim]
  FullWidth,     ///< over all heads together: [heads * headDim], OLMo-2
};

/// Changes to the plain frequencies theta^(-2i / rotaryDim). Only the fields of
/// the given kind are meaningful; RopeTable.h holds the formulas.
struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::None;
  /// Linear, Llama3, Yarn: as given. LongRope: as given, else
  /// maxPositions / originalMaxPositions.
  double factor = 1;
  /// Llama3, Yarn, LongRope: context length of pre-training, in tokens.
  int64_t originalMaxPositions = 0;
  double lowFreqFactor = 0;  ///< Llama3
  double highFreqFactor = 0; ///< Llama3
  double betaFast = 32;      ///< Yarn
  double betaSlow = 1;       ///< Yarn
  bool truncate = true;      ///< Yarn: round the correction range to integers.
  /// Yarn: 0 means absent; the pair counts only when both are non-zero.
  double mscale = 0, mscaleAllDim = 0;
  /// Yarn, LongRope: multiplies cos and sin. Absent: derived from `factor`.
  std::optional<double> attentionFactor;
  /// LongRope: divisors of the frequencies, rotaryDim / 2 each.
  std::vector<double> shortFactor, longFactor;
};

struct RopeConfig {
  RopeStyle style = RopeStyle::Half;
  /// Leading elements of each head that rotate; even, 2 .. headDim. HF:
  /// int(headDim * partial_rotary_factor).
  int64_t rotaryDim = 0;
  double theta = 0;
  RopeScaling scaling;
};

/// Routed experts of the layers whose MLP is MoE.
struct MoeConfig {
  int64_t experts = 0; ///< num_experts | num_local_experts; 0: no MoE layer
  int64_t topK = 0;    ///< num_experts_per_tok, 1 .. experts
  int64_t intermediate = 0; ///< columns of one expert's gate and of its up
  RouterScoring scoring = RouterScoring::Softmax;
  /// Divide the top-k weights by their sum (`norm_topk_prob`).
  bool renormalize = false;
  double scale = 1; ///< of the weights, after that (`routed_scaling_factor`)
  /// Experts are taken of the best groups only; 0 groups: of all.
  int64_t groups = 0, chosenGroups = 0;
  GroupScore groupScore = GroupScore::Max;
  ExpertStorage storage = ExpertStorage::PerExpert;
  /// f(gate) * up becomes f(min(gate, limit)) * (clamp(up) + upOffset), with
  /// f(x) = x / (1 + exp(-alpha x)); 0: no limit.
  double limit = 0, alpha = 1, upOffset = 0;
  /// Columns of the experts that every row goes through; 0: none.
  int64_t sharedIntermediate = 0;
};

/// Attention over latent rows (MLA). Heads are [nopeDim | ropeDim] wide, values
/// valueDim.
struct LatentConfig {
  int64_t queryRank = 0; ///< of the latent of queries; 0: q is one product
  int64_t rank = 0;      ///< of the latent of keys and values; 0: no MLA
  int64_t nopeDim = 0, ropeDim = 0, valueDim = 0;
  double normEps = 1e-6; ///< of the norms of both latents
  int64_t keyDim() const { return nopeDim + ropeDim; }
};

/// Chooses the rows that latent attention looks at (DSA).
struct IndexerConfig {
  int64_t heads = 0; ///< 0: none
  int64_t headDim = 0;
  int64_t topK = 0;
  RopeStyle ropeStyle =
      RopeStyle::Half;   ///< of the first latent.ropeDim columns
  double normEps = 1e-6; ///< of the key's layer norm
};

/// Rows that products read in fp8 E4M3: Activations.h.
struct QuantizedRows {
  int64_t groupSize = 0; ///< features with a scale of their own; 0: all
};

/// What `quantization_config` says; strings are empty where it says nothing.
struct StoredQuantization {
  std::string method;                ///< empty: weights are of the model's type
  std::string format;                ///< `fmt`
  std::string scheme;                ///< `activation_scheme`
  std::vector<int64_t> block;        ///< `weight_block_size`: [out, in]
  std::vector<std::string> excluded; ///< `modules_to_not_convert`
};

struct LayerConfig {
  /// Keys a query sees, itself included; 0: all earlier ones.
  int64_t slidingWindow = 0;
  MlpKind mlp = MlpKind::Dense;
  /// Rows are selected as in the layer before: no indexer of its own.
  bool sharesIndexer = false;
};

/// How q, k and v are stored in one tensor, if they are.
enum class FusedQKV {
  Stacked,  ///< all of q, then all of k, then all of v
  ByKVHead, ///< KV head by KV head: its query heads, its key, its value
};

/// The weights of a model by what they are for. Names of a layer's weights
/// depend on the layer, those of experts also on the expert.
enum class Weight {
  Embedding, ///< [vocab, hidden]
  FinalNorm, ///< [hidden]
  FinalNormBias,
  LmHead,        ///< [vocab, hidden]; the embedding's tensor when tied
  LmHeadBias,    ///< [vocab]
  InputNorm,     ///< [hidden], before attention
  InputNormBias, ///< [hidden], as all biases of norms
  Q,             ///< [heads * headDim, hidden]
  K,             ///< [kvHeads * headDim, hidden]
  V,             ///< [kvHeads * headDim, hidden]
  O,             ///< [hidden, heads * headDim]; MLA: heads * valueDim
  QBias,
  KBias,
  VBias,
  OBias,
  QNorm, ///< as QKNorm says
  KNorm,
  Sinks, ///< [heads], a logit of each head's softmax
  QA,    ///< MLA: [queryRank, hidden]
  QABias,
  QANorm, ///< [queryRank]
  QB,     ///< [heads * keyDim, queryRank]
  KVA,    ///< [rank + ropeDim, hidden]
  KVABias,
  KVANorm,   ///< [rank]
  KeyUp,     ///< [heads * nopeDim, rank]
  ValueUp,   ///< [heads * valueDim, rank]
  IndexQ,    ///< [indexer heads * headDim, queryRank]
  IndexK,    ///< [indexer headDim, hidden]
  IndexNorm, ///< [indexer headDim]
  IndexNormBias,
  IndexWeights,   ///< [indexer heads, hidden]
  AttnBranchNorm, ///< [hidden], of what attention adds to the residual
  MlpNorm,        ///< [hidden], before the MLP
  MlpNormBias,
  MlpBranchNorm, ///< [hidden], of what the MLP adds to the residual
  Gate,          ///< [intermediate, hidden]; absent if the MLP is not gated
  Up,            ///< [intermediate, hidden]
  Down,          ///< [hidden, intermediate]
  GateBias,
  UpBias,
  DownBias,
  Router,     ///< [experts, hidden]
  RouterBias, ///< [experts]
  ChoiceBias, ///< [experts], added to the scores for the choice only
  ExpertGate, ///< [moe.intermediate, hidden]
  ExpertUp,   ///< [moe.intermediate, hidden]
  ExpertDown, ///< [hidden, moe.intermediate]
  ExpertGateBias,
  ExpertUpBias,
  ExpertDownBias,
  SharedGate, ///< [moe.sharedIntermediate, hidden]
  SharedUp,
  SharedDown, ///< [hidden, moe.sharedIntermediate]
};
inline constexpr unsigned kNumWeights =
    static_cast<unsigned>(Weight::SharedDown) + 1;

/// A weight inside a checkpoint: rows [rowBegin, rowEnd) of one stored tensor,
/// or of every `period` rows of it. A stored linear weight is [out, in]:
/// y = x * W^T.
struct StoredWeight {
  std::string tensor; ///< safetensors key
  /// Shape of the whole stored tensor; cols is 0 for a vector.
  int64_t storedRows = 0, storedCols = 0;
  /// The part that is this weight; all rows unless projections are fused.
  int64_t rowBegin = 0, rowEnd = 0;
  /// 0: one window. Else a divisor of storedRows, at least rowEnd.
  int64_t period = 0;
  int64_t stack = 0; ///< experts in front, in one stored tensor; 0: none
  bool isTransposed = false; ///< stored [cols, rows]

  int64_t rows() const {
    return (rowEnd - rowBegin) * (period ? storedRows / period : 1);
  }
  bool isWholeTensor() const { return rows() == storedRows; }
};

/// One weight of the model with the layer and expert it belongs to, -1 where
/// that does not apply.
struct WeightInstance {
  Weight weight;
  int64_t layer = -1;
  int64_t expert = -1; ///< also where one tensor has all experts
};

struct DecoderConfig {
  std::string modelType; ///< `model_type`, the family's name

  int64_t layers = 0;       ///< num_hidden_layers
  int64_t hidden = 0;       ///< hidden_size
  int64_t vocab = 0;        ///< vocab_size
  int64_t heads = 0;        ///< num_attention_heads (query heads)
  int64_t kvHeads = 0;      ///< num_key_value_heads; divides heads
  int64_t headDim = 0;      ///< head_dim, else hidden / heads
  int64_t intermediate = 0; ///< intermediate_size, of dense layers
  int64_t maxPositions = 0; ///< max_position_embeddings, in tokens

  BlockStructure block = BlockStructure::PreNorm;
  NormConfig norm; ///< of every norm, q/k norms included
  QKNorm qkNorm = QKNorm::None;
  bool gatedMlp = true; ///< of dense layers
  Activation activation = Activation::SiLU;
  ElementType dtype = ElementType::BFloat16;

  double embeddingScale = 1; ///< of the embedding's rows
  double residualScale = 1;  ///< of what a branch adds to the residual
  /// Softmax argument is scale * q.k; 1 / sqrt(headDim) unless a key says
  /// otherwise.
  double attentionScale = 0;
  /// The softmax argument s becomes c * tanh(s / c); 0: it stays.
  double attentionSoftcap = 0;
  double logitsScale = 1;
  double logitsSoftcap = 0; ///< after the scale

  bool qkvBias = false;
  bool oBias = false;
  bool mlpBias = false; ///< gate, up and down of dense layers
  bool tieWordEmbeddings = false;
  FusedQKV fusedQKV = FusedQKV::Stacked;

  RopeConfig rope;
  /// Of layers with a sliding window, where theirs is another: Gemma-3.
  std::optional<RopeConfig> slidingRope;
  MoeConfig moe;
  LatentConfig latent;
  IndexerConfig indexer;
  StoredQuantization checkpoint;
  std::optional<QuantizedRows> quantizedRows;
  std::vector<LayerConfig> perLayer; ///< `layers` entries

  /// Values that the file leaves out and that were filled in as HF does, where
  /// a reader may want to know: whole sentences without a final stop, for the
  /// tool to print as remarks.
  std::vector<std::string> assumptions;

  /// safetensors key of each weight, by Weight; "{layer}" and "{expert}" stand
  /// for the indices, empty: this model has no such weight. Weights of one
  /// group (Q K V, their biases, Gate Up, ExpertGate ExpertUp) with equal
  /// names are stored stacked along rows in that order.
  std::array<std::string, kNumWeights> tensorNames;

  std::string &tensorName(Weight weight) {
    return tensorNames[static_cast<unsigned>(weight)];
  }
  int64_t qDim() const { return heads * headDim; }
  int64_t kvDim() const { return kvHeads * headDim; }
  bool hasMoE() const { return moe.experts > 0; }
  bool isLatent() const { return latent.rank > 0; }
  /// Columns of what o_proj reads.
  int64_t attentionDim() const {
    return isLatent() ? heads * latent.valueDim : qDim();
  }
  /// Both branches read the layer's input and their sum is one.
  bool isParallel() const {
    return block == BlockStructure::ParallelOneNorm ||
           block == BlockStructure::ParallelTwoNorms;
  }

  const RopeConfig &ropeOf(int64_t layer) const {
    return slidingRope && perLayer[layer].slidingWindow ? *slidingRope : rope;
  }

  /// Whether the weight exists; for a weight of a layer, in that layer.
  bool has(Weight weight, int64_t layer = -1) const;

  /// Where the weight is stored. `layer` must be given exactly when the weight
  /// has one, and the weight must exist there. Without `expert`, an expert's
  /// weight stands for those of all: "{expert}" stays in the key.
  StoredWeight find(Weight weight, int64_t layer = -1,
                    int64_t expert = -1) const;

  /// Every weight, in the order of computation: embedding, layers, final norm,
  /// lm_head (also when tied).
  std::vector<WeightInstance> weights() const;
};

/// "q_proj", "input_norm", ...: for messages and SSA names.
llvm::StringRef weightName(Weight weight);

/// "pre_norm", "post_norm_before_add", "sandwich", "parallel_one_norm",
/// "parallel_two_norm".
llvm::StringRef blockStructureName(BlockStructure structure);

/// "bf16", "f16", "f32".
llvm::StringRef elementTypeName(ElementType type);

} // namespace layline

#endif // LAYLINE_IMPORT_DECODERCONFIG_H
