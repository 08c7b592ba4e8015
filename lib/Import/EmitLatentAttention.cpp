//===- EmitLatentAttention.cpp - MLA, and the indexer of DSA --------------===//
//
// What reads the normed hidden row, q_a, kv_a and the indexer's key and
// weights, are products of their own with whole weights: they may be computed
// by rows, and the latents gathered instead of the hidden row.
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"
#include <cmath>

using namespace mlir;
using namespace layline;
namespace d = layline::decoder;

Value Emitter::sliceColumns(Value x, int64_t begin, int64_t size,
                            StringRef name) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = size;
  return d::SliceColumnsOp::create(
      builder, at(name), RankedTensorType::get(shape, type.getElementType()), x,
      begin);
}

Value Emitter::cacheRows(Value x, d::Plane plane) {
  return d::CacheOp::create(builder, at(d::stringifyPlane(plane)), x.getType(),
                            x, layer, plane);
}

Value Emitter::ropeRow(Value x, RopeStyle style, StringRef name) {
  int64_t width = cast<RankedTensorType>(x.getType()).getDimSize(1);
  Value head = d::SplitHeadsOp::create(builder, at(name), rows({1, width}), x);
  Value rotated = d::RopeOp::create(builder, at(name), head.getType(), head,
                                    positions, toDialect(style), ropeTable);
  return d::MergeHeadsOp::create(builder, at(name), rows(width),
                                 recorded(rotated, name));
}

Value Emitter::indexer(Value x, Value latent) {
  const IndexerConfig &indexer = config.indexer;
  Value q =
      linear(quantized(latent, "latent_rows"), Weight::IndexQ, std::nullopt);
  q = d::SplitHeadsOp::create(builder, at("index_q"),
                              rows({indexer.heads, indexer.headDim}), q);
  q = d::RopeOp::create(builder, at("index_q_rope"), q.getType(), q, positions,
                        toDialect(indexer.ropeStyle), ropeTable);
  Value k =
      norm(linear(quantized(x, "attn_rows"), Weight::IndexK, std::nullopt),
           Weight::IndexNorm, Weight::IndexNormBias, "index_k_norm",
           NormKind::Layer, indexer.normEps);
  Value keys = cacheRows(ropeRow(k, indexer.ropeStyle, "index_k_rope"),
                         d::Plane::IndexKey);
  Value weights = linear(x, Weight::IndexWeights, std::nullopt);
  // Of the products by the width of a key, of their sum by the heads.
  double scale = 1 / std::sqrt(static_cast<double>(indexer.headDim)) /
                 std::sqrt(static_cast<double>(indexer.heads));
  auto op = d::IndexerOp::create(
      builder, at("indexer"), rows(indexer.topK, builder.getI32Type()),
      rows(indexer.topK), q, keys, weights, positions, keyPositions,
      builder.getI64IntegerAttr(indexer.topK), builder.getF64FloatAttr(scale),
      builder.getBoolAttr(true));
  record(op, {"indexer_selected", "indexer_scores"});
  return op.getSelection();
}

Emitter::Branch Emitter::latentAttention(Value x) {
  const LatentConfig &latent = config.latent;
  auto isGiven = [&](Weight bias) {
    return has(bias) ? std::optional(bias) : std::nullopt;
  };
  auto latentNorm = [&](Value value, Weight which) {
    return norm(value, which, std::nullopt, weightName(which), NormKind::RMS,
                latent.normEps);
  };
  Value queryLatent, q;
  if (latent.queryRank) {
    queryLatent = latentNorm(
        linear(quantized(x, "attn_rows"), Weight::QA, isGiven(Weight::QABias)),
        Weight::QANorm);
    q = linear(quantized(queryLatent, "latent_rows"), Weight::QB, std::nullopt);
  } else {
    q = linear(quantized(x, "attn_rows"), Weight::Q, std::nullopt);
  }
  q = d::SplitHeadsOp::create(builder, at("q_heads"),
                              rows({config.heads, latent.keyDim()}), q);
  Value nope = sliceColumns(q, 0, latent.nopeDim, "q_nope");
  Value qRope =
      rope(sliceColumns(q, latent.nopeDim, latent.ropeDim, "q_rope"), "q_rope");

  Value kv =
      linear(quantized(x, "attn_rows"), Weight::KVA, isGiven(Weight::KVABias));
  Value rowLatent =
      recorded(latentNorm(sliceColumns(kv, 0, latent.rank, "kv_latent"),
                          Weight::KVANorm),
               "kv_latent");
  Value kRope = ropeRow(sliceColumns(kv, latent.rank, latent.ropeDim, "k_rope"),
                        config.rope.style, "k_rope");
  Value latents = cacheRows(rowLatent, d::Plane::Latent);
  Value ropeKeys = cacheRows(kRope, d::Plane::RopeKey);
  if (config.indexer.heads && !config.perLayer[layer].sharesIndexer)
    selection = indexer(x, queryLatent);
  Value core = d::LatentAttentionOp::create(
      builder, at("attention"), rows({config.heads, latent.valueDim}), nope,
      qRope, latents, ropeKeys, weight(Weight::KeyUp), weight(Weight::ValueUp),
      positions, keyPositions, selection,
      builder.getF64FloatAttr(config.attentionScale),
      builder.getBoolAttr(true));
  Value merged = d::MergeHeadsOp::create(builder, at("attention"),
                                         rows(config.attentionDim()), core);
  return {linear(merged, Weight::O, std::nullopt), isGiven(Weight::OBias),
          "attn_out"};
}
