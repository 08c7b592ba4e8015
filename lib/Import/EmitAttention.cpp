//===- EmitAttention.cpp - q, k, v to o_proj ------------------------------===//
#include "Emitter.h"
#include "layline/Import/RopeTable.h"

using namespace mlir;
using namespace layline;
namespace d = layline::decoder;

d::RopeTableAttr layline::toDialect(const RopeConfig &config,
                                    MLIRContext *context) {
  RopeTable rope = computeRopeTable(config);
  if (!rope.longContext)
    return d::RopeTableAttr::get(context, rope.base.invFreq,
                                 rope.base.attentionFactor);
  return d::RopeTableAttr::get(
      context, rope.base.invFreq, rope.base.attentionFactor,
      rope.longContext->above, rope.longContext->frequencies.invFreq,
      rope.longContext->frequencies.attentionFactor);
}

d::RopeStyle layline::toDialect(RopeStyle style) {
  switch (style) {
  case RopeStyle::Half:
    return d::RopeStyle::Half;
  case RopeStyle::Interleaved:
    return d::RopeStyle::Interleaved;
  case RopeStyle::InterleavedToHalf:
    return d::RopeStyle::InterleavedToHalf;
  }
  llvm_unreachable("unknown style of RoPE");
}

Value Emitter::heads(Value flat, Weight which) {
  int64_t width = cast<RankedTensorType>(flat.getType()).getDimSize(1);
  return d::SplitHeadsOp::create(builder, at(weightName(which)),
                                 rows({width / config.headDim, config.headDim}),
                                 flat);
}

Value Emitter::headNorm(Value x, Weight which) {
  return has(which) ? norm(x, which, std::nullopt, weightName(which)) : x;
}

/// Over all heads, which ranks share out: each has a part of the two sums of
/// squares. They stand side by side, for one sum across ranks.
void Emitter::fullWidthNorms(Value &q, Value &k) {
  assert(config.norm.kind == NormKind::RMS && config.norm.weightOffset == 0 &&
         "norm_by is an RMSNorm without an offset");
  Type f32 = builder.getF32Type();
  auto squares = [&](Value x, Weight which) -> Value {
    return d::RowSquaresOp::create(builder, at(weightName(which)), rows(1, f32),
                                   x);
  };
  Value ofQ = squares(q, Weight::QNorm), ofK = squares(k, Weight::KNorm);
  Value both = d::ConcatColumnsOp::create(builder, at("qk_norm"), rows(2, f32),
                                          ValueRange{ofQ, ofK});
  auto normed = [&](Value x, Weight which, int64_t column) -> Value {
    Location place = at(weightName(which));
    Value statistics =
        d::SliceColumnsOp::create(builder, place, rows(1, f32), both, column);
    int64_t width = cast<RankedTensorType>(x.getType()).getDimSize(1);
    return d::NormByOp::create(builder, place, x.getType(), x, statistics,
                               weight(which),
                               builder.getF64FloatAttr(config.norm.eps),
                               builder.getI64IntegerAttr(width));
  };
  q = normed(q, Weight::QNorm, 0);
  k = normed(k, Weight::KNorm, 1);
}

Value Emitter::rope(Value x, StringRef name) {
  const RopeConfig &rope = config.ropeOf(layer);
  Value rotated = d::RopeOp::create(
      builder, at(name), x.getType(), x, positions, toDialect(rope.style),
      &rope == &config.rope ? ropeTable : slidingRopeTable);
  return recorded(rotated, name);
}

Emitter::Branch Emitter::attention(Value x) {
  if (config.isLatent())
    return latentAttention(x);
  auto cache = [&](Value v, d::Plane plane) -> Value {
    return d::CacheOp::create(builder, at(d::stringifyPlane(plane)),
                              v.getType(), v, layer, plane);
  };
  x = quantized(x, "attn_rows");
  Value q = linear(x, Weight::Q, Weight::QBias);
  Value k = linear(x, Weight::K, Weight::KBias);
  bool isFullWidth = config.qkNorm == QKNorm::FullWidth;
  if (isFullWidth)
    fullWidthNorms(q, k);
  q = heads(q, Weight::Q);
  k = heads(k, Weight::K);
  if (!isFullWidth) {
    q = headNorm(q, Weight::QNorm);
    k = headNorm(k, Weight::KNorm);
  }
  Value v = heads(linear(x, Weight::V, Weight::VBias), Weight::V);
  q = rope(q, "q_rope");
  k = rope(k, "k_rope");
  Value keys = cache(k, d::Plane::Key);
  Value values = cache(v, d::Plane::Value);
  int64_t window = config.perLayer[layer].slidingWindow;
  Value core = d::AttentionOp::create(
      builder, at("attention"), q.getType(), q, keys, values, positions,
      keyPositions, has(Weight::Sinks) ? weight(Weight::Sinks) : Value(),
      builder.getF64FloatAttr(config.attentionScale), builder.getBoolAttr(true),
      window ? builder.getI64IntegerAttr(window) : IntegerAttr(),
      config.attentionSoftcap ? builder.getF64FloatAttr(config.attentionSoftcap)
                              : FloatAttr());
  Value merged = d::MergeHeadsOp::create(builder, at("attention"),
                                         rows(config.qDim()), core);
  return {linear(merged, Weight::O, std::nullopt),
          has(Weight::OBias) ? std::optional(Weight::OBias) : std::nullopt,
          "attn_out"};
}
