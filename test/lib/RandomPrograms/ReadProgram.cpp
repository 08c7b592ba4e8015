//===- ReadProgram.cpp - the program that a tape stands for ---------------===//
#include "RandomPrograms.h"
#include <cmath>
#include <sstream>
#include <tuple>

using namespace layline;
using namespace layline::test;

namespace {

class Reader {
public:
  explicit Reader(const Tape &tape) : tape(tape) {}

  /// From `min` to `max`, growing with the next number of the tape.
  int64_t size(int64_t min, int64_t max) {
    int64_t choice = next < tape.size() ? tape[next] : 0;
    ++next;
    return min + choice * (max - min + 1) / (kMaxChoice + 1);
  }
  bool flag() { return size(0, 1) == 1; }
  template <typename T> T pick(std::initializer_list<T> options) {
    return options.begin()[size(0, options.size() - 1)];
  }

private:
  const Tape &tape;
  size_t next = 0;
};

} // namespace

static void readSizes(Reader &reader, DecoderConfig &config) {
  config.modelType = "random";
  config.layers = reader.size(1, 3);
  config.kvHeads = reader.size(1, 5);
  config.heads = config.kvHeads * reader.size(1, 3);
  config.headDim = 2 * reader.size(1, 3);
  config.hidden = reader.size(2, 21);
  config.vocab = reader.size(2, 23);
  config.intermediate = reader.size(1, 13);
  config.maxPositions = 4096;
  config.dtype = reader.pick(
      {ElementType::Float32, ElementType::BFloat16, ElementType::Float16});
  config.activation = reader.pick({Activation::SiLU, Activation::GELU,
                                   Activation::GELUTanh, Activation::ReLU});
  config.norm = {reader.pick({1e-5, 1e-6}), reader.pick({0.0, 1.0})};
  config.attentionScale = reader.flag() ? 0.5 : 1 / std::sqrt(config.headDim);
}

static void readRope(Reader &reader, DecoderConfig &config) {
  RopeConfig &rope = config.rope;
  rope.style = reader.pick({RopeStyle::Half, RopeStyle::Interleaved});
  rope.rotaryDim = 2 * reader.size(1, config.headDim / 2);
  rope.theta = reader.pick({10000.0, 500000.0});
  rope.scaling.kind =
      reader.pick({RopeScalingKind::None, RopeScalingKind::Linear,
                   RopeScalingKind::LongRope});
  rope.scaling.factor = 4;
  if (rope.scaling.kind != RopeScalingKind::LongRope)
    return;
  rope.scaling.originalMaxPositions = 256;
  rope.scaling.shortFactor.assign(rope.rotaryDim / 2, 1.0);
  rope.scaling.longFactor.assign(rope.rotaryDim / 2, 3.0);
}

static void readLayers(Reader &reader, DecoderConfig &config) {
  MoeConfig moe;
  moe.experts = reader.size(1, 5);
  moe.topK = reader.size(1, moe.experts);
  moe.intermediate = reader.size(1, 7);
  moe.renormalize = reader.flag();
  bool hasMoE = false;
  for (int64_t layer = 0; layer < 3; ++layer) {
    LayerConfig entry;
    entry.mlp = reader.pick({MlpKind::Dense, MlpKind::MoE});
    entry.slidingWindow = reader.size(0, 5);
    if (layer >= config.layers)
      continue;
    hasMoE |= entry.mlp == MlpKind::MoE;
    config.perLayer.push_back(entry);
  }
  if (hasMoE)
    config.moe = moe;
}

