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

/// The function between gate and up: y = f(gate(x)) * up(x). `GELU` is the erf
/// form ("gelu"), `GELUTanh` its tanh approximation ("gelu_pytorch_tanh").
enum class Activation { SiLU, GELU, GELUTanh, ReLU };

enum class MlpKind { Dense, MoE };

/// How router logits become expert weights. Softmax: over all experts, in
/// float32 or wider, before the top-k selection.
enum class RouterScoring { Softmax };

/// Which elements of a head form a rotated pair. Half: (i, i + rotaryDim / 2).
/// Interleaved: (2i, 2i + 1).
enum class RopeStyle { Half, Interleaved };

enum class RopeScalingKind { None, Linear, Llama3, Yarn, LongRope };

/// RMSNorm: y = x / sqrt(mean(x^2) + eps) * (weight + weightOffset).
struct NormConfig {
  double eps = 0;
  /// 0 for the Llama line; 1 where weights are stored as deviations from one.
  double weightOffset = 0;
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
};

struct LayerConfig {
  /// Keys a query sees, itself included; 0: all earlier ones.
  int64_t slidingWindow = 0;
  MlpKind mlp = MlpKind::Dense;
};

/// The weights of a model by what they are for. Names of a layer's weights
/// depend on the layer, those of experts also on the expert.
enum class Weight {
  Embedding, ///< [vocab, hidden]
  FinalNorm, ///< [hidden]
  LmHead,    ///< [vocab, hidden]; the embedding's tensor when tied
  InputNorm, ///< [hidden], before attention
  Q,         ///< [heads * headDim, hidden]
  K,         ///< [kvHeads * headDim, hidden]
  V,         ///< [kvHeads * headDim, hidden]
  O,         ///< [hidden, heads * headDim]
  QBias,
  KBias,
  VBias,
  OBias,
  QNorm,   ///< [headDim], one norm used by every head, before RoPE
  KNorm,   ///< [headDim]
  MlpNorm, ///< [hidden], before the MLP (HF: post_attention_layernorm)
  Gate,    ///< [intermediate, hidden]
  Up,      ///< [intermediate, hidden]
  Down,    ///< [hidden, intermediate]
  GateBias,
  UpBias,
  DownBias,
  Router,     ///< [experts, hidden]
  ExpertGate, ///< [moe.intermediate, hidden]
  ExpertUp,   ///< [moe.intermediate, hidden]
  ExpertDown, ///< [hidden, moe.intermediate]
};
inline constexpr unsigned kNumWeights =
    static_cast<unsigned>(Weight::ExpertDown) + 1;

/// A weight inside a checkpoint: rows [rowBegin, rowEnd) of one stored tensor.
/// A stored linear weight is [out, in]: y = x * W^T.
struct StoredWeight {
  std::string tensor; ///< safetensors key
  /// Shape of the whole stored tensor; cols is 0 for a vector.
  int64_t storedRows = 0, storedCols = 0;
  /// The part that is this weight; all rows unless projections are fused.
  int64_t rowBegin = 0, rowEnd = 0;

  int64_t rows() const { return rowEnd - rowBegin; }
  bool isWholeTensor() const { return rows() == storedRows; }
};

/// One weight of the model with the layer and expert it belongs to, -1 where
/// that does not apply.
struct WeightInstance {
  Weight weight;
  int64_t layer = -1;
  int64_t expert = -1;
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

  NormConfig norm; ///< of every norm, q/k norms included
  /// Softmax argument is scale * q.k; 1 / sqrt(headDim) for these families.
  double attentionScale = 0;
  Activation activation = Activation::SiLU;
  ElementType dtype = ElementType::BFloat16;

  bool qkvBias = false;
  bool oBias = false;
  bool mlpBias = false; ///< gate, up and down of dense layers
  bool qkNorm = false;  ///< per-head RMSNorm of q and k before RoPE
  bool tieWordEmbeddings = false;

  RopeConfig rope;
  MoeConfig moe;
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

  int64_t qDim() const { return heads * headDim; }
  int64_t kvDim() const { return kvHeads * headDim; }
  bool hasMoE() const { return moe.experts > 0; }

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

/// "bf16", "f16", "f32".
llvm::StringRef elementTypeName(ElementType type);

} // namespace layline

#endif // LAYLINE_IMPORT_DECODERCONFIG_H
