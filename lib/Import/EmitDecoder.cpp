//===- EmitDecoder.cpp - a model's facts as decoder IR --------------------===//
//
// Values that a person may compare with a reference run are recorded under
// these names: layer.0.input; layer.i.{input_norm, q_rope, k_rope, attn_out,
// attn_branch_norm, post_attn_norm, router_logits, topk_idx, topk_w, mlp_out,
// mlp_branch_norm, attn_mlp_out, output}; final_norm; logits. Of quantised rows
// layer.i.{attn_rows, latent_rows, mlp_rows}, and NAME_scales.
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"

using namespace mlir;
using namespace layline;
namespace d = layline::decoder;

static Type toDialect(ElementType type, Builder &builder) {
  switch (type) {
  case ElementType::BFloat16:
    return builder.getBF16Type();
  case ElementType::Float16:
    return builder.getF16Type();
  case ElementType::Float32:
    return builder.getF32Type();
  }
  llvm_unreachable("unknown element type");
}

Emitter::Emitter(const DecoderConfig &config, MLIRContext &context)
    : config(config), builder(&context),
      element(::toDialect(config.dtype, builder)),
      ropeTable(layline::toDialect(config.rope, &context)) {
  if (config.slidingRope)
    slidingRopeTable = layline::toDialect(*config.slidingRope, &context);
}

Location Emitter::at(const Twine &name) {
  std::string text =
      layer < 0 ? name.str() : ("layer." + Twine(layer) + "." + name).str();
  return NameLoc::get(builder.getStringAttr(text));
}

RankedTensorType Emitter::rows(ArrayRef<int64_t> width, Type type) {
  SmallVector<int64_t> shape = {ShapedType::kDynamic};
  llvm::append_range(shape, width);
  return RankedTensorType::get(shape, type ? type : element);
}

void Emitter::record(Operation *op, ArrayRef<StringRef> names) {
  SmallVector<Attribute, 2> full;
  for (StringRef name : names)
    full.push_back(builder.getStringAttr(
        layer < 0 ? Twine(name) : "layer." + Twine(layer) + "." + name));
  op->setAttr(d::DecoderDialect::kRecord, builder.getArrayAttr(full));
}

func::FuncOp Emitter::emitFunction() {
  RankedTensorType indices = rows({}, builder.getI64Type());
  auto input = [&](StringRef name) {
    return builder.getDictionaryAttr(builder.getNamedAttr(
        d::DecoderDialect::kInput, builder.getStringAttr(name)));
  };
  return func::FuncOp::create(
      builder, at("decoder"), "decoder",
      builder.getFunctionType({indices, indices}, {rows(config.vocab)}),
      ArrayRef<NamedAttribute>{}, {input("input_ids"), input("positions")});
}

Value Emitter::embed(Value ids) {
  Value table = weight(Weight::Embedding);
  Value x = d::EmbeddingOp::create(builder, at("embedding"),
                                   rows(config.hidden), ids, table);
  return recorded(scale(x, config.embeddingScale, "embedding_scale"),
                  "layer.0.input");
}

Value Emitter::logits(Value x) {
  Value head = weight(Weight::LmHead);
  Value scores =
      d::LogitsOp::create(builder, at("logits"), rows(config.vocab), x, head);
  scores = addBias(scores, Weight::LmHeadBias);
  scores = scale(scores, config.logitsScale, "logits_scale");
  return recorded(softcap(scores, config.logitsSoftcap, "logits_softcap"),
                  "logits");
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
  func::FuncOp function = emitFunction();
  builder.setInsertionPointToEnd(function.addEntryBlock());
  Value ids = function.getArgument(0);
  positions = function.getArgument(1);
  keyPositions =
      d::CacheOp::create(builder, at("positions"), positions.getType(),
                         positions, /*layer=*/-1, d::Plane::Positions);
  Value residual = embed(ids);
  for (layer = 0; layer < config.layers; ++layer)
    residual = block(residual);
  layer = -1;
  Value last = recorded(
      norm(residual, Weight::FinalNorm, Weight::FinalNormBias, "final_norm"),
      "final_norm");
  func::ReturnOp::create(builder, at("return"), logits(last));
  return module;
}

OwningOpRef<ModuleOp> layline::emitDecoder(const DecoderConfig &config,
                                           const ProgramSource &source,
                                           MLIRContext &context) {
  return Emitter(config, context).emit(source);
}