/// Names of weights are what says that there are any, and which are stored
/// together.
static void readWeights(Reader &reader, DecoderConfig &config) {
  auto set = [&](Weight weight, std::string name) {
    config.tensorNames[static_cast<unsigned>(weight)] = std::move(name);
  };
  auto ofLayer = [&](Weight weight, const std::string &name) {
    set(weight, "model.layers.{layer}." + name);
  };
  config.qkvBias = reader.flag();
  config.oBias = reader.flag();
  config.mlpBias = reader.flag();
  constexpr QKNorm norms[] = {QKNorm::None, QKNorm::PerHead, QKNorm::FullWidth};
  config.qkNorm = norms[reader.size(0, 2)];
  config.tieWordEmbeddings = reader.flag();
  bool fusedQkv = reader.flag(), fusedGateUp = reader.flag();

  set(Weight::Embedding, "model.embed_tokens.weight");
  set(Weight::LmHead, config.tieWordEmbeddings ? "model.embed_tokens.weight"
                                               : "lm_head.weight");
  set(Weight::FinalNorm, "model.norm.weight");
  ofLayer(Weight::InputNorm, "input_layernorm.weight");
  ofLayer(Weight::MlpNorm, "post_attention_layernorm.weight");
  auto project = [&](Weight weight, Weight bias, const std::string &name,
                     bool hasBias) {
    ofLayer(weight, name + ".weight");
    if (hasBias)
      ofLayer(bias, name + ".bias");
  };
  auto attn = [&](const char *name) {
    return std::string("self_attn.") + (fusedQkv ? "qkv" : name) + "_proj";
  };
  project(Weight::Q, Weight::QBias, attn("q"), config.qkvBias);
  project(Weight::K, Weight::KBias, attn("k"), config.qkvBias);
  project(Weight::V, Weight::VBias, attn("v"), config.qkvBias);
  project(Weight::O, Weight::OBias, "self_attn.o_proj", config.oBias);
  auto mlp = [&](const char *name) {
    return std::string("mlp.") + (fusedGateUp ? "gate_up" : name) + "_proj";
  };
  project(Weight::Gate, Weight::GateBias, mlp("gate"), config.mlpBias);
  project(Weight::Up, Weight::UpBias, mlp("up"), config.mlpBias);
  project(Weight::Down, Weight::DownBias, "mlp.down_proj", config.mlpBias);
  if (config.qkNorm != QKNorm::None) {
    ofLayer(Weight::QNorm, "self_attn.q_norm.weight");
    ofLayer(Weight::KNorm, "self_attn.k_norm.weight");
  }
  if (!config.hasMoE())
    return;
  ofLayer(Weight::Router, "mlp.gate.weight");
  ofLayer(Weight::ExpertGate, "mlp.experts.{expert}.gate_proj.weight");
  ofLayer(Weight::ExpertUp, "mlp.experts.{expert}.up_proj.weight");
  ofLayer(Weight::ExpertDown, "mlp.experts.{expert}.down_proj.weight");
}

/// What other families than Llama's have. Last: earlier choices keep their
/// places on the tape.
static void readStructure(Reader &reader, DecoderConfig &config) {
  auto ofLayer = [&](Weight weight, const std::string &name) {
    config.tensorName(weight) = "model.layers.{layer}." + name;
  };
  config.block =
      reader.pick({BlockStructure::PreNorm, BlockStructure::PostNorm,
                   BlockStructure::Sandwich, BlockStructure::ParallelOneNorm,
                   BlockStructure::ParallelTwoNorms});
  if (config.block == BlockStructure::PostNorm ||
      config.block == BlockStructure::Sandwich) {
    ofLayer(Weight::AttnBranchNorm, "attn_branch_norm.weight");
    ofLayer(Weight::MlpBranchNorm, "mlp_branch_norm.weight");
  }
  if (config.block == BlockStructure::PostNorm)
    config.tensorName(Weight::InputNorm).clear();
  if (config.block == BlockStructure::PostNorm ||
      config.block == BlockStructure::ParallelOneNorm)
    config.tensorName(Weight::MlpNorm).clear();

  config.norm.kind = reader.pick({NormKind::RMS, NormKind::Layer});
  if (reader.flag() && config.norm.kind == NormKind::Layer)
    for (auto [weight, bias, name] :
         {std::tuple(Weight::InputNorm, Weight::InputNormBias, "input"),
          {Weight::MlpNorm, Weight::MlpNormBias, "post_attention"}})
      if (config.has(weight))
        ofLayer(bias, std::string(name) + "_layernorm.bias");
  if (reader.flag() && config.qkNorm == QKNorm::PerHead)
    config.qkNorm = QKNorm::PerHeadWeight;
  // Only RMSNorm without an offset is taken apart.
  if (config.qkNorm == QKNorm::FullWidth &&
      (config.norm.kind != NormKind::RMS || config.norm.weightOffset != 0))
    config.qkNorm = QKNorm::PerHead;
  config.gatedMlp = !reader.flag();
  if (!config.gatedMlp) {
    config.tensorName(Weight::Gate).clear();
    config.tensorName(Weight::GateBias).clear();
  }
  if (reader.flag())
    config.fusedQKV = FusedQKV::ByKVHead;
  config.embeddingScale = reader.pick({1.0, 6.0});
  config.residualScale = reader.pick({1.0, 0.25});
  config.logitsScale = reader.pick({1.0, 0.125});
  config.attentionSoftcap = reader.pick({0.0, 5.0});
  config.logitsSoftcap = reader.pick({0.0, 8.0});
  if (reader.flag())
    config.tensorName(Weight::LmHeadBias) = "lm_head.bias";
  if (reader.flag()) {
    config.slidingRope = config.rope;
    config.slidingRope->theta = 1000;
  }
}

