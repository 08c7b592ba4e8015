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

Value Emitter::heads(Value x, Weight which, Weight bias, int64_t count) {
  Value flat = linear(x, which, bias);
  return d::SplitHeadsOp::create(builder, at(weightName(which)),
                                 rows({count, config.headDim}), flat);
}

Value Emitter::headNorm(Value x, Weight which) {
  return has(which) ? norm(x, which, std::nullopt, weightName(which)) : x;
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
  Value q =
      headNorm(heads(x, Weight::Q, Weight::QBias, config.heads), Weight::QNorm);
  Value k = headNorm(heads(x, Weight::K, Weight::KBias, config.kvHeads),
                     Weight::KNorm);
  Value v = heads(x, Weight::V, Weight::VBias, config.kvHeads);
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
