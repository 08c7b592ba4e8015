//===- LatentOps.cpp - latent and sparse attention ------------------------===//
#include "dialects/Decoder/Decoder.h"

using namespace mlir;
using namespace layline::decoder;
using namespace layline::grid;

using PositionPairs = SmallVector<std::pair<unsigned, unsigned>, 2>;

static int64_t lastDim(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 0 || type.isDynamicDim(type.getRank() - 1)
             ? 1
             : type.getShape().back();
}

void LatentAttentionOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned heads = model.add("heads", FactorKind::PassThrough);
  unsigned nope = model.add("width", FactorKind::NeedWhole);
  unsigned rope = model.add("rotary width", FactorKind::NeedWhole);
  unsigned context = model.add("context", FactorKind::NeedWhole);
  unsigned latent = model.add("latent", FactorKind::NeedWhole);
  unsigned value = model.add("value width", FactorKind::NeedWhole);
  model.operand({{tokens}, {heads}, {nope}});
  model.operand({{tokens}, {heads}, {rope}});
  model.operand({{context}, {latent}});
  model.operand({{context}, {rope}});
  model.operand({{heads, lastDim(getQueryNope())}, {latent}});
  model.operand({{heads, lastDim(getResult())}, {latent}});
  model.operand({{tokens}});
  model.operand({{context}});
  if (getSelection())
    model.operand({{tokens}, {model.add("selection", FactorKind::NeedWhole)}});
  model.result({{tokens}, {heads}, {value}});
}
PositionPairs LatentAttentionOp::getPositionedOperands() {
  return {{6, 0}, {7, 2}, {7, 3}};
}

void IndexerOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  // The best rows by a part of the heads are not the best.
  unsigned heads = model.add("heads", FactorKind::NeedWhole);
  unsigned width = model.add("width", FactorKind::NeedWhole);
  unsigned context = model.add("context", FactorKind::NeedWhole);
  unsigned choice = model.add("selection", FactorKind::NeedWhole);
  model.operand({{tokens}, {heads}, {width}});
  model.operand({{context}, {width}});
  model.operand({{tokens}, {heads}});
  model.operand({{tokens}});
  model.operand({{context}});
  model.result({{tokens}, {choice}});
  model.result({{tokens}, {choice}});
}
PositionPairs IndexerOp::getPositionedOperands() { return {{3, 0}, {4, 1}}; }

static LogicalResult verifyScale(Operation *op, const APFloat &value) {
  double scale = value.convertToDouble();
  if (std::isfinite(scale) && scale > 0)
    return success();
  return op->emitOpError("has the scale ")
         << scale << ", expected a positive number";
}

LogicalResult LatentAttentionOp::verify() {
  return verifyScale(*this, getScale());
}

LogicalResult IndexerOp::verify() {
  int64_t width = lastDim(getSelection()), topK = getTopK();
  if (topK < 1 || width != topK)
    return emitOpError("selects the top ")
           << topK << " rows, but its results have the width " << width;
  return verifyScale(*this, getScale());
}