static PlanChoice readPlan(Reader &reader) {
  PlanChoice plan;
  plan.tp = reader.size(1, 5);
  plan.cp = reader.size(1, 4);
  plan.cpSplit = reader.pick(
      {"zigzag", "contiguous", "interleave:1", "interleave:2", "interleave:3"});
  plan.boundaries = reader.pick({"rows", "whole", "auto"});
  int64_t rowsFrom = reader.size(2, 9);
  if (plan.boundaries == "auto" && rowsFrom % 2)
    plan.boundaries = "whole:" + std::to_string(rowsFrom) + ",rows";
  plan.fuse = !reader.flag();
  return plan;
}

RandomProgram test::readProgram(const Tape &tape) {
  Reader reader(tape);
  RandomProgram program;
  // The mesh first: it keeps its place on the tape when sizes come and go.
  program.plan = readPlan(reader);
  readSizes(reader, program.config);
  readRope(reader, program.config);
  readLayers(reader, program.config);
  readWeights(reader, program.config);
  readStructure(reader, program.config);
  return program;
}

std::string test::describe(const RandomProgram &program) {
  const DecoderConfig &c = program.config;
  const PlanChoice &p = program.plan;
  std::ostringstream os;
  os << "tp=" << p.tp << " cp=" << p.cp << " " << p.cpSplit << " "
     << p.boundaries << (p.fuse ? "" : " no-fuse")
     << "; layers " << c.layers << " hidden " << c.hidden << " heads "
     << c.heads << "/" << c.kvHeads << " x " << c.headDim << " intermediate "
     << c.intermediate << " vocab " << c.vocab << " experts " << c.moe.experts
     << " top " << c.moe.topK << "x" << c.moe.intermediate << " rotary "
     << c.rope.rotaryDim << " offset " << c.norm.weightOffset
     << (c.qkvBias ? " qkv-bias" : "") << (c.oBias ? " o-bias" : "")
     << (c.mlpBias ? " mlp-bias" : "")
     << (c.qkNorm != QKNorm::None ? " qk-norm" : "")
     << (c.tieWordEmbeddings ? " tied" : "") << " "
     << blockStructureName(c.block).str()
     << (c.norm.kind == NormKind::Layer ? " layer-norm" : "")
     << (c.qkNorm == QKNorm::PerHeadWeight ? " weight-per-head" : "")
     << (c.qkNorm == QKNorm::FullWidth ? " over-all-heads" : "")
     << (c.gatedMlp ? "" : " plain-mlp")
     << (c.fusedQKV == FusedQKV::ByKVHead ? " qkv-by-kv-head" : "")
     << " scales " << c.embeddingScale << "," << c.residualScale << ","
     << c.logitsScale << " softcaps " << c.attentionSoftcap << ","
     << c.logitsSoftcap << (c.slidingRope ? " sliding-rope" : "")
     << (c.has(Weight::LmHeadBias) ? " lm-head-bias" : "");
  for (const LayerConfig &layer : c.perLayer)
    os << (layer.mlp == MlpKind::MoE ? " [moe" : " [dense") << " window "
       << layer.slidingWindow << "]";
  return os.str();
}
