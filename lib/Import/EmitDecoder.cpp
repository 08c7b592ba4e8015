//===- EmitDecoder.cpp - a model's facts as decoder IR --------------------===//
//
// Values that a person may compare with a reference run are recorded under
// these names: layer.0.input; layer.i.{input_norm, q_rope, k_rope, attn_out,
// post_attn_norm, router_logits, topk_idx, topk_w, mlp_out, output};
// final_norm; logits.
//
//===----------------------------------------------------------------------===//
#include "layline/Import/EmitDecoder.h"
#include "dialects/Decoder/Decoder.h"
#include "layline/Import/RopeTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace layline;
namespace d = layline::decoder;

namespace {

class Emitter {
public:
  Emitter(const DecoderConfig &config, MLIRContext &context)
      : config(config), builder(&context) {
    switch (config.dtype) {
    case ElementType::BFloat16:
      element = builder.getBF16Type();
      break;
    case ElementType::Float16:
      element = builder.getF16Type();
      break;
    case ElementType::Float32:
      element = builder.getF32Type();
      break;
    }
    RopeTable rope = computeRopeTable(config);
    ropeTable = rope.longContext
                    ? d::RopeTableAttr::get(
                          &context, rope.base.invFreq,
                          rope.base.attentionFactor, rope.longContext->above,
                          rope.longContext->frequencies.invFreq,
                          rope.longContext->frequencies.attentionFactor)
                    : d::RopeTableAttr::get(&context, rope.base.invFreq,
                                            rope.base.attentionFactor);
  }

  OwningOpRef<ModuleOp> emit(const ProgramSource &source);

private:
  /// Locations are the places of the model: "layer.3.q_proj".
  Location at(const Twine &name) {
    std::string text =
        layer < 0 ? name.str() : ("layer." + Twine(layer) + "." + name).str();
    return NameLoc::get(builder.getStringAttr(text));
  }
  RankedTensorType rows(ArrayRef<int64_t> width, Type type = {}) {
    SmallVector<int64_t> shape = {ShapedType::kDynamic};
    llvm::append_range(shape, width);
    return RankedTensorType::get(shape, type ? type : element);
  }
  /// Names the results of `op` for comparison with a reference run.
  template <typename OpTy>
  OpTy record(OpTy op, std::initializer_list<StringRef> names) {
    SmallVector<Attribute, 2> full;
    for (StringRef name : names)
      full.push_back(builder.getStringAttr(
          layer < 0 ? Twine(name) : "layer." + Twine(layer) + "." + name));
    op->setAttr(d::DecoderDialect::kRecord, builder.getArrayAttr(full));
    return op;
  }

  Value weight(Weight weight);
  Value norm(Value x, Weight weight, StringRef name);
  d::LinearOp linear(Value x, Weight weight, std::optional<Weight> bias);
  /// A projection whose input features are split across ranks: its bias is
  /// added after the sum.
  Operation *project(Value x, Weight weight, std::optional<Weight> bias);
  Value heads(Value x, Weight weight, std::optional<Weight> bias, int64_t count,
              std::optional<Weight> headNorm);
  Value attention(Value x);
  Value denseMlp(Value x);
  Value experts(Value x);

  const DecoderConfig &config;
  OpBuilder builder;
  Type element;
  d::RopeTableAttr ropeTable;
  int64_t layer = -1;
  Value positions, keyPositions;
};

} // namespace

Value Emitter::weight(Weight which) {
  StoredWeight stored = config.find(which, layer);
  bool stacked = StringRef(stored.tensor).contains("{expert}");
  SmallVector<int64_t> storedShape = {stored.storedRows}, shape;
  if (stored.storedCols)
    storedShape.push_back(stored.storedCols);
  if (stacked)
    shape.push_back(config.moe.experts);
  shape.push_back(stored.rows());
  if (stored.storedCols)
    shape.push_back(stored.storedCols);
  DenseI64ArrayAttr window;
  if (!stored.isWholeTensor())
    window = builder.getDenseI64ArrayAttr({stored.rowBegin, stored.rowEnd});
  return d::WeightOp::create(builder, at(weightName(which)),
                             RankedTensorType::get(shape, element),
                             stored.tensor, storedShape, window);
}

