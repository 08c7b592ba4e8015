//===- HFFamiliesGemma.cpp - norms on both sides of a branch --------------===//
//
// Source of every fact: configuration_<type>.py and modeling_<type>.py of
// transformers 5.24.0; tensor names as checkpoints on the hub have them.
//
//===----------------------------------------------------------------------===//

#include "HFConfigFamilies.h"
#include "HFConfigFields.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace layline;
using llvm::StringRef;

namespace {

/// The factor is a tensor of the weights' type in HF: rounded to it.
double roundTo(ElementType type, double value) {
  llvm::APFloat rounded(value);
  bool losesInfo = false;
  auto semantics = [&]() -> const llvm::fltSemantics & {
    switch (type) {
    case ElementType::BFloat16:
      return llvm::APFloat::BFloat();
    case ElementType::Float16:
      return llvm::APFloat::IEEEhalf();
    case ElementType::Float32:
      break;
    }
    return llvm::APFloat::IEEEsingle();
  };
  rounded.convert(semantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.convertToDouble();
}

/// A cap that HF would take from one published model where the key is absent;
/// null: none.
double readCap(HFConfigFields &fields, StringRef key) {
  if (!fields.find(key))
    return fields.number({key});
  return fields.optionalNumber({key}).value_or(0);
}

void readScales(HFConfigFields &fields, DecoderConfig &config) {
  config.attentionScale =
      1 / std::sqrt(fields.number({"query_pre_attn_scalar"})); // HF: 256
  config.embeddingScale =
      roundTo(config.dtype, std::sqrt(static_cast<double>(config.hidden)));
}

void readGemma2(HFConfigFields &fields, DecoderConfig &config) {
  readScales(fields, config);
  config.attentionSoftcap = readCap(fields, "attn_logit_softcapping");
  config.logitsSoftcap = readCap(fields, "final_logit_softcapping");
}

void readGemma3(HFConfigFields &fields, DecoderConfig &config) {
  readScales(fields, config);
  config.logitsSoftcap =
      fields.optionalNumber({"final_logit_softcapping"}).value_or(0);
}

Family gemma2() {
  Family f = llamaFamily();
  f.modelType = "gemma2";
  f.architecture = "Gemma2ForCausalLM";
  f.block = BlockStructure::Sandwich;
  f.normWeightOffset = 1;
  f.keys.activation = {"hidden_activation"};
  f.activation = Activation::GELUTanh;
  f.kvHeads = WhenAbsent::Require; // HF: 4
  f.headDim = WhenAbsent::Require; // HF: 256
  f.mlpBias = BiasRule::never();
  f.tieWordEmbeddings = true;
  f.window = WindowRule::LayerTypes; // HF: 4096
  f.windowPeriod = 2;
  f.ownKeys = {"query_pre_attn_scalar", "attn_logit_softcapping",
               "final_logit_softcapping"};
  f.readOwn = readGemma2;
  f.nameInLayer(Weight::AttnBranchNorm, "post_attention_layernorm.weight");
  f.nameInLayer(Weight::MlpNorm, "pre_feedforward_layernorm.weight");
  f.nameInLayer(Weight::MlpBranchNorm, "post_feedforward_layernorm.weight");
  return f;
}

Family gemma3Text() {
  Family f = gemma2();
  f.modelType = "gemma3_text";
  f.architecture = "Gemma3ForCausalLM";
  f.qkNorm = QKNorm::PerHead;
  f.ropeTheta = 1e6;
  f.slidingThetaKey = "rope_local_base_freq";
  f.windowPeriod = 0;
  f.windowPeriodKey = "sliding_window_pattern"; // HF: 6
  f.ownKeys = {"query_pre_attn_scalar", "final_logit_softcapping"};
  f.readOwn = readGemma3;
  f.nameInLayer(Weight::QNorm, "self_attn.q_norm.weight");
  f.nameInLayer(Weight::KNorm, "self_attn.k_norm.weight");
  return f;
}

} // namespace

void layline::addGemmaFamilies(std::vector<Family> &families) {
  families.insert(families.end(), {gemma2(), gemma3Text()});
}