Value Emitter::norm(Value x, Weight which, StringRef name) {
  return d::NormOp::create(
      builder, at(name), x.getType(), x, weight(which), Value(),
      d::NormKindAttr::get(builder.getContext(), d::NormKind::Rms),
      builder.getF64FloatAttr(config.norm.eps),
      builder.getF64FloatAttr(config.norm.weightOffset));
}

d::LinearOp Emitter::linear(Value x, Weight which, std::optional<Weight> bias) {
  Value w = weight(which);
  Value b = bias && config.has(*bias, layer) ? weight(*bias) : Value();
  return d::LinearOp::create(
      builder, at(weightName(which)),
      rows(cast<RankedTensorType>(w.getType()).getDimSize(0)), x, w, b);
}

Operation *Emitter::project(Value x, Weight which, std::optional<Weight> bias) {
  d::LinearOp product = linear(x, which, std::nullopt);
  if (!bias || !config.has(*bias, layer))
    return product;
  return d::AddBiasOp::create(builder, at(weightName(*bias)), product.getType(),
                              product, weight(*bias));
}

Value Emitter::heads(Value x, Weight which, std::optional<Weight> bias,
                     int64_t count, std::optional<Weight> headNorm) {
  Value flat = linear(x, which, bias);
  Value split = d::SplitHeadsOp::create(builder, at(weightName(which)),
                                        rows({count, config.headDim}), flat);
  if (headNorm && config.has(*headNorm, layer))
    split = norm(split, *headNorm, weightName(*headNorm));
  return split;
}

Value Emitter::attention(Value x) {
  auto rope = [&](Value v, StringRef name) -> Value {
    auto style = config.rope.style == RopeStyle::Half
                     ? d::RopeStyle::Half
                     : d::RopeStyle::Interleaved;
    return record(d::RopeOp::create(builder, at(name), v.getType(), v,
                                    positions, style, ropeTable),
                  {name})
        .getResult();
  };
  auto cache = [&](Value v, d::Plane plane) -> Value {
    return d::CacheOp::create(builder, at(d::stringifyPlane(plane)),
                              v.getType(), v, layer, plane);
  };
  Value q = heads(x, Weight::Q, Weight::QBias, config.heads, Weight::QNorm);
  Value k = heads(x, Weight::K, Weight::KBias, config.kvHeads, Weight::KNorm);
  Value v = heads(x, Weight::V, Weight::VBias, config.kvHeads, std::nullopt);
  q = rope(q, "q_rope");
  k = rope(k, "k_rope");
  Value keys = cache(k, d::Plane::Key);
  Value values = cache(v, d::Plane::Value);
  int64_t window = config.perLayer[layer].slidingWindow;
  Value core = d::AttentionOp::create(
      builder, at("attention"), q.getType(), q, keys, values, positions,
      keyPositions, builder.getF64FloatAttr(config.attentionScale),
      builder.getBoolAttr(true),
      window ? builder.getI64IntegerAttr(window) : IntegerAttr());
  Value merged = d::MergeHeadsOp::create(builder, at("attention"),
                                         rows(config.qDim()), core);
  return record(project(merged, Weight::O, Weight::OBias), {"attn_out"})
      ->getResult(0);
}

static d::Activation convertActivation(Activation function) {
  switch (function) {
  case Activation::SiLU:
    return d::Activation::Silu;
  case Activation::GELU:
    return d::Activation::Gelu;
  case Activation::GELUTanh:
    return d::Activation::GeluTanh;
  case Activation::ReLU:
    return d::Activation::Relu;
  }
  llvm_unreachable("unknown activation");
}

Value Emitter::denseMlp(Value x) {
  Value gate = linear(x, Weight::Gate, Weight::GateBias);
  Value up = linear(x, Weight::Up, Weight::UpBias);
  Value inner = d::GatedActivationOp::create(
      builder, at("mlp_activation"), gate.getType(), gate, up,
      convertActivation(config.activation));
  return record(project(inner, Weight::Down, Weight::DownBias), {"mlp_out"})
      ->getResult(0);
}

Value Emitter::experts(Value x) {
  Value logits =
      record(linear(x, Weight::Router, std::nullopt), {"router_logits"});
  int64_t topK = config.moe.topK;
  auto router = record(
      d::RouterOp::create(builder, at("router_top_k"),
                          rows(topK, builder.getI32Type()), rows(topK), logits,
                          topK, d::Scoring::Softmax, config.moe.renormalize),
      {"topk_idx", "topk_w"});
  Value gate = weight(Weight::ExpertGate), up = weight(Weight::ExpertUp),
        down = weight(Weight::ExpertDown);
  return record(d::ExpertsOp::create(builder, at("experts"), x.getType(), x,
                                     router.getIds(), router.getWeights(), gate,
                                     up, down,
                                     convertActivation(config.activation)),
                {"mlp_out"});
}

OwningOpRef<ModuleOp> Emitter::emit(const ProgramSource &source) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  (*module)->setAttr(
      d::DecoderDialect::kSource,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("config", builder.getStringAttr(source.config)),
           builder.getNamedAttr("digest", builder.getStringAttr(source.digest)),
           builder.getNamedAttr("model_type",
                                builder.getStringAttr(config.modelType)),
           builder.getNamedAttr("layers",
                                builder.getI64IntegerAttr(config.layers)),
           builder.getNamedAttr("max_positions", builder.getI64IntegerAttr(
                                                     config.maxPositions))}));

  builder.setInsertionPointToEnd(module->getBody());
  RankedTensorType indices = rows({}, builder.getI64Type());
  RankedTensorType logits = rows(config.vocab);
  auto input = [&](StringRef name) {
    return builder.getDictionaryAttr(builder.getNamedAttr(
        d::DecoderDialect::kInput, builder.getStringAttr(name)));
  };
  auto function = func::FuncOp::create(
      builder, at("decoder"), "decoder",
      builder.getFunctionType({indices, indices}, {logits}),
      ArrayRef<NamedAttribute>{}, {input("input_ids"), input("positions")});
  builder.setInsertionPointToEnd(function.addEntryBlock());

  Value ids = function.getArgument(0);
  positions = function.getArgument(1);
  keyPositions =
      d::CacheOp::create(builder, at("positions"), indices, positions,
                         /*layer=*/-1, d::Plane::Positions);
  Value table = weight(Weight::Embedding);
  Value residual =
      record(d::EmbeddingOp::create(builder, at("embedding"),
                                    rows(config.hidden), ids, table),
             {"layer.0.input"});
  auto addResidual = [&](Value branch, StringRef name) {
    return d::AddOp::create(builder, at(name), residual.getType(), residual,
                            branch);
  };
  auto recordNorm = [&](Value x, StringRef name) {
    record(x.getDefiningOp(), {name});
    return x;
  };
  for (layer = 0; layer < config.layers; ++layer) {
    Value x = recordNorm(norm(residual, Weight::InputNorm, "input_norm"),
                         "input_norm");
    residual = addResidual(attention(x), "attn_residual");
    Value y = recordNorm(norm(residual, Weight::MlpNorm, "post_attn_norm"),
                         "post_attn_norm");
    Value branch =
        config.perLayer[layer].mlp == MlpKind::MoE ? experts(y) : denseMlp(y);
    residual = record(addResidual(branch, "mlp_residual"), {"output"});
  }
  layer = -1;
  Value last =
      recordNorm(norm(residual, Weight::FinalNorm, "final_norm"), "final_norm");
  Value head = weight(Weight::LmHead);
  Value scores =
      record(d::LogitsOp::create(builder, at("logits"), logits, last, head),
             {"logits"});
  func::ReturnOp::create(builder, at("return"), scores);
  return module;
}

OwningOpRef<ModuleOp> layline::emitDecoder(const DecoderConfig &config,
                                           const ProgramSource &source,
                                           MLIRContext &context) {
  return Emitter(config, context).emit(source);
}
